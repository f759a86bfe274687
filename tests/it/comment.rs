//! What is a command, and what the server answers when it does not do as it is told.

use crate::world::claims::NOTHING;
use crate::world::estate::{replaces, writes};
use crate::world::{GRACE, World, rules};

#[tokio::test]
async fn what_was_edited_in_quoted_or_fenced_is_no_command() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    for text in [
        "> /approve wave-1",
        "```\n/approve wave-1\n```",
        "    /approve wave-1",
        "<!--\n/approve wave-1\n-->",
        "Somebody should say /approve wave-1",
    ] {
        world.comment(&pull, GRACE, text).await;
    }
    let comment = world.comment(&pull, GRACE, "Looks right.").await;
    world.edit(comment, GRACE, "/approve wave-1").await;
    world.delete(comment, GRACE).await;
    assert_eq!(world.replies(&pull).await.len(), 0);
    assert_eq!(world.ledger_lines().await, ["pending wave-1"]);
    assert_eq!(world.applied(), NOTHING);
    world.end().await;
}

#[tokio::test]
async fn a_command_that_cannot_be_done_is_answered_with_the_reason() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    for (said, answers) in [
        (
            "/approve wave-7",
            ["`/approve wave-7`", "These wait for an approval: `wave-1`"],
        ),
        ("/aprove wave-1", ["not a command", "`/approve`"]),
        ("/lock the freeze", ["`/lock", "not in this version"]),
        (
            "/plan attic",
            ["`attic` is not a root", "`network`, `storage`"],
        ),
        (
            "/apply wave-9",
            ["does not reach wave-9", "It reaches wave-1"],
        ),
        (
            "/help",
            ["`/approve [wave-<n>", "nobody approves their own change"],
        ),
    ] {
        world.comment(&pull, GRACE, said).await;
        let reply = world.last_reply(&pull).await;
        for answer in answers {
            assert!(reply.contains(answer), "{said}: {reply}");
        }
    }
    assert_eq!(world.replies(&pull).await.len(), 6);
    assert_eq!(world.ledger_lines().await, ["pending wave-1"]);
    assert_eq!(world.applied(), NOTHING);
    world.end().await;
}

#[tokio::test]
async fn a_comment_is_answered_by_rules_that_no_push_has_brought_here() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("replace the network", replaces("network")).await;
    world.kill_the_server().await;
    let loosened = writes("tidegate.yml", &rules("never"));
    world.push_without_waiting("main", &loosened).await;
    world.lose_what_is_delivered().await;
    world.start_the_server().await;
    world.comment(&pull, GRACE, "/help").await;
    let reply = world.last_reply(&pull).await;
    assert!(reply.contains("No wave waits"), "{reply}");
    world.end().await;
}
