//! Whose approval counts, for what, and how often.

use serde_json::json;

use crate::world::claims::NOTHING;
use crate::world::estate::{replaces, updates};
use crate::world::site::REPO;
use crate::world::{ADA, GRACE, MALLORY, TIDE, World};

#[tokio::test]
async fn an_approval_stands_on_the_ledger_as_its_writer_gave_it() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("replace the network", replaces("network")).await;
    let commit = world.merge(&pull).await;
    let comment = world.comment(&pull, GRACE, "/approve wave-1").await;
    let [pending, approval] = world.ledger().await.try_into().unwrap();
    let path = format!("/repos/{REPO}/issues/comments/{comment}");
    let said = world.read(GRACE, &path).await;
    let host = world.host();
    let wanted = json!({
        "approver": {"kind": "human"},
        "commit": commit,
        "gate": "wave-1",
        "id": approval["id"],
        "kind": "resolution",
        "op": "tf-apply",
        "origin": "cli",
        "planDigest": pending["planDigest"],
        "pr": pull.number,
        "relayedBy": "tidegate",
        "resolvedBy": format!("github@{host}:{GRACE}"),
        "timestamp": approval["timestamp"],
        "url": said["html_url"],
        "user": {"forge": host, "id": said["user"]["id"]},
        "version": 1,
        "via": "comment",
    });
    assert_eq!(approval, wanted);
    assert_eq!(world.uses().await, ["applied", "finished"]);
    world.end().await;
}

#[tokio::test]
async fn an_author_a_reader_and_the_server_itself_approve_nothing() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    for (who, answers) in [(ADA, 1), (MALLORY, 2), (TIDE, 2)] {
        world.comment(&pull, who, "/approve wave-1").await;
        assert_eq!(world.replies(&pull).await.len(), answers, "{who}");
        assert_eq!(world.ledger_lines().await, ["pending wave-1"], "{who}");
    }
    let [author, reader] = world.replies(&pull).await.try_into().unwrap();
    assert!(author.contains("your own change"), "{author}");
    assert!(reader.contains("write access"), "{reader}");
    assert_eq!(world.applied(), NOTHING);
    world.end().await;
}

#[tokio::test]
async fn an_approval_of_the_open_pull_request_counts_after_the_merge() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("replace the network", replaces("network")).await;
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert_eq!(world.ledger_lines().await, ["resolution wave-1"]);
    assert_eq!(world.applied(), NOTHING);
    world.merge(&pull).await;
    assert_eq!(world.applied(), ["network"]);
    assert_eq!(world.ledger_lines().await, ["resolution wave-1"]);
    world.end().await;
}

#[tokio::test]
async fn a_plan_that_moves_after_its_approval_applies_nothing() {
    let Some(mut world) = World::on_github().with_gate("always").await else {
        return;
    };
    let pull = world.merged("size the network", updates("network")).await;
    world.taint("network").await;
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert_eq!(world.applied(), NOTHING);
    assert_eq!(world.exits().await.last().unwrap(), "4");
    let lines = world.ledger_lines().await;
    assert_eq!(
        lines,
        ["pending wave-1", "resolution wave-1", "pending wave-1"]
    );
    let ledger = world.ledger().await;
    let member = |line: usize| {
        let members = ledger[line]["members"].as_array().unwrap();
        let digest = members[0]["planDigest"].as_str().unwrap();
        digest.rsplit(':').next().unwrap()[..12].to_owned()
    };
    let note = world.note(&pull).await;
    for shown in ["`network`", &member(0), &member(2)] {
        assert!(note.contains(shown), "no {shown} in {note}");
    }
    world.end().await;
}

#[tokio::test]
async fn two_approvals_of_a_wave_apply_it_once() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    world
        .site
        .comment(GRACE, pull.number, "/approve wave-1")
        .await;
    world.site.comment(GRACE, pull.number, "/approve").await;
    world.settle().await;
    assert_eq!(world.applied(), ["network"]);
    assert_eq!(world.uses().await, ["applied", "finished"]);
    world.end().await;
}
