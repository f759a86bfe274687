//! Forgejo's dialect: its quirks, as an API client and a receiver meet them.

use axum::http::HeaderMap;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::sandbox::tests::hooks::{Receiver, signed};
use crate::sandbox::tests::{World, token};
use crate::sandbox::{Dialect, SeedTeam};

async fn forgejo() -> World {
    World::speaking(Dialect::Forgejo, None).await
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers[name].to_str().unwrap()
}

impl World {
    /// Asks for a page of a list; answers its length, its count and its links.
    async fn page(&self, path: &str) -> (usize, String, Option<String>) {
        let url = format!("{}/api/v1/repos/acme/infra{path}", self.address);
        let answer = self.http.get(url).bearer_auth(token("ada")).send();
        let answer = answer.await.unwrap();
        let count = text(answer.headers(), "x-total-count").to_owned();
        let links = answer.headers().get("link");
        let links = links.map(|it| it.to_str().unwrap().to_owned());
        let items: Value = answer.json().await.unwrap();
        (items.as_array().unwrap().len(), count, links)
    }

    async fn approve(&self, number: u64) -> Value {
        let body = json!({ "event": "APPROVED" });
        let path = format!("/pulls/{number}/reviews");
        let (status, review) = self.post("grace", &path, body).await;
        assert_eq!(status, 200, "{review}");
        review
    }

    async fn review(&self, number: u64) -> Value {
        let reviews = self.get("ada", &format!("/pulls/{number}/reviews")).await;
        reviews[0].clone()
    }
}

#[tokio::test]
async fn a_delivery_carries_every_name_of_its_event_and_both_signatures() {
    let mut receiver = Receiver::new().await;
    let world = World::speaking(Dialect::Forgejo, Some(receiver.url.clone())).await;
    world.push("main", "main.txt", "first").await;
    let (headers, bytes) = receiver.raw().await;
    let signature = signed(&bytes);
    for forge in ["forgejo", "gitea", "gogs"] {
        assert_eq!(text(&headers, &format!("x-{forge}-event")), "push");
        assert_eq!(text(&headers, &format!("x-{forge}-signature")), signature);
    }
    assert_eq!(text(&headers, "x-github-event"), "push");
    assert_eq!(
        text(&headers, "x-hub-signature-256"),
        format!("sha256={signature}")
    );
}

#[tokio::test]
async fn what_happens_is_told_by_forgejos_names() {
    let mut receiver = Receiver::new().await;
    let world = World::speaking(Dialect::Forgejo, Some(receiver.url.clone())).await;
    let (number, _) = world.pull("feature").await;
    world.push("feature", "more.txt", "more").await;
    let said = json!({ "body": "good" });
    let comments = format!("/issues/{number}/comments");
    world.post("grace", &comments, said).await;
    world.approve(number).await;
    let mut names = Vec::new();
    while names
        .last()
        .is_none_or(|it: &String| !it.contains("review"))
    {
        let (headers, bytes) = receiver.raw().await;
        let payload: Value = serde_json::from_slice(&bytes).unwrap();
        names.push(format!(
            "{} {} {}",
            text(&headers, "x-forgejo-event"),
            text(&headers, "x-forgejo-event-type"),
            payload["action"].as_str().unwrap_or_default(),
        ));
    }
    let wanted = [
        "push push ",
        "push push ",
        "pull_request pull_request opened",
        "push push ",
        "pull_request pull_request_sync synchronized",
        "issue_comment pull_request_comment created",
        "pull_request_approved pull_request_review_approved reviewed",
    ];
    assert_eq!(names, wanted);
}

#[tokio::test]
async fn a_dismissed_review_keeps_its_state_and_is_told_to_nobody() {
    let mut receiver = Receiver::new().await;
    let world = World::speaking(Dialect::Forgejo, Some(receiver.url.clone())).await;
    let (number, _) = world.pull("feature").await;
    let review = world.approve(number).await;
    let path = format!("/pulls/{number}/reviews/{}/dismissals", review["id"]);
    let (writer, _) = world.post("ada", &path, json!({})).await;
    assert_eq!(writer, 403);
    let (_, review) = world.post("root", &path, json!({})).await;
    assert_eq!(
        (&review["state"], &review["dismissed"]),
        (&json!("APPROVED"), &json!(true))
    );
    let comments = format!("/issues/{number}/comments");
    world
        .post("grace", &comments, json!({ "body": "good" }))
        .await;
    receiver.wait_for("pull_request_approved reviewed").await;
    assert_eq!(receiver.next().await.0, "issue_comment created");
}

#[tokio::test]
async fn a_delivery_that_finds_nobody_is_not_made_again() {
    let reserved = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = reserved.local_addr().unwrap();
    drop(reserved);
    let hook = format!("http://{address}/hook");
    let mut world = World::speaking(Dialect::Forgejo, Some(hook)).await;
    world.push("main", "main.txt", "first").await;
    world.nothing_is_queued().await;
    world.kill().await;
    let mut receiver = Receiver::on(TcpListener::bind(address).await.unwrap());
    world.push("main", "main.txt", "second").await;
    let (_, push) = receiver.next().await;
    assert_eq!(push["head_commit"]["message"], "second\n");
}

#[tokio::test]
async fn a_delivery_made_again_has_a_new_id() {
    let mut receiver = Receiver::new().await;
    let world = World::speaking(Dialect::Forgejo, Some(receiver.url.clone())).await;
    world.push("main", "main.txt", "first").await;
    let (headers, bytes) = receiver.raw().await;
    let id = text(&headers, "x-forgejo-delivery");
    let url = format!("{}/sandbox/deliveries/{id}/redeliver", world.address);
    world.http.post(url).send().await.unwrap();
    let (again, same) = receiver.raw().await;
    assert_ne!(text(&again, "x-forgejo-delivery"), id);
    assert_eq!(bytes, same);
}

#[tokio::test]
async fn an_approval_grows_stale_when_the_change_does_and_not_when_only_its_commit_does() {
    let world = forgejo().await;
    let (number, head) = world.pull("feature").await;
    let given = world.approve(number).await;
    let facts = |it: &Value| [it["official"].clone(), it["stale"].clone()];
    assert_eq!(facts(&given), [json!(true), json!(false)]);
    let amend = ["commit", "--quiet", "--amend", "-m", "said better"];
    world.git("ada", "work", &amend).await;
    let force = ["push", "--force", "SANDBOX/acme/infra.git", "feature"];
    world.git("ada", "work", &force).await;
    assert_eq!(facts(&world.review(number).await), facts(&given));
    world.push("feature", "more.txt", "more").await;
    let review = world.review(number).await;
    assert_eq!(facts(&review), [json!(true), json!(true)]);
    assert_eq!(review["commit_id"], json!(head));
}

#[tokio::test]
async fn a_readers_approval_is_not_official() {
    let world = forgejo().await;
    let (number, _) = world.pull("feature").await;
    let body = json!({ "event": "APPROVED" });
    let path = format!("/pulls/{number}/reviews");
    let (_, review) = world.post("mallory", &path, body).await;
    assert_eq!(review["official"], false);
}

#[tokio::test]
async fn the_first_merge_after_a_push_is_asked_to_try_again() {
    let world = forgejo().await;
    let (number, head) = world.pull("feature").await;
    let path = format!("/pulls/{number}/merge");
    let body = json!({ "Do": "merge", "head_commit_id": head });
    let (status, said) = world.post("ada", &path, body.clone()).await;
    assert_eq!(
        (status, &said["message"]),
        (405, &json!("Please try again later"))
    );
    let stale = json!({ "Do": "merge", "head_commit_id": "0".repeat(40) });
    assert_eq!(world.post("ada", &path, stale).await.0, 409);
    assert_eq!(world.post("ada", &path, body).await.0, 200);
    let pull = world.get("ada", &format!("/pulls/{number}")).await;
    let merge = pull["merge_commit_sha"].as_str().unwrap();
    let found = world.get("ada", &format!("/commits/{merge}/pull")).await;
    assert_eq!(found["number"], number);
}

#[tokio::test]
async fn only_administrators_are_told_what_others_may_do() {
    let world = forgejo().await;
    let path = "/collaborators/mallory/permission";
    assert_eq!(
        world.call("ada", Method::GET, path, Value::Null).await.0,
        403
    );
    assert_eq!(world.get("root", path).await["permission"], "read");
    assert_eq!(world.get("mallory", path).await["permission"], "read");
    let unknown = "/collaborators/nobody/permission";
    let (status, _) = world.call("root", Method::GET, unknown, Value::Null).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_team_gives_its_members_a_role_and_shows_itself_to_them() {
    let team = SeedTeam {
        role: "write".to_owned(),
        members: vec!["eve".to_owned()],
    };
    let world = World::with_team("deployers", team).await;
    let own = "/collaborators/eve/permission";
    assert_eq!(world.get("eve", own).await["permission"], "write");
    let teams = world.get("ada", "/teams").await;
    assert_eq!(teams[0]["name"], "deployers");
    let members = format!("{}/api/v1/teams/{}/members", world.address, teams[0]["id"]);
    let ask = |who: &str| world.http.get(&members).bearer_auth(token(who)).send();
    let seen: Value = ask("eve").await.unwrap().json().await.unwrap();
    assert_eq!(seen[0]["login"], "eve");
    assert_eq!(ask("mallory").await.unwrap().status().as_u16(), 404);
}

#[tokio::test]
async fn a_status_is_asked_for_by_state_and_answered_by_status() {
    let world = forgejo().await;
    let (_, head) = world.pull("feature").await;
    let path = format!("/statuses/{head}");
    let body = json!({ "state": "pending", "context": "tidegate/plan" });
    let (status, answer) = world.post("ada", &path, body).await;
    assert_eq!((status, &answer["status"]), (201, &json!("pending")));
    assert_eq!(answer["state"], Value::Null);
    let combined = world.get("ada", &format!("/commits/{head}/status")).await;
    assert_eq!(combined["state"], "pending");
}

#[tokio::test]
async fn pages_hold_fifty_at_most_and_say_how_many_there_are() {
    let world = forgejo().await;
    let (number, head) = world.pull("feature").await;
    let comments = format!("/issues/{number}/comments");
    for index in 0..60 {
        let body = json!({ "body": format!("comment {index}") });
        world.post("ada", &comments, body).await;
        let body = json!({ "state": "success", "context": format!("check/{index}") });
        world.post("ada", &format!("/statuses/{head}"), body).await;
    }
    let (shown, count, links) = world.page("/issues/comments?limit=100").await;
    assert_eq!((shown, count.as_str(), links), (50, "60", None));
    let path = format!("/commits/{head}/statuses?limit=100");
    let (shown, count, links) = world.page(&path).await;
    assert_eq!((shown, count.as_str()), (50, "60"));
    assert!(links.unwrap().contains("rel=\"next\""));
    let (shown, _, _) = world.page(&comments).await;
    assert_eq!(shown, 60);
}

#[tokio::test]
async fn reactions_nobody_gave_are_null() {
    let world = forgejo().await;
    let (number, _) = world.pull("feature").await;
    let path = format!("/issues/{number}/comments");
    let (_, comment) = world.post("ada", &path, json!({ "body": "one" })).await;
    let path = format!("/issues/comments/{}/reactions", comment["id"]);
    assert_eq!(world.get("ada", &path).await, Value::Null);
    let give =
        |content: &str| world.call("ada", Method::POST, &path, json!({ "content": content }));
    assert_eq!(give("eyes").await.0, 201);
    assert_eq!(give("eyes").await.0, 200);
    assert_eq!(give("tada").await.0, 403);
}

#[tokio::test]
async fn a_hook_is_made_asleep_and_an_edit_forgets_the_events_it_does_not_name() {
    let mut receiver = Receiver::new().await;
    let world = forgejo().await;
    world.push("main", "main.txt", "first").await;
    let config = json!({ "url": receiver.url, "content_type": "json", "secret": "s" });
    let hook = json!({ "type": "forgejo", "config": config, "events": ["pull_request"] });
    assert_eq!(world.post("ada", "/hooks", hook.clone()).await.0, 403);
    let (status, made) = world.post("root", "/hooks", hook).await;
    assert_eq!((status, &made["active"]), (201, &json!(false)));
    assert_eq!(made["config"]["secret"], Value::Null);
    let path = format!("/hooks/{}", made["id"]);
    let awake = json!({ "active": true });
    let (_, edited) = world.call("root", Method::PATCH, &path, awake).await;
    assert_eq!(edited["events"], json!(["push"]));
    let (status, _) = world
        .post("root", &format!("{path}/tests"), json!({}))
        .await;
    assert_eq!(status, 204);
    let (name, push) = receiver.next().await;
    assert_eq!((name.as_str(), &push["before"]), ("push", &push["after"]));
}

#[tokio::test]
async fn a_token_is_good_for_its_scopes_alone() {
    let world = World::with_scopes("ada", &["write:issue", "read:repository"]).await;
    let (status, said) = world
        .post(
            "ada",
            "/pulls",
            json!({ "title": "t", "head": "h", "base": "main" }),
        )
        .await;
    assert_eq!(status, 403);
    let said = said["message"].as_str().unwrap();
    assert!(said.contains("write:repository"), "{said}");
    let (status, _) = world.call("ada", Method::GET, "/pulls", Value::Null).await;
    assert_eq!(status, 200);
    let pushed = world
        .git("ada", "work", &["ls-remote", "SANDBOX/acme/infra.git"])
        .await;
    assert_eq!(pushed.code(), Some(0));
}

#[tokio::test]
async fn each_thing_that_is_edited_is_told_by_itself() {
    let mut receiver = Receiver::new().await;
    let world = World::speaking(Dialect::Forgejo, Some(receiver.url.clone())).await;
    let (number, _) = world.pull("feature").await;
    let path = format!("/pulls/{number}");
    let body = json!({ "title": "better", "body": "why" });
    let (status, _) = world.call("ada", Method::PATCH, &path, body).await;
    assert_eq!(status, 201);
    let first = receiver.wait_for("pull_request edited").await;
    let second = receiver.wait_for("pull_request edited").await;
    assert_eq!(first["changes"], json!({ "title": { "from": "feature" } }));
    assert_eq!(second["changes"], json!({ "body": { "from": "" } }));
}
