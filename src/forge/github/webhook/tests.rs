//! Deliveries: who may send them, what they become, and that none of them does harm.

use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use http::HeaderValue;
use proptest::prelude::*;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::*;
use crate::core::config::server::{Account, ForgeKind, ForgeOptions};
use crate::core::key::hex;

const SECRET: &str = "tide";

fn forge(repos: &[&str]) -> ServedForge {
    let options = ForgeOptions {
        kind: ForgeKind::GitHub,
        url: "https://github.com".parse().unwrap(),
        api_url: "https://api.github.com".parse().unwrap(),
        account: Account::Token {
            file: "token".into(),
        },
        webhook_secret_files: Vec::new(),
        repos: repos.iter().map(|&it| it.to_owned()).collect(),
    };
    ServedForge::new(options, vec![SECRET.into()]).unwrap()
}

fn signed(body: &[u8]) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

fn headers(event: &str, body: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("x-github-event", HeaderValue::from_str(event).unwrap());
    headers.insert("x-github-delivery", HeaderValue::from_static("d-1"));
    headers.insert("x-hub-signature-256", signed(body).parse().unwrap());
    headers
}

fn deliver(event: &str, payload: &Value) -> Result<Delivery, ReadError> {
    let body = serde_json::to_vec(payload).unwrap();
    ForgeKind::GitHub.read(
        &headers(event, &body),
        &body,
        &forge(&["acme/*", "Codertocat/*", "octocat/*"]),
    )
}

/// What a delivery came to, in a word or two.
fn outcome(event: &str, payload: &Value) -> String {
    match deliver(event, payload) {
        Ok(Delivery {
            event: Ok(event), ..
        }) => event.name().to_owned(),
        Ok(Delivery {
            event: Err(why), ..
        }) => format!("ignored: {why}"),
        Err(error) => format!("refused: {error}"),
    }
}

fn event(name: &str, payload: &Value) -> Event {
    deliver(name, payload).unwrap().event.unwrap()
}

/// The smallest delivery about a pull request.
fn about_pull(action: &str) -> Value {
    json!({
        "action": action, "number": 12,
        "pull_request": {"number": 12, "merged": false},
        "repository": {"id": 7, "full_name": "acme/infra"},
        "sender": {"id": 1, "login": "ada", "type": "User"},
    })
}

fn comment_by(author: u64, sender: u64) -> Value {
    json!({
        "action": "created",
        "issue": {"number": 12, "pull_request": {"url": "https://api.github.com/repos/acme/infra/pulls/12"}},
        "comment": {
            "id": 99, "body": "/approve wave-1", "created_at": "2026-11-30T20:15:00Z",
            "html_url": "https://github.com/acme/infra/pull/12#issuecomment-99",
            "user": {"id": author, "login": "ada", "type": "User"}, "performed_via_github_app": null,
            "author_association": "CONTRIBUTOR",
        },
        "repository": {"id": 7, "full_name": "acme/infra"},
        "sender": {"id": sender, "login": "ada", "type": "User"},
    })
}

static EXAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec/github-webhook-examples.json.gz");
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    whole["examples"].as_array().unwrap().clone()
});

/// What GitHub's own example of an event must become; none when it is nothing we act on.
fn expected(event: &str, action: &str, payload: &Value) -> Option<&'static str> {
    match (event, action) {
        ("pull_request", "opened" | "reopened" | "ready_for_review") => Some("pull-opened"),
        ("pull_request", "synchronize") => Some("pull-pushed"),
        ("pull_request", "edited") if payload["changes"]["base"].is_object() => {
            Some("pull-retargeted")
        }
        ("pull_request", "closed") => Some("pull-closed"),
        ("pull_request_review", "submitted" | "dismissed") => Some("reviewed"),
        ("push", "") if payload["ref"] == "refs/heads/master" => Some("branch-pushed"),
        ("installation", "created" | "new_permissions_accepted") => Some("installed"),
        ("installation_repositories", "added") => Some("installed"),
        ("installation", "deleted") | ("installation_repositories", "removed") => Some("removed"),
        _ => None,
    }
}

#[test]
fn every_published_example_is_its_event_or_ignored_by_name() {
    assert_eq!(EXAMPLES.len(), 106);
    for example in EXAMPLES.iter() {
        let name = example["event"].as_str().unwrap();
        let action = example["action"].as_str().unwrap_or_default();
        let outcome = outcome(name, &example["payload"]);
        match expected(name, action, &example["payload"]) {
            Some(event) => assert_eq!(outcome, event, "{name} {action}"),
            None => assert!(
                outcome.starts_with("ignored: "),
                "{name} {action}: {outcome}"
            ),
        }
    }
}

#[test]
fn a_delivery_without_a_good_signature_is_unsigned_whatever_it_holds() {
    let body = br#"{"zen": "keep it logically awesome"}"#;
    let without = |value: Option<&str>| {
        let mut headers = headers("ping", body);
        headers.remove("x-hub-signature-256");
        if let Some(value) = value {
            headers.insert("x-hub-signature-256", value.parse().unwrap());
        }
        ForgeKind::GitHub.read(&headers, body, &forge(&["acme/*"]))
    };
    let other = signed(b"other bytes");
    for value in [None, Some(""), Some("sha256="), Some(other.as_str())] {
        assert_eq!(without(value), Err(ReadError::Unsigned), "{value:?}");
    }
}

#[test]
fn a_body_that_was_written_anew_is_unsigned() {
    let pretty = b"{\n  \"zen\": \"x\"\n}";
    let headers = headers("ping", pretty);
    let minified = br#"{"zen":"x"}"#;
    let read = |body: &[u8]| ForgeKind::GitHub.read(&headers, body, &forge(&["acme/*"]));
    assert_eq!(read(minified), Err(ReadError::Unsigned));
    assert!(read(pretty).is_ok());
}

#[test]
fn what_forgejo_or_gitea_sent_under_our_names_is_refused_with_what_to_do() {
    let body = br#"{"zen": "x"}"#;
    for own in ["x-forgejo-event", "x-gitea-event"] {
        let mut headers = headers("push", body);
        headers.insert(own, HeaderValue::from_static("push"));
        let refused = ForgeKind::GitHub
            .read(&headers, body, &forge(&["acme/*"]))
            .unwrap_err();
        assert!(
            refused.to_string().contains("/webhooks/forgejo"),
            "{refused}"
        );
    }
}

#[test]
fn a_delivery_keeps_the_forges_own_id() {
    let delivery = deliver("ping", &json!({})).unwrap();
    assert_eq!(delivery.id.as_str(), "d-1");
}

#[test]
fn a_form_is_refused_with_what_to_do() {
    let body = b"payload=%7B%7D";
    let mut headers = headers("ping", body);
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(http::header::CONTENT_TYPE, form);
    let refused = ForgeKind::GitHub
        .read(&headers, body, &forge(&["acme/*"]))
        .unwrap_err();
    assert!(
        refused.to_string().contains("application/json"),
        "{refused}"
    );
}

#[test]
fn what_we_cannot_do_without_is_named_when_it_is_missing() {
    let without = |mut payload: Value, pointer: &str| {
        *payload.pointer_mut(pointer).unwrap() = Value::Null;
        payload
    };
    let push = json!({"ref": "refs/heads/main", "before": "a".repeat(40), "after": "b".repeat(40),
        "repository": {"id": 7, "full_name": "acme/infra"}});
    let cases = [
        (
            "pull_request",
            json!({"action": "opened"}),
            "a pull request number",
        ),
        (
            "pull_request",
            without(about_pull("opened"), "/repository"),
            "a repository",
        ),
        (
            "pull_request",
            without(about_pull("opened"), "/repository/id"),
            "a repository",
        ),
        ("issue_comment", json!({"action": "created"}), "an issue"),
        (
            "issue_comment",
            without(comment_by(1, 1), "/comment"),
            "a comment",
        ),
        (
            "issue_comment",
            without(comment_by(1, 1), "/comment/id"),
            "a comment id",
        ),
        (
            "issue_comment",
            without(comment_by(1, 1), "/comment/created_at"),
            "a time of the comment",
        ),
        ("push", json!({}), "a ref"),
        ("push", without(push.clone(), "/after"), "a commit after"),
        ("push", without(push, "/before"), "a commit before"),
    ];
    for (name, payload, missing) in cases {
        let expected =
            format!("refused: the delivery cannot be read: a {name} delivery without {missing}");
        assert_eq!(outcome(name, &payload), expected);
    }
}

#[test]
fn a_gone_fork_and_nulls_everywhere_do_not_lose_a_pull_request() {
    let payload = json!({
        "action": "synchronize",
        "pull_request": {
            "number": 12, "body": null, "mergeable": null, "auto_merge": null, "user": null,
            "head": {"repo": null}, "active_lock_reason": "resolved", "milestone": 3, "title": [],
        },
        "repository": {"id": "7", "full_name": "acme/infra"}, "sender": null,
        "installation": {"created_at": 1_600_000_000},
    });
    let Event::PullPushed { pull, actor } = event("pull_request", &payload) else {
        panic!("another event");
    };
    assert_eq!(
        (pull.repo.id.0, pull.number.0, actor.login.as_str()),
        (7, 12, "ghost")
    );
}

#[test]
fn a_merge_is_told_from_a_plain_close() {
    let mut payload = about_pull("closed");
    for merged in [true, false] {
        payload["pull_request"]["merged"] = json!(merged);
        let Event::PullClosed { merged: read, .. } = event("pull_request", &payload) else {
            panic!("another event");
        };
        assert_eq!(read, merged);
    }
}

#[test]
fn a_new_comment_on_a_pull_request_keeps_what_cannot_be_asked_again() {
    let Event::Commented(comment) = event("issue_comment", &comment_by(1, 1)) else {
        panic!("another event");
    };
    assert_eq!(comment.pull.number.0, 12);
    assert_eq!(comment.comment.0, 99);
    assert_eq!(comment.at.to_string(), "2026-11-30T20:15:00Z");
    assert_eq!((comment.actor.id.0, comment.actor.is_bot), (1, false));
    assert_eq!(comment.body, "/approve wave-1");
    assert_eq!(
        comment.url,
        "https://github.com/acme/infra/pull/12#issuecomment-99"
    );
}

#[test]
fn a_comment_never_speaks_for_somebody_else() {
    let mut edited = comment_by(1, 2);
    edited["action"] = json!("edited");
    let mut nobody = comment_by(1, 1);
    nobody["sender"] = Value::Null;
    let mut issue = comment_by(1, 1);
    issue["issue"]["pull_request"] = Value::Null;
    let cases = [
        (
            comment_by(1, 2),
            "issue_comment created: who sent it is not who wrote it",
        ),
        (
            nobody,
            "issue_comment created: who sent it is not who wrote it",
        ),
        (edited, "issue_comment edited: only new comments command"),
        (
            issue,
            "issue_comment created: on an issue, not on a pull request",
        ),
    ];
    for (payload, why) in cases {
        assert_eq!(
            outcome("issue_comment", &payload),
            format!("ignored: {why}")
        );
    }
}

#[test]
fn a_comment_by_a_bot_or_through_an_app_is_a_bots() {
    let mut by_bot = comment_by(1, 1);
    by_bot["comment"]["user"]["type"] = json!("Bot");
    let mut by_name = comment_by(1, 1);
    by_name["comment"]["user"]["login"] = json!("renovate[bot]");
    let mut through_app = comment_by(1, 1);
    through_app["comment"]["performed_via_github_app"] = json!({"id": 5, "slug": "renovate"});
    for payload in [by_bot, by_name, through_app] {
        let Event::Commented(comment) = event("issue_comment", &payload) else {
            panic!("another event");
        };
        assert!(comment.actor.is_bot, "{payload}");
    }
}

#[test]
fn only_a_branch_that_is_there_was_pushed() {
    let push = |name: &str, after: &str, deleted: bool| {
        let payload = json!({
            "ref": name, "before": "0".repeat(40), "after": after.repeat(40), "deleted": deleted,
            "repository": {"id": 7, "full_name": "acme/infra"}, "pusher": {"name": "deploy key"},
        });
        outcome("push", &payload)
    };
    assert_eq!(push("refs/heads/release/1", "b", false), "branch-pushed");
    assert_eq!(
        push("refs/heads/main", "0", true),
        "ignored: push: a branch was deleted"
    );
    assert_eq!(
        push("refs/heads/main", "b", true),
        "ignored: push: a branch was deleted"
    );
    assert_eq!(
        push("refs/tags/main", "b", false),
        "ignored: push: not to a branch"
    );
}

#[test]
fn a_repository_that_is_not_served_is_ignored() {
    let mut payload = about_pull("opened");
    payload["repository"]["full_name"] = json!("acme-evil/infra");
    assert_eq!(
        outcome("pull_request", &payload),
        "ignored: a repository that is not served"
    );
    let installed = json!({"action": "created", "repositories": [
        {"id": 7, "full_name": "acme/infra"}, {"id": 8, "full_name": "acme-evil/infra"}, {"id": 9}, null]});
    let Event::Installed { repos } = event("installation", &installed) else {
        panic!("another event");
    };
    let names: Vec<_> = repos.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["acme/infra"]);
}

#[test]
fn an_action_nobody_told_us_of_is_ignored_by_name() {
    assert_eq!(
        outcome("pull_request", &about_pull("hibernated")),
        "ignored: pull_request hibernated"
    );
    assert_eq!(outcome("tide_table", &json!({})), "ignored: tide_table");
}

#[test]
fn no_refusal_shows_a_secret() {
    let forge = forge(&["acme/*"]);
    assert!(!format!("{forge:?}").contains(forge.secrets()[0].expose_secret()));
}

proptest! {
    #[test]
    fn no_bytes_do_harm(
        body in proptest::collection::vec(any::<u8>(), 0..300),
        name in prop_oneof![
            Just("push"), Just("pull_request"), Just("issue_comment"), Just("installation"), Just("ping")
        ],
    ) {
        let _ = ForgeKind::GitHub.read(&headers(name, &body), &body, &forge(&["acme/*"]));
    }

    #[test]
    fn no_odd_value_in_a_real_delivery_does_harm(at in 0usize..106, field in 0usize..40, odd in 0usize..6) {
        let example = &EXAMPLES[at];
        let mut payload = example["payload"].clone();
        let odd = [json!(null), json!(-1), json!("x"), json!([]), json!({}), json!(true)][odd].clone();
        if let Some(value) = payload.as_object_mut().unwrap().values_mut().nth(field) {
            *value = odd;
        }
        let _ = deliver(example["event"].as_str().unwrap(), &payload);
    }
}
