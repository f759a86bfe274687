//! Git's own client against the sandbox.

use crate::sandbox::tests::{World, run_git};

#[tokio::test]
async fn a_writer_pushes_and_a_reader_clones() {
    let world = World::new().await;
    world.push("main", "main.tf", "a first line").await;
    let clone = [
        "clone",
        "--quiet",
        "-b",
        "main",
        "SANDBOX/acme/infra.git",
        ".",
    ];
    let cloned = world.git("mallory", "copy", &clone).await;
    assert_eq!(cloned.code(), Some(0), "{}", cloned.complaint());
    let text = std::fs::read_to_string(world.dir.path().join("copy/main.tf")).unwrap();
    assert_eq!(text, "a first line");
}

#[tokio::test]
async fn who_shows_no_token_is_asked_for_one() {
    let world = World::new().await;
    let url = format!(
        "{}/acme/infra.git/info/refs?service=git-upload-pack",
        world.address
    );
    let answer = world.http.get(&url).send().await.unwrap();
    let asks = answer.headers()["www-authenticate"].to_str().unwrap();
    assert_eq!(
        (answer.status().as_u16(), asks),
        (401, "Basic realm=\"sandbox\"")
    );
    let list = [
        "ls-remote".to_owned(),
        format!("{}/acme/infra.git", world.address),
    ];
    let stock = run_git(world.dir.path(), &list).await;
    assert_eq!(stock.code(), Some(128), "{}", stock.complaint());
}

#[tokio::test]
async fn a_reader_does_not_push_and_a_stranger_sees_nothing() {
    let world = World::new().await;
    world.push("main", "main.tf", "a first line").await;
    let push = ["push", "SANDBOX/acme/infra.git", "HEAD:refs/heads/mine"];
    let reader = world.git("mallory", "work", &push).await.complaint();
    assert!(reader.contains("403"), "{reader}");
    let list = ["ls-remote", "SANDBOX/acme/infra.git"];
    let stranger = world.git("eve", "work", &list).await.complaint();
    assert!(stranger.contains("not found"), "{stranger}");
}

#[tokio::test]
async fn nobody_pushes_to_the_refs_of_pull_requests() {
    let world = World::new().await;
    world.push("main", "main.tf", "a first line").await;
    let push = ["push", "SANDBOX/acme/infra.git", "HEAD:refs/pull/1/head"];
    let refused = world.git("ada", "work", &push).await;
    assert_eq!(refused.code(), Some(1), "{}", refused.complaint());
}
