//! What a story becomes when the forge, the tool, the database or the disk fails in the middle of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use http::StatusCode;
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

use crate::world::claims::NOTHING;
use crate::world::estate::{replaces, updates};
use crate::world::relay::{Fate, first};
use crate::world::{GRACE, World, estate};

/// How a forge fails, and how its calls end then.
fn troubles() -> [(&'static str, Fate); 6] {
    let says = |status, text| Fate::Answered(status, Vec::new(), text);
    let soon = vec![("retry-after", "1".to_owned())];
    let limit = r#"{"message":"You have exceeded a secondary rate limit"}"#;
    [
        ("bad gateway", says(StatusCode::BAD_GATEWAY, "<html>")),
        ("nonsense", says(StatusCode::OK, "<html>moved</html>")),
        ("wrong shape", says(StatusCode::OK, "{\"id\":\"none\"}")),
        (
            "too many",
            Fate::Answered(StatusCode::TOO_MANY_REQUESTS, soon.clone(), limit),
        ),
        (
            "secondary limit",
            Fate::Answered(StatusCode::FORBIDDEN, soon, limit),
        ),
        ("broken connection", Fate::Breaks),
    ]
}

#[tokio::test]
async fn a_forge_that_fails_for_a_while_costs_nothing_but_time() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    for (name, fate) in troubles() {
        world.api.rule(first(3, |_| true, fate));
        let pull = world.open(name, updates("network")).await;
        let plan = world.status(&pull.head, "tidegate/plan").await;
        assert!(plan.starts_with("success: "), "{name}: {plan}");
        assert!(world.note(&pull).await.contains("network"), "{name}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_write_that_was_done_and_not_answered_is_not_done_twice() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let lost = Fate::Lost(StatusCode::BAD_GATEWAY);
    world
        .api
        .rule(first(6, |call| call.method != http::Method::GET, lost));
    let pull = world.open("replace the network", replaces("network")).await;
    world.note(&pull).await;
    world.comment(&pull, GRACE, "/help").await;
    assert_eq!(world.replies(&pull).await.len(), 1);
    world.end().await;
}

#[tokio::test]
async fn an_approval_given_while_the_forge_is_away_counts_when_it_is_back() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    let away = || Fate::Answered(StatusCode::SERVICE_UNAVAILABLE, Vec::new(), "");
    world.api.rule(first(4, |_| true, away()));
    world.comment(&pull, GRACE, "/approve").await;
    assert_eq!(world.applied(), ["network"]);
    assert_eq!(world.uses().await, ["applied", "finished"]);
    world.end().await;
}

#[tokio::test]
async fn a_tool_that_is_missing_or_breaks_is_told_on_the_pull_request() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let real = estate::tool().unwrap();
    let cases = [
        ("missing", None, "on the runner"),
        (
            "crashes",
            Some("case \"$1\" in plan) kill -SEGV $$;; esac".to_owned()),
            "it was ended by SIGSEGV",
        ),
        (
            "babbles",
            Some("case \"$1\" in show) echo '{\"format'; exit 0;; esac".to_owned()),
            "cannot be read",
        ),
    ];
    let mut broken = None;
    for (name, script, told) in cases {
        world.kill_the_server().await;
        world.place_mut().programs =
            Some(programs(&world.site.beside(name), &real, script.as_deref()));
        world.start_the_server().await;
        let pull = world.open(name, updates("network")).await;
        let plan = world.status(&pull.head, "tidegate/plan").await;
        let note = world.note(&pull).await;
        assert!(plan.starts_with("failure: "), "{name}: {plan}");
        assert!(note.contains(told), "{name}: {note}");
        broken = Some(pull);
    }
    let merged = world.merge(&broken.unwrap()).await;
    let apply = world.status(&merged, "tidegate/apply").await;
    assert!(apply.starts_with("failure: "), "{apply}");
    assert_eq!(world.applied(), NOTHING);
    world.end().await;
}

/// A folder in which the tool is as the script makes it, or missing, and everything else is there; as a `PATH`.
fn programs(folder: &Path, tool: &str, script: Option<&str>) -> String {
    fs::create_dir_all(folder).unwrap();
    for program in ["git", "sh", "bash", "env", "cat"] {
        std::os::unix::fs::symlink(found(program), folder.join(program)).unwrap();
    }
    if let Some(script) = script {
        let file = folder.join(Path::new(tool).file_name().unwrap());
        let real = found(tool);
        let text = format!("#!/bin/sh\n{script}\nexec {} \"$@\"\n", real.display());
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder.display().to_string()
}

fn found(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut all = std::env::split_paths(&path).map(|it| it.join(program));
    all.find(|it| it.is_file()).unwrap()
}

#[tokio::test]
async fn what_a_locked_database_cannot_take_is_not_acknowledged() {
    let Some(mut world) = World::on_github().on_sqlite().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    world.comment(&pull, GRACE, "Looks right.").await;
    let letter = world
        .letter_of_the_newest_comment()
        .await
        .saying("/approve");
    let signature = letter.true_signature();
    let options = SqliteConnectOptions::new().filename(world.database_file());
    let mut holder = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut holder)
        .await
        .unwrap();
    let status = world.deliver(&letter, Some(&signature)).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    world.deliver(&letter, Some(&signature)).await;
    world.settle().await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn what_a_full_disk_cannot_take_is_not_acknowledged() {
    let Some(mut world) = World::on_github().on_sqlite().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    world.comment(&pull, GRACE, "Looks right.").await;
    let first = world.letter_of_the_newest_comment().await;
    world.kill_the_server().await;
    world.place_mut().largest_file = Some(96);
    world.start_the_server().await;
    let long = format!("/help\n\n{}", "It is a long story. ".repeat(2000));
    let mut letter = first.saying(&long);
    let mut status = StatusCode::ACCEPTED;
    for _ in 0..40 {
        status = world.deliver(&letter, Some(&letter.true_signature())).await;
        if status != StatusCode::ACCEPTED {
            break;
        }
        letter = letter.saying(&long);
    }
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    world.kill_the_server().await;
    world.place_mut().largest_file = None;
    world.start_the_server().await;
    let approval = letter.saying("/approve");
    let again = [&letter, &approval];
    for letter in again {
        let status = world.deliver(letter, Some(&letter.true_signature())).await;
        assert_eq!(status, StatusCode::ACCEPTED);
    }
    world.settle().await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}
