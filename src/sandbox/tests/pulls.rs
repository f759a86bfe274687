//! Pull requests over GitHub's API.

use reqwest::Method;
use serde_json::{Value, json};

use crate::sandbox::tests::World;

async fn merge(world: &World, number: u64, body: Value) -> (u16, Value) {
    let path = format!("/pulls/{number}/merge");
    world.call("grace", Method::PUT, &path, body).await
}

async fn show(world: &World, number: u64) -> Value {
    world.get("ada", &format!("/pulls/{number}")).await
}

#[tokio::test]
async fn a_merge_of_another_head_is_refused() {
    let world = World::new().await;
    let (number, head) = world.pull("feature").await;
    world.push("feature", "more.txt", "more").await;
    let (status, answer) = merge(&world, number, json!({ "sha": head })).await;
    assert_eq!(status, 409, "{answer}");
    assert_eq!(show(&world, number).await["merged"], false);
}

#[tokio::test]
async fn a_merge_has_base_and_head_as_parents() {
    let world = World::new().await;
    let (number, head) = world.pull("feature").await;
    let base = world.get("ada", "/branches/main").await["commit"]["sha"].clone();
    let (status, answer) = merge(&world, number, json!({ "sha": head })).await;
    assert_eq!(status, 200, "{answer}");
    let tip = world.get("ada", "/commits/main").await;
    let parents = [&tip["parents"][0]["sha"], &tip["parents"][1]["sha"]];
    assert_eq!(tip["sha"], answer["sha"]);
    assert_eq!(parents, [&base, &json!(head)]);
    assert_eq!(show(&world, number).await["merged_by"]["login"], "grace");
}

#[tokio::test]
async fn a_squash_is_one_commit_on_base() {
    let world = World::new().await;
    let (number, _) = world.pull("feature").await;
    merge(&world, number, json!({ "merge_method": "squash" })).await;
    let tip = world.get("ada", "/commits/main").await;
    assert_eq!(tip["parents"].as_array().unwrap().len(), 1);
    assert_eq!(tip["commit"]["message"], format!("feature (#{number})"));
}

#[tokio::test]
async fn a_conflict_is_not_merged() {
    let world = World::new().await;
    let (one, _) = world.pull("one").await;
    world.push("one", "same.txt", "one").await;
    world
        .git("ada", "work", &["checkout", "--quiet", "main"])
        .await;
    let (two, _) = world.pull("two").await;
    world.push("two", "same.txt", "two").await;
    assert_eq!(merge(&world, one, json!({})).await.0, 200);
    assert_eq!(show(&world, two).await["mergeable"], false);
    assert_eq!(merge(&world, two, json!({})).await.0, 405);
}

#[tokio::test]
async fn a_forks_head_is_in_the_base_repository_and_follows_the_fork() {
    let world = World::new().await;
    world.push("main", "main.txt", "first").await;
    let (status, fork) = world.post("mallory", "/forks", json!({})).await;
    assert_eq!((status, &fork["full_name"]), (202, &json!("mallory/infra")));
    let clone = [
        "clone",
        "--quiet",
        "-b",
        "main",
        "SANDBOX/mallory/infra.git",
        ".",
    ];
    world.git("mallory", "fork", &clone).await;
    let push = [
        "push",
        "SANDBOX/mallory/infra.git",
        "HEAD:refs/heads/theirs",
    ];
    world
        .git(
            "mallory",
            "fork",
            &["commit", "--quiet", "--allow-empty", "-m", "one"],
        )
        .await;
    world.git("mallory", "fork", &push).await;
    let asked = json!({ "title": "theirs", "head": "mallory:theirs", "base": "main" });
    let (status, pull) = world.post("mallory", "/pulls", asked).await;
    assert_eq!(status, 201, "{pull}");
    assert_eq!(pull["head"]["repo"]["fork"], true);
    world
        .git(
            "mallory",
            "fork",
            &["commit", "--quiet", "--allow-empty", "-m", "two"],
        )
        .await;
    world.git("mallory", "fork", &push).await;
    let head = show(&world, pull["number"].as_u64().unwrap()).await["head"]["sha"].clone();
    let name = format!("refs/pull/{}/head", pull["number"]);
    let listed = world
        .git(
            "ada",
            "work",
            &["ls-remote", "SANDBOX/acme/infra.git", &name],
        )
        .await;
    let listed = String::from_utf8(listed.stdout).unwrap();
    let own = world.git("mallory", "fork", &["rev-parse", "HEAD"]).await;
    let own = String::from_utf8(own.stdout).unwrap();
    assert_eq!(listed.split('\t').next(), head.as_str());
    assert_eq!(head, own.trim());
}

#[tokio::test]
async fn a_push_that_holds_the_head_counts_as_a_merge() {
    let world = World::new().await;
    let (number, head) = world.pull("feature").await;
    let push = ["push", "SANDBOX/acme/infra.git", "feature:main"];
    world.git("ada", "work", &push).await;
    let pull = show(&world, number).await;
    assert_eq!(
        (&pull["merged"], &pull["merge_commit_sha"]),
        (&json!(true), &json!(head))
    );
}

#[tokio::test]
async fn a_pull_request_whose_branch_is_deleted_is_closed() {
    let world = World::new().await;
    let (number, _) = world.pull("feature").await;
    world
        .git(
            "ada",
            "work",
            &["push", "SANDBOX/acme/infra.git", ":feature"],
        )
        .await;
    let pull = show(&world, number).await;
    assert_eq!(
        (&pull["state"], &pull["merged"]),
        (&json!("closed"), &json!(false))
    );
}

#[tokio::test]
async fn a_branch_has_one_open_pull_request_into_a_base() {
    let world = World::new().await;
    world.pull("feature").await;
    let again = json!({ "title": "again", "head": "feature", "base": "main" });
    assert_eq!(world.post("grace", "/pulls", again).await.0, 422);
}

#[tokio::test]
async fn the_pull_requests_of_a_commit_are_those_that_hold_or_brought_it() {
    let world = World::new().await;
    let (number, head) = world.pull("feature").await;
    let numbers = async |sha: &str| {
        let found = world.get("ada", &format!("/commits/{sha}/pulls")).await;
        let found = found.as_array().unwrap().iter();
        found
            .map(|it| it["number"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&head).await, [number]);
    let (_, merged) = merge(&world, number, json!({})).await;
    assert_eq!(numbers(merged["sha"].as_str().unwrap()).await, [number]);
    let pull = ["pull", "--quiet", "SANDBOX/acme/infra.git", "main"];
    world.git("ada", "work", &pull).await;
    let later = world.push("main", "later.txt", "later").await;
    assert_eq!(numbers(&later).await, [0_u64; 0]);
}

#[tokio::test]
async fn lists_come_in_pages_with_links() {
    let world = World::new().await;
    for branch in ["one", "two", "three"] {
        world.pull(branch).await;
    }
    let url = format!(
        "{}/api/v3/repos/acme/infra/pulls?per_page=2&page=1",
        world.address
    );
    let answer = world
        .http
        .get(url)
        .bearer_auth("ada-token")
        .send()
        .await
        .unwrap();
    let links = answer.headers()["link"].to_str().unwrap().to_owned();
    let next = format!(
        "<{}/api/v3/repos/acme/infra/pulls?page=2&per_page=2>; rel=\"next\"",
        world.address
    );
    assert!(links.starts_with(&next), "{links}");
    let page: Vec<Value> = answer.json().await.unwrap();
    assert_eq!(page.len(), 2);
}
