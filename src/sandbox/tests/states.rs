//! The Terraform state backend, as Terraform asks it.

use std::os::unix::fs::PermissionsExt;

use reqwest::Method;

use crate::sandbox::tests::{World, token};

const ADA: &str = r#"{"ID":"ada-lock","Who":"ada"}"#;
const GRACE: &str = r#"{"ID":"grace-lock","Who":"grace"}"#;

async fn ask(world: &World, who: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let url = format!("{}/state/acme/infra/{path}", world.address);
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let request = world.http.request(method, url);
    let request = request
        .basic_auth(who, Some(token(who)))
        .body(body.to_owned());
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_lock_is_held_by_one_and_writes_need_it() {
    let world = World::new().await;
    let steps = [
        ("GET", "network", "", 404, ""),
        ("LOCK", "network/lock", ADA, 200, ""),
        ("LOCK", "network/lock", ADA, 200, ""),
        ("LOCK", "network/lock", GRACE, 423, ADA),
        ("POST", "network/lock", GRACE, 423, ADA),
        ("POST", "network", r#"{"serial":1}"#, 423, ADA),
        ("POST", "network?ID=grace-lock", r#"{"serial":1}"#, 423, ADA),
        ("POST", "network?ID=ada-lock", r#"{"serial":1}"#, 200, ""),
        ("GET", "network", "", 200, r#"{"serial":1}"#),
        ("UNLOCK", "network/lock", GRACE, 409, ADA),
        ("DELETE", "network/lock", ADA, 200, ""),
        ("POST", "network/lock", GRACE, 200, ""),
        ("DELETE", "network/lock", "", 200, ""),
        ("DELETE", "network", "", 200, ""),
        ("GET", "network", "", 404, ""),
    ];
    for (number, (method, path, body, status, answer)) in steps.into_iter().enumerate() {
        let got = ask(&world, "ada", method, path, body).await;
        assert_eq!(
            got,
            (status, answer.to_owned()),
            "step {number}: {method} {path}"
        );
    }
}

#[tokio::test]
async fn only_writers_see_states() {
    let world = World::new().await;
    for (who, status) in [("ada", 404), ("mallory", 401), ("eve", 401)] {
        assert_eq!(
            ask(&world, who, "GET", "network", "").await.0,
            status,
            "{who}"
        );
    }
}

#[tokio::test]
async fn every_version_is_kept_and_readable_by_the_owner_alone() {
    let mut world = World::new().await;
    for state in [r#"{"serial":1}"#, r#"{"serial":2}"#] {
        ask(&world, "ada", "POST", "envs/dev/network", state).await;
    }
    world.kill().await;
    let newest = ask(&world, "ada", "GET", "envs/dev/network", "").await;
    assert_eq!(newest, (200, r#"{"serial":2}"#.to_owned()));
    let states = world.folder().join("states");
    let repo = std::fs::read_dir(&states).unwrap().next().unwrap().unwrap();
    let first = repo.path().join("envs+dev+network/1.tfstate");
    assert_eq!(std::fs::read_to_string(&first).unwrap(), r#"{"serial":1}"#);
    let mode = std::fs::metadata(&first).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_name_never_leaves_its_folder() {
    let world = World::new().await;
    for name in ["a/%2e%2e/b", "a//b", ".hidden", "a+b"] {
        assert_eq!(
            ask(&world, "ada", "POST", name, "{}").await.0,
            400,
            "{name}"
        );
    }
}
