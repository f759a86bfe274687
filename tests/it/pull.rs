//! What people read on an open pull request.

use crate::world::claims::NOTHING;
use crate::world::estate::{breaks, replaces, tells_otherwise, updates, updates_otherwise, writes};
use crate::world::{GRACE, World, rules};

#[tokio::test]
async fn a_pull_request_has_one_note_that_follows_its_head() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("size the network", updates("network")).await;
    world.check_note(&pull, "planned").await;
    let first = world.status(&pull.head, "tidegate/plan").await;
    let head = world.push_to(&pull, replaces("network")).await;
    world.check_note(&pull, "planned-again").await;
    assert_eq!(first, "success: 1 root in 1 wave: updates 1");
    assert_eq!(world.status(&pull.head, "tidegate/plan").await, first);
    let second = world.status(&head, "tidegate/plan").await;
    assert_eq!(second, "success: 1 root in 1 wave: replaces 1");
    world.end().await;
}

#[tokio::test]
async fn a_pull_request_into_another_branch_promises_nothing() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("replace the network", replaces("network")).await;
    world.retarget(&pull, "next").await;
    let note = world.note(&pull).await;
    assert!(note.contains("**Its merge lets nothing out**"), "{note}");
    let status = world.status(&pull.head, "tidegate/apply").await;
    assert_eq!(status, "success: nothing: next is not the default branch");
    world.end().await;
}

#[tokio::test]
async fn a_head_that_was_left_while_it_was_planned_is_not_pending_for_good() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let change = updates("network");
    let pull = world
        .open_without_waiting("size the network", &change)
        .await;
    let head = world.push_to(&pull, updates_otherwise("network")).await;
    for commit in [&pull.head, &head] {
        let status = world.status(commit, "tidegate/plan").await;
        assert!(!status.starts_with("pending"), "{status}");
    }
    let status = world.status(&head, "tidegate/plan").await;
    assert_eq!(status, "success: 1 root in 1 wave: updates 1");
    world.end().await;
}

#[tokio::test]
async fn a_fork_is_never_planned() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let jobs = world.stored("jobs").await;
    let pull = world
        .open_from_a_fork("replace the network", replaces("network"))
        .await;
    world.comment(&pull, GRACE, "/plan").await;
    assert_eq!(world.stored("jobs").await, jobs);
    let note = world.note(&pull).await;
    assert!(note.contains("(a fork)"), "{note}");
    let status = world.status(&pull.head, "tidegate/plan").await;
    assert_eq!(status, "failure: not planned: the commits are in a fork");
    world.end().await;
}

#[tokio::test]
async fn a_broken_root_stands_open_in_the_note_beside_a_good_one() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let change = breaks("network").and(updates("storage"));
    let pull = world.open("name what is not there", change).await;
    let note = world.note(&pull).await;
    let open = without_folds(&note);
    assert!(
        open.contains("undeclared resource (network/main.tf"),
        "{note}"
    );
    assert!(note.contains("terraform_data.it: update"), "{note}");
    let status = world.status(&pull.head, "tidegate/plan").await;
    assert_eq!(
        status,
        "failure: 1 of 2 roots could not be planned: network"
    );
    world.end().await;
}

#[tokio::test]
async fn a_change_of_an_output_alone_is_a_change() {
    let Some(mut world) = World::on_github().with_gate("always").await else {
        return;
    };
    let pull = world
        .open("tell otherwise", tells_otherwise("network"))
        .await;
    let status = world.status(&pull.head, "tidegate/plan").await;
    assert_eq!(status, "success: 1 root in 1 wave: changes 1 output");
    world.merge(&pull).await;
    assert_eq!(world.applied(), NOTHING);
    world.comment(&pull, GRACE, "/approve").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn a_change_of_the_docs_has_nothing_to_do() {
    let Some(mut world) = World::on_github().with_gate("always").await else {
        return;
    };
    let jobs = world.stored("jobs").await;
    let pull = world
        .open("describe it", writes("README.md", "# Infra\n"))
        .await;
    let plan = world.status(&pull.head, "tidegate/plan").await;
    assert_eq!(plan, "success: this change reaches no root");
    let apply = world.status(&pull.head, "tidegate/apply").await;
    assert_eq!(apply, "success: nothing to apply");
    let commit = world.merge(&pull).await;
    let merged = world.status(&commit, "tidegate/apply").await;
    assert_eq!(merged, "success: no root is reached: nothing to do");
    assert_eq!(world.stored("jobs").await, jobs);
    world.end().await;
}

#[tokio::test]
async fn a_preview_neither_waits_for_a_lock_nor_writes_a_state() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let before = world.state("network").await;
    world.hold("network").await;
    let pull = world.open("replace the network", replaces("network")).await;
    let status = world.status(&pull.head, "tidegate/plan").await;
    assert_eq!(status, "success: 1 root in 1 wave: replaces 1");
    world.release("network").await;
    assert_eq!(world.state("network").await, before);
    assert_eq!(world.applied(), NOTHING);
    world.end().await;
}

#[tokio::test]
async fn no_change_loosens_its_own_rule() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let change = writes("tidegate.yml", &rules("never")).and(replaces("network"));
    let pull = world.merged("replace the network", change).await;
    assert_eq!(world.applied(), NOTHING);
    assert_eq!(world.ledger_lines().await, ["pending wave-1"]);
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn rules_that_cannot_be_read_let_nothing_out_until_they_are_mended() {
    let Some(mut world) = World::on_github().with_gate("never").await else {
        return;
    };
    let broken = writes("tidegate.yml", "parallelism: 1\ngate: sometimes\n");
    let commit = world.push(&broken.and(updates("network"))).await;
    let status = world.status(&commit, "tidegate/apply").await;
    assert!(
        status.starts_with("failure: nothing applies: tidegate.yml:2"),
        "{status}"
    );
    let pull = world
        .open("mend the rules", writes("tidegate.yml", &rules("always")))
        .await;
    let note = world.note(&pull).await;
    assert!(note.contains("tidegate.yml:2"), "{note}");
    let status = world.status(&pull.head, "tidegate/plan").await;
    assert!(status.starts_with("failure: not planned"), "{status}");
    assert_eq!(world.applied(), NOTHING);
    // The mended push brings what the broken one did, under the rules that were read last.
    world.merge(&pull).await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

/// What a reader sees without opening anything.
fn without_folds(note: &str) -> String {
    let parts = note.split("<details>");
    let outside = parts.map(|it| it.rsplit("</details>").next().unwrap());
    outside.collect()
}
