//! The ledger under attack: whoever can push to it can rewrite it, and then no approval counts until it is accepted.

use serde_json::Value;

use crate::cli::Ran;
use crate::world::claims::NOTHING;
use crate::world::estate::replaces;
use crate::world::{ADA, GRACE, World};

const GATES: &str = "_gates/tf-apply.jsonl";
const USES: &str = "_gates/tf-apply/applied.jsonl";

/// What a wave says first that waits for a rewritten ledger.
const REWRITTEN: &str =
    "The ledger was rewritten, and no approval counts until an administrator accepts it.";

/// An approval of what a pending fact asks for, as somebody writes it by hand.
fn approval_of(pending: &Value) -> String {
    let digest = pending["planDigest"].as_str().unwrap();
    format!(
        r#"{{"gate":"wave-1","op":"tf-apply","planDigest":"{digest}","resolvedBy":"github:grace","timestamp":"2026-12-01T00:00:00.000Z","version":1}}"#
    ) + "\n"
}

#[tokio::test]
async fn an_approval_pushed_with_git_lets_the_wave_go() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    world
        .merged("replace the network", replaces("network"))
        .await;
    let pending = world.ledger().await.remove(0);
    world
        .push_to_ledger(GATES, |it| it + &approval_of(&pending))
        .await;
    assert_eq!(world.applied(), ["network"]);
    assert_eq!(world.uses().await, ["applied", "finished"]);
    world.end().await;
}

#[tokio::test]
async fn a_use_taken_off_the_ledger_wakes_no_approval_before_somebody_accepts_that() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let first = world
        .merged("replace the network", replaces("network"))
        .await;
    world.comment(&first, GRACE, "/approve wave-1").await;
    world.push_to_ledger(USES, |_| String::new()).await;
    let second = world
        .merged("replace the storage", replaces("storage"))
        .await;
    assert_eq!(world.applied(), ["network"]);
    let note = world.note(&second).await;
    let head = world.main().await;
    let status = world.status(&head, "tidegate/apply").await;
    let page = world.page_of_the_newest_rollout().await;
    for said in [&note, &page] {
        for wanted in [REWRITTEN, "line 1 of", USES, "tidegate ledger accept"] {
            assert!(said.contains(wanted), "no {wanted} in {said}");
        }
    }
    assert!(status.contains("The ledger was rewritten"), "{status}");

    for (arguments, missing) in [(&["--yes"][..], "--by"), (&["--by", "grace"], "--yes")] {
        let refused = world.accept_the_ledger(arguments).await;
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(missing), "{}", refused.stderr);
    }
    let accepted: Ran = world
        .accept_the_ledger(&["--yes", "--by", "grace", "--json"])
        .await;
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    let said = accepted.json();
    assert_eq!(
        (&said["accepted"], &said["by"], &said["lines"][0]["path"]),
        (&true.into(), &"grace".into(), &USES.into())
    );
    world.settle().await;
    assert_eq!(world.applied(), ["network"]);
    world.comment(&second, GRACE, "/approve wave-1").await;
    assert_eq!(world.applied(), ["network", "storage"]);
    let nothing = world.accept_the_ledger(&[]).await;
    assert_eq!(nothing.code, Some(0), "{}", nothing.stderr);
    assert!(
        nothing.stdout.contains("nothing to accept"),
        "{}",
        nothing.stdout
    );
    world.end().await;
}

#[tokio::test]
async fn a_wave_that_waits_says_that_the_ledger_was_rewritten_and_goes_on_once_it_is_put_back() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    let before = world.ledger_tip().await;
    let altered = |it: String| it.replace("\"wave-1\"", "\"wave-2\"");
    world.push_to_ledger(GATES, altered).await;
    assert!(world.note(&pull).await.contains(REWRITTEN));
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert!(world.last_reply(&pull).await.contains("/approve"));
    assert_eq!(world.applied(), NOTHING);
    world.force_ledger(&before).await;
    assert!(!world.note(&pull).await.contains(REWRITTEN));
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn an_approval_may_be_taken_back_before_its_use() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("replace the network", replaces("network")).await;
    world.comment(&pull, GRACE, "/approve wave-1").await;
    world.push_to_ledger(GATES, |_| String::new()).await;
    world.merge(&pull).await;
    assert_eq!(world.applied(), NOTHING);
    assert!(!world.note(&pull).await.contains(REWRITTEN));
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn a_malformed_line_voids_what_stands_before_it_and_is_told_with_file_and_line() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("replace the network", replaces("network")).await;
    world.comment(&pull, GRACE, "/approve wave-1").await;
    world.push_to_ledger(GATES, |it| it + "{\"kind\":\n").await;
    let head = world.merge(&pull).await;
    assert_eq!(world.applied(), NOTHING);
    let told = "cannot be read: it is not JSON";
    let note = world.note(&pull).await;
    assert!(note.contains("Line 2 of") && note.contains(told), "{note}");
    let status = world.status(&head, "tidegate/apply").await;
    assert!(
        status.contains(&format!("Line 2 of `{GATES}` {told}")),
        "{status}"
    );
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn a_ledger_that_is_gone_is_a_rewrite() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let first = world
        .merged("replace the network", replaces("network"))
        .await;
    world.comment(&first, GRACE, "/approve wave-1").await;
    world.delete_ledger().await;
    let second = world
        .merged("replace the storage", replaces("storage"))
        .await;
    let note = world.note(&second).await;
    assert!(
        note.contains(REWRITTEN) && note.contains("The branch is gone"),
        "{note}"
    );
    let accepted = world.accept_the_ledger(&["--yes", "--by", ADA]).await;
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    world.settle().await;
    assert_eq!(world.ledger_lines().await, ["pending wave-1"]);
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}
