//! When a merged change goes out, and when it waits.

use crate::world::claims::NOTHING;
use crate::world::estate::{replaces, updates};
use crate::world::{ADA, GRACE, World};

#[tokio::test]
async fn never_applies_without_waiting() {
    let Some(mut world) = World::on_github().with_gate("never").await else {
        return;
    };
    let pull = world.open("replace the network", replaces("network")).await;
    assert_eq!(world.applied(), NOTHING);
    world.merge(&pull).await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn always_has_an_update_wait() {
    let Some(mut world) = World::on_github().with_gate("always").await else {
        return;
    };
    let pull = world.merged("size the network", updates("network")).await;
    assert_eq!(world.applied(), NOTHING);
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn on_destructive_lets_an_update_go_on_and_has_a_replacement_wait() {
    let Some(mut world) = World::on_github().with_gate("on-destructive").await else {
        return;
    };
    world.merged("size the storage", updates("storage")).await;
    assert_eq!(world.applied(), ["storage"]);
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    assert_eq!(world.applied(), ["storage"]);
    world.check_note(&pull, "waits").await;
    world.comment(&pull, ADA, "/approve wave-1").await;
    assert_eq!(world.applied(), ["storage"]);
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert_eq!(world.applied(), ["storage", "network"]);
    world.check_note(&pull, "applied").await;
    world.end().await;
}
