//! What the adapter does when the server is in trouble, lists pages, or is not who it was.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::*;
use crate::core::config::server::ForgeKind;
use crate::core::effect::{StatusContext, StatusState};
use crate::core::ids::{Login, RepoId, RepoName, UserId};
use crate::core::rollout::pull::PullState;

const TOKEN: &str = "ghp_hunter2";

/// One answer of the scripted server.
struct Answer(u16, Vec<(&'static str, String)>, Value);

fn ok(body: Value) -> Answer {
    Answer(200, Vec::new(), body)
}

fn gone() -> Answer {
    Answer(404, Vec::new(), json!({"message": "Not Found"}))
}

/// A GitHub connected to a server that answers by a script.
struct Scripted {
    github: GitHub,
    base: Url,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// `script` gets how many requests came before, and the request as `METHOD path?query body`.
    async fn new(script: impl Fn(usize, &str) -> Answer + Clone + Send + Sync + 'static) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let answer = move |request: Request| async move {
            assert_eq!(
                request.headers()["authorization"],
                format!("Bearer {TOKEN}")
            );
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let line = format!(
                "{} {} {}",
                parts.method,
                parts.uri,
                String::from_utf8_lossy(&body)
            );
            let line = line.trim_end().to_owned();
            let count = {
                let mut log = log.lock().unwrap();
                log.push(line.clone());
                log.len() - 1
            };
            let Answer(status, headers, body) = script(count, &line);
            let mut response = axum::Json(body).into_response();
            *response.status_mut() = status.try_into().unwrap();
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new().fallback(answer);
        tokio::spawn(async move { axum::serve(listener, router).await });
        let base: Url = format!("http://{address}/api/v3/").parse().unwrap();
        Self {
            github: github(base.as_str()),
            base,
            seen,
        }
    }

    fn base(&self) -> &Url {
        &self.base
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn github(api_url: &str) -> GitHub {
    let options = ForgeOptions {
        kind: ForgeKind::GitHub,
        url: "https://git.acme.example".parse().unwrap(),
        api_url: api_url.parse().unwrap(),
        account: Account::Token {
            file: "token".into(),
        },
        webhook_secret_files: Vec::new(),
        repos: Vec::new(),
    };
    let connection = Connection {
        secret: TOKEN.into(),
        http: reqwest::Client::new(),
        clock: Arc::new(Timestamp::now),
    };
    let mut github = GitHub::new(&options, connection).unwrap();
    github.client.api.pauses = [Duration::ZERO; 3];
    github
}

fn pull() -> Pull {
    Pull {
        repo: Repo {
            forge: ForgeHost::try_from("git.acme.example").unwrap(),
            id: RepoId(7),
            name: RepoName::try_from("acme/infra").unwrap(),
        },
        number: PullNumber(12),
    }
}

fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).unwrap()
}

fn ada() -> Actor {
    Actor {
        id: UserId(1),
        login: Login::try_from("ada").unwrap(),
        is_bot: false,
    }
}

fn me() -> Answer {
    ok(json!({"id": 500, "login": "tidegate"}))
}

fn comment(id: u64, author: u64, body: &str) -> Value {
    json!({"id": id, "body": body, "user": {"id": author, "login": "someone"},
        "created_at": "2026-11-30T20:00:00Z", "updated_at": format!("2026-11-30T20:{id}:00Z")})
}

fn wire_pull(repo: u64, head: char, merged: bool) -> Value {
    json!({
        "number": 12, "title": "Deepen", "html_url": "https://git.acme.example/acme/infra/pull/12",
        "state": if merged { "closed" } else { "open" }, "merged": merged, "draft": false,
        "merge_commit_sha": "c".repeat(40), "user": {"id": 1, "login": "ada"},
        "head": {"sha": head.to_string().repeat(40), "ref": "deepen", "repo": null},
        "base": {"ref": "main", "sha": "b".repeat(40), "repo": {"id": repo, "full_name": "acme/infra"}},
    })
}

#[tokio::test]
async fn a_read_is_asked_again_until_the_server_is_well() {
    let server = Scripted::new(|count, _| match count {
        0 => Answer(502, vec![], Value::Null),
        1 => Answer(500, vec![], Value::Null),
        _ => me(),
    })
    .await;
    assert_eq!(server.github.me().await.unwrap().login.as_str(), "tidegate");
    assert_eq!(server.seen(), ["GET /api/v3/user"; 3]);
}

#[tokio::test]
async fn a_write_is_sent_once_whatever_comes_back() {
    let server = Scripted::new(|_, _| Answer(502, vec![], Value::Null)).await;
    let reacted = server
        .github
        .react(&pull(), CommentId(9), Reaction::Eyes)
        .await;
    assert!(matches!(reacted, Err(ForgeError::Other(_))), "{reacted:?}");
    assert_eq!(server.seen().len(), 1);
}

/// A page of two pull requests, and the link to the page after it.
fn page(number: u64, next: Option<&str>) -> Answer {
    let of = |it: u64| {
        let repo = json!({"id": 7, "full_name": "acme/infra"});
        json!({"number": it, "base": {"repo": repo}})
    };
    let link = next.map(|it| ("link", format!(r#"<{it}>; rel="next""#)));
    Answer(
        200,
        link.into_iter().collect(),
        json!([of(2 * number - 1), of(2 * number)]),
    )
}

#[tokio::test]
async fn a_list_is_read_to_its_last_page() {
    let server = Scripted::new(|count, _| match count {
        0 => page(1, Some("/api/v3/repositories/7/pulls?page=2")),
        1 => page(2, Some("/api/v3/repositories/7/pulls?page=3")),
        _ => page(3, None),
    })
    .await;
    let numbers = server
        .github
        .pulls_of_commit(&pull().repo, &sha('1'))
        .await
        .unwrap();
    let expected: Vec<_> = (1..7).map(PullNumber).collect();
    assert_eq!(numbers, expected);
    assert_eq!(server.seen()[2], "GET /api/v3/repositories/7/pulls?page=3");
}

#[tokio::test]
async fn of_what_changed_no_page_is_read_after_what_is_older() {
    let since: Timestamp = "2026-11-30T20:15:00.5Z".parse().unwrap();
    let listed = |number: u64, second: u64| {
        let repo = json!({"id": 7, "full_name": "acme/infra"});
        json!({
            "number": number, "state": "closed", "merged_at": "2026-11-30T20:00:00Z",
            "updated_at": format!("2026-11-30T20:15:{second:02}Z"),
            "head": {"sha": "a".repeat(40), "ref": "deepen", "repo": repo},
            "base": {"ref": "main", "repo": repo},
        })
    };
    let server = Scripted::new(move |_, line| {
        let next = r#"</api/v3/repositories/7/pulls?page=2>; rel="next""#;
        match line.contains("/pulls?") {
            true => Answer(
                200,
                vec![("link", next.to_owned())],
                json!([listed(3, 9), {"number": 9}, listed(2, 0), {"updated_at": "2026-11-30T20:14:59Z"}]),
            ),
            false => ok(json!([])),
        }
    })
    .await;
    let changes = server.github.changes_since(&pull().repo, since).await;
    let pulls = changes.unwrap().pulls.into_iter().map(|it| it.details);
    let found: Vec<_> = pulls.map(|it| (it.pull.number.0, it.state)).collect();
    let merged = PullState::Merged { commit: None };
    assert_eq!(found, [(3, merged.clone()), (2, merged)]);
    assert_eq!(server.seen().len(), 2);
    assert!(server.seen()[1].contains("since=2026-11-30T20:15:00Z"));
}

#[tokio::test]
async fn a_next_page_elsewhere_is_refused_and_never_asked() {
    let stranger = Scripted::new(|_, _| page(2, None)).await;
    let next = format!("{}repositories/7/pulls?page=2", stranger.base());
    let server = Scripted::new(move |_, _| page(1, Some(&next))).await;
    let refused = server
        .github
        .pulls_of_commit(&pull().repo, &sha('1'))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("next page"), "{refused}");
    assert_eq!(stranger.seen(), [""; 0]);
}

#[tokio::test]
async fn the_note_is_found_on_a_later_page_by_marker_and_author() {
    let server = Scripted::new(|_, line| match line {
        "GET /api/v3/user" => me(),
        "GET /api/v3/repos/acme/infra/issues/12/comments?per_page=100" => Answer(
            200,
            vec![("link", "</api/v3/comments?page=2>; rel=\"next\"".to_owned())],
            json!([
                comment(10, 1, "<!-- tidegate:note -->\nmine"),
                comment(11, 500, "hello")
            ]),
        ),
        "GET /api/v3/comments?page=2" => {
            ok(json!([comment(12, 500, "<!-- tidegate:note -->\nold")]))
        }
        line if line.starts_with("PATCH /api/v3/repos/acme/infra/issues/comments/12 ") => {
            ok(comment(13, 500, ""))
        }
        line => panic!("{line}"),
    })
    .await;
    let changed = server.github.upsert_note(&pull(), "new").await.unwrap();
    assert_eq!(changed.to_string(), "2026-11-30T20:13:00Z");
    let last = server.seen().pop().unwrap();
    assert!(
        last.ends_with(r#" {"body":"<!-- tidegate:note -->\nnew"}"#),
        "{last}"
    );
}

#[tokio::test]
async fn a_note_that_says_so_already_is_not_written_again() {
    let server = Scripted::new(|count, line| match count {
        0 => me(),
        1 => ok(json!([comment(
            12,
            500,
            "<!-- tidegate:note -->\r\nhigh\r\nwater"
        )])),
        2 => ok(comment(12, 500, "<!-- tidegate:note -->\nhigh\nwater")),
        _ => panic!("{line}"),
    })
    .await;
    for _ in 0..2 {
        let changed = server
            .github
            .upsert_note(&pull(), "high\nwater\n")
            .await
            .unwrap();
        assert_eq!(changed.to_string(), "2026-11-30T20:12:00Z");
    }
    let second = "GET /api/v3/repos/acme/infra/issues/comments/12";
    assert_eq!(server.seen()[2], second, "the comment is remembered");
}

#[tokio::test]
async fn a_note_that_somebody_deleted_is_posted_anew() {
    let server = Scripted::new(|count, line| match (count, line.split(' ').next()) {
        (0, _) => me(),
        (1 | 4, Some("GET")) => ok(json!([])),
        (2, Some("POST")) => Answer(201, vec![], comment(20, 500, "")),
        (3, Some("GET")) => gone(),
        (5, Some("POST")) => Answer(201, vec![], comment(21, 500, "")),
        _ => panic!("{line}"),
    })
    .await;
    server.github.upsert_note(&pull(), "first").await.unwrap();
    let changed = server.github.upsert_note(&pull(), "second").await.unwrap();
    assert_eq!(changed.to_string(), "2026-11-30T20:21:00Z");
}

#[tokio::test]
async fn an_answer_is_posted_unless_we_posted_it() {
    let server = Scripted::new(|_, line| match line {
        "GET /api/v3/user" => me(),
        line if line.starts_with("GET") => ok(json!([
            comment(10, 500, "<!-- tidegate:reply:c-1 -->\nno"),
            comment(11, 1, "<!-- tidegate:reply:c-2 -->\nforged"),
        ])),
        line if line.starts_with("POST") => Answer(201, vec![], comment(20, 500, "")),
        line => panic!("{line}"),
    })
    .await;
    for key in ["c-1", "c-2"] {
        server.github.reply(&pull(), key, "no").await.unwrap();
    }
    let posted: Vec<_> = server
        .seen()
        .into_iter()
        .filter(|it| it.starts_with("POST"))
        .collect();
    let expected = r#"POST /api/v3/repos/acme/infra/issues/12/comments {"body":"<!-- tidegate:reply:c-2 -->\nno"}"#;
    assert_eq!(posted, [expected]);
}

#[tokio::test]
async fn a_role_is_only_that_of_the_account_itself() {
    let cases: [(fn() -> Answer, Role); 4] = [
        (
            || ok(json!({"permission": "write", "user": {"id": 1}})),
            Role::Write,
        ),
        (
            || ok(json!({"permission": "admin", "user": {"id": 2}})),
            Role::None,
        ),
        (
            || ok(json!({"permission": "admin", "user": null})),
            Role::None,
        ),
        (gone, Role::None),
    ];
    for (script, expected) in cases {
        let server = Scripted::new(move |_, _| script()).await;
        let role = server.github.role(&pull().repo, &ada()).await.unwrap();
        assert_eq!(role, expected);
    }
}

#[tokio::test]
async fn a_pull_request_of_another_repository_by_the_same_name_is_not_there() {
    let server = Scripted::new(|_, _| ok(wire_pull(8, 'a', false))).await;
    let read = server.github.pull(&pull()).await;
    assert!(matches!(read, Err(ForgeError::NotFound(_))), "{read:?}");
}

#[tokio::test]
async fn a_pull_request_whose_fork_is_gone_is_read() {
    let server = Scripted::new(|_, _| ok(wire_pull(7, 'a', true))).await;
    let read = server.github.pull(&pull()).await.unwrap();
    assert_eq!((read.head, read.head_repo), (sha('a'), None));
    let commit = Some(sha('c'));
    assert_eq!(read.state, PullState::Merged { commit });
}

#[tokio::test]
async fn a_merge_is_of_the_head_that_was_asked_and_done_once() {
    let cases = [
        (wire_pull(7, 'a', false), true, 2),
        (wire_pull(7, 'a', true), true, 1),
        (wire_pull(7, 'd', false), false, 1),
        (wire_pull(7, 'd', true), false, 1),
    ];
    for (read, is_done, requests) in cases {
        let server = Scripted::new(move |count, line| match count {
            0 => ok(read.clone()),
            _ => {
                let expected = format!(
                    r#"PUT /api/v3/repos/acme/infra/pulls/12/merge {{"sha":"{}"}}"#,
                    sha('a')
                );
                assert_eq!(line, expected);
                ok(json!({"merged": true}))
            }
        })
        .await;
        let merged = server.github.merge(&pull(), &sha('a')).await;
        assert_eq!(merged.is_ok(), is_done, "{merged:?}");
        assert_eq!(server.seen().len(), requests);
    }
}

#[tokio::test]
async fn a_comment_that_is_gone_needs_no_reaction() {
    let server = Scripted::new(|_, _| gone()).await;
    server
        .github
        .react(&pull(), CommentId(9), Reaction::Confused)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_status_is_cut_to_what_fits() {
    let server = Scripted::new(|_, line| match line {
        "GET /api/v3/user" => me(),
        line if line.starts_with("GET") => ok(json!([])),
        _ => Answer(201, vec![], json!({})),
    })
    .await;
    let status = status(&"é".repeat(200));
    server
        .github
        .set_status(&pull().repo, &sha('a'), &status)
        .await
        .unwrap();
    let line = server.seen().pop().unwrap();
    let (_, body) = line.split_once('{').unwrap();
    let body: Value = serde_json::from_str(&format!("{{{body}")).unwrap();
    assert_eq!(body["description"].as_str().unwrap().chars().count(), 140);
    assert_eq!(body["context"], "tidegate/plan");
}

fn status(description: &str) -> Status {
    Status {
        context: StatusContext::Plan,
        state: StatusState::Failure,
        description: description.to_owned(),
        url: Some("https://tide.acme.example/1".to_owned()),
    }
}

#[tokio::test]
async fn a_status_that_stands_is_not_posted_again() {
    let there = json!({"context": "tidegate/plan", "state": "failure", "description": "low",
        "target_url": "https://tide.acme.example/1", "creator": {"id": 500}});
    let changed = |field: &str, value: Value| {
        let mut other = there.clone();
        other[field] = value;
        vec![other, there.clone()]
    };
    let elsewhere = json!({"context": "ci", "state": "success", "creator": {"id": 500}});
    let cases = [
        (vec![elsewhere, there.clone()], 0),
        (changed("state", json!("pending")), 1),
        (changed("description", json!("high")), 1),
        (changed("target_url", Value::Null), 1),
        (changed("creator", json!({"id": 1})), 1),
        (changed("creator", Value::Null), 1),
        (vec![], 1),
    ];
    for (list, posted) in cases {
        let said = json!(list);
        let server = Scripted::new(move |_, line| match line {
            "GET /api/v3/user" => me(),
            line if line.starts_with("GET") => ok(json!(list)),
            _ => Answer(201, vec![], json!({})),
        })
        .await;
        let (repo, low) = (pull().repo, status("low"));
        let set = server.github.set_status(&repo, &sha('a'), &low).await;
        set.unwrap();
        let posts = server.seen();
        let posts = posts.iter().filter(|it| it.starts_with("POST")).count();
        assert_eq!(posts, posted, "{said}");
    }
}

#[tokio::test]
async fn what_was_written_though_a_proxy_failed_is_not_written_twice() {
    let written = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&written);
    let server = Scripted::new(move |_, line| {
        let mut kept = kept.lock().unwrap();
        let Some((_, body)) = line.split_once(" {") else {
            let path = line.split('?').next().unwrap_or_default();
            let end = path.rsplit('/').next().unwrap_or_default();
            let of = |it: &&Value| it["of"] == end;
            return match end {
                "user" => me(),
                _ => ok(kept.iter().filter(of).cloned().collect()),
            };
        };
        let mut item: Value = serde_json::from_str(&format!("{{{body}")).unwrap();
        let of = if line.contains("/comments") { "comments" } else { "statuses" };
        let more = json!({"of": of, "id": 10 + kept.len(), "user": {"id": 500}, "creator": {"id": 500},
            "created_at": "2026-11-30T20:00:00Z"});
        let more = more.as_object().unwrap().clone();
        item.as_object_mut().unwrap().extend(more);
        kept.push(item);
        Answer(502, vec![], Value::Null)
    })
    .await;
    let (github, pull) = (&server.github, pull());
    for is_first in [true, false] {
        let done = [
            github.upsert_note(&pull, "low water").await.map(drop),
            github.reply(&pull, "c-1", "no").await,
            github
                .set_status(&pull.repo, &sha('a'), &status("low"))
                .await,
        ];
        assert!(done.iter().all(|it| it.is_err() == is_first), "{done:?}");
    }
    assert_eq!(written.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn no_error_shows_the_token() {
    let echo = || {
        Answer(
            403,
            vec![],
            json!({"message": format!("bad token {TOKEN}")}),
        )
    };
    let server = Scripted::new(move |_, _| echo()).await;
    let shown = format!("{:?}", server.github.me().await.unwrap_err());
    assert!(
        shown.contains("bad token [token]") && !shown.contains("hunter2"),
        "{shown}"
    );
    let unreachable = github("http://127.0.0.1:1").me().await.unwrap_err();
    let shown = format!("{unreachable:?}");
    assert!(
        shown.contains("127.0.0.1:1") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[tokio::test]
async fn git_goes_to_the_address_people_open() {
    let remote = github("https://git.acme.example/api/v3")
        .remote(&pull().repo)
        .await
        .unwrap();
    assert_eq!(remote.url, "https://git.acme.example/acme/infra.git");
    assert!(remote.authorization.is_some());
}
