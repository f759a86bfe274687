//! A server that is told to stop: it leaves in order, loses nothing, and its jobs find the next one.

use crate::world::estate::{replaces, updates};
use crate::world::{GRACE, World};

#[tokio::test]
async fn a_stopped_servers_job_goes_on_and_finds_the_next_server() {
    let Some(mut world) = World::on_github().with_gate("never").await else {
        return;
    };
    let pull = world.open("size the network", updates("network")).await;
    world.hold("network").await;
    let commit = world.merge_without_waiting(&pull).await;
    world.until_a_job_beats().await;
    world.stop_the_server().await;
    assert_eq!(world.living(), 1);
    world.release("network").await;
    world.start_the_server().await;
    world.settle().await;
    assert_eq!(world.applied(), ["network"]);
    let status = world.status(&commit, "tidegate/apply").await;
    assert!(status.starts_with("success"), "{status}");
    world.end().await;
}

#[tokio::test]
async fn what_was_delivered_before_a_stop_is_done_after_it() {
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
    world.until_all_is_delivered().await;
    world.stop_the_server().await;
    world.start_the_server().await;
    world.settle().await;
    assert_eq!(world.applied(), ["network"]);
    let lines = world.ledger_lines().await;
    assert_eq!(lines, ["pending wave-1", "resolution wave-1"]);
    world.end().await;
}
