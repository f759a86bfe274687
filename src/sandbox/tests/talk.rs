//! Comments, reviews, statuses and permissions over GitHub's API.

use reqwest::Method;
use serde_json::{Value, json};

use crate::sandbox::tests::World;

#[tokio::test]
async fn nobody_approves_their_own_pull_request() {
    let world = World::new().await;
    let (number, head) = world.pull("feature").await;
    let path = format!("/pulls/{number}/reviews");
    let approve = json!({ "event": "APPROVE" });
    assert_eq!(world.post("ada", &path, approve.clone()).await.0, 422);
    let (status, review) = world.post("mallory", &path, approve).await;
    let got = (status, &review["state"], &review["commit_id"]);
    assert_eq!(got, (200, &json!("APPROVED"), &json!(head)));
}

#[tokio::test]
async fn a_dismissed_review_says_so() {
    let world = World::new().await;
    let (number, _) = world.pull("feature").await;
    let path = format!("/pulls/{number}/reviews");
    let (_, review) = world
        .post("grace", &path, json!({ "event": "APPROVE" }))
        .await;
    let dismiss = format!("{path}/{}/dismissals", review["id"]);
    let reason = json!({ "message": "too early" });
    let (reader, _) = world
        .call("mallory", Method::PUT, &dismiss, reason.clone())
        .await;
    assert_eq!(reader, 403);
    let (_, review) = world.call("ada", Method::PUT, &dismiss, reason).await;
    assert_eq!(review["state"], "DISMISSED");
}

#[tokio::test]
async fn a_comment_is_edited_by_its_author_and_by_writers() {
    let world = World::new().await;
    let (number, _) = world.pull("feature").await;
    let path = format!("/issues/{number}/comments");
    let (_, comment) = world.post("grace", &path, json!({ "body": "one" })).await;
    let path = format!("/issues/comments/{}", comment["id"]);
    for (who, status) in [("grace", 200), ("ada", 200), ("mallory", 403), ("eve", 404)] {
        let edit = json!({ "body": format!("by {who}") });
        let answer = world.call(who, Method::PATCH, &path, edit).await;
        assert_eq!(answer.0, status, "{who}");
    }
}

#[tokio::test]
async fn a_comment_longer_than_githubs_limit_is_refused() {
    let world = World::new().await;
    let (number, _) = world.pull("feature").await;
    let path = format!("/issues/{number}/comments");
    for (length, status) in [(65_536, 201), (65_537, 422)] {
        let body = json!({ "body": "é".repeat(length) });
        assert_eq!(world.post("ada", &path, body).await.0, status, "{length}");
    }
}

#[tokio::test]
async fn a_reaction_is_given_once() {
    let world = World::new().await;
    let (number, _) = world.pull("feature").await;
    let path = format!("/issues/{number}/comments");
    let (_, comment) = world.post("ada", &path, json!({ "body": "one" })).await;
    let path = format!("/issues/comments/{}/reactions", comment["id"]);
    let eyes = json!({ "content": "eyes" });
    let first = world.post("grace", &path, eyes.clone()).await;
    let second = world.post("grace", &path, eyes).await;
    assert_eq!(
        (first.0, second.0, &first.1["id"]),
        (201, 200, &second.1["id"])
    );
}

#[tokio::test]
async fn the_newest_status_of_each_context_counts() {
    let world = World::new().await;
    let (_, head) = world.pull("feature").await;
    for (context, state) in [
        ("plan", "failure"),
        ("plan", "success"),
        ("apply", "pending"),
    ] {
        let status = json!({ "context": context, "state": state });
        let (code, _) = world
            .post("ada", &format!("/statuses/{head}"), status)
            .await;
        assert_eq!(code, 201);
    }
    let combined = world.get("ada", &format!("/commits/{head}/status")).await;
    assert_eq!(
        (&combined["state"], &combined["total_count"]),
        (&json!("pending"), &json!(2))
    );
    let all = world.get("ada", &format!("/commits/{head}/statuses")).await;
    let states: Vec<&Value> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["state"])
        .collect();
    assert_eq!(states, ["pending", "success", "failure"]);
}

#[tokio::test]
async fn who_has_no_role_is_not_there() {
    let world = World::new().await;
    let mut seen = Vec::new();
    for who in ["ada", "mallory", "eve", "nobody"] {
        let path = format!("/collaborators/{who}/permission");
        let (status, answer) = world.call("ada", Method::GET, &path, Value::Null).await;
        seen.push((
            status,
            answer["permission"].as_str().unwrap_or("-").to_owned(),
        ));
    }
    let wanted = [(200, "write"), (200, "read"), (404, "-"), (404, "-")];
    assert_eq!(seen, wanted.map(|(status, role)| (status, role.to_owned())));
}

#[tokio::test]
async fn times_have_no_parts_of_seconds() {
    let world = World::new().await;
    let (number, _) = world.pull("feature").await;
    let pull = world.get("ada", &format!("/pulls/{number}")).await;
    let at = pull["created_at"].as_str().unwrap();
    assert!(at.len() == 20 && at.ends_with('Z'), "{at}");
}
