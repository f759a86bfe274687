//! Rollouts beside each other and after each other, and what outlives a server or a job that dies.

use crate::world::claims::NOTHING;
use crate::world::estate::{keeps_a_password, replaces, updates, updates_otherwise, writes};
use crate::world::server::PASSWORD;
use crate::world::{GRACE, World, rules};
use tidegate::core::rollout::{Rollout, WaveState};

#[tokio::test]
async fn rollouts_that_do_not_meet_go_out_side_by_side() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let waiting = world
        .merged("replace the network", replaces("network"))
        .await;
    world.merged("size the storage", updates("storage")).await;
    assert_eq!(world.applied(), ["storage"]);
    world.comment(&waiting, GRACE, "/approve").await;
    assert_eq!(world.applied(), ["storage", "network"]);
    world.end().await;
}

#[tokio::test]
async fn a_newer_push_takes_over_what_it_meets_and_keeps_the_older_rules() {
    let Some(mut world) = World::on_github().with_gate("always").await else {
        return;
    };
    let loosened = writes("tidegate.yml", &rules("never")).and(updates("network"));
    world.merged("size the network", loosened).await;
    let pull = world
        .merged("size it otherwise", updates_otherwise("network"))
        .await;
    let [_, older, newer] = world.rollouts().await.try_into().unwrap();
    assert_eq!(older.waves[0].state, WaveState::StoodDown);
    assert_eq!(newer.taken_over, [older.commit]);
    assert_eq!(newer.base, older.base);
    assert_eq!(world.applied(), NOTHING);
    world.comment(&pull, GRACE, "/approve").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn a_push_that_was_missed_goes_out_with_the_next_under_the_rules_before_it() {
    let Some(mut world) = World::on_github().with_gate("always").await else {
        return;
    };
    let [first] = world.rollouts().await.try_into().unwrap();
    world.kill_the_server().await;
    world.lists_nothing();
    let loosened = writes("tidegate.yml", &rules("never")).and(updates("network"));
    world.push_without_waiting("main", &loosened).await;
    world.lose_what_is_delivered().await;
    world.start_the_server().await;
    world.push(&updates("storage")).await;
    let [_, rollout] = world.rollouts().await.try_into().unwrap();
    assert_eq!(rollout.base, first.commit);
    assert_eq!(members(&rollout), ["network", "storage"]);
    assert_eq!(world.applied(), NOTHING);
    world.end().await;
}

#[tokio::test]
async fn a_branch_that_is_set_back_goes_out_under_the_rules_it_had_last() {
    let Some(mut world) = World::on_github().with_gate("never").await else {
        return;
    };
    let [first] = world.rollouts().await.try_into().unwrap();
    let tightened = writes("tidegate.yml", &rules("always")).and(updates("network"));
    let tip = world.push(&tightened).await;
    assert_eq!(world.applied(), ["network"]);
    world.set_back(first.commit.as_str()).await;
    let [_, _, rollout] = world.rollouts().await.try_into().unwrap();
    assert_eq!(rollout.base.as_str(), tip);
    assert_eq!(rollout.commit, first.commit);
    assert_eq!(members(&rollout), ["network"]);
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn a_wave_that_waits_outlives_its_server() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    world.kill_the_server().await;
    world.start_the_server().await;
    world.comment(&pull, GRACE, "/approve").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn a_job_goes_on_while_its_server_is_away() {
    let Some(mut world) = World::on_github().with_gate("never").await else {
        return;
    };
    let pull = world.open("size the network", updates("network")).await;
    world.hold("network").await;
    world.merge_without_waiting(&pull).await;
    world.until_a_job_beats().await;
    world.kill_the_server().await;
    world.release("network").await;
    world.start_the_server().await;
    world.settle().await;
    assert_eq!(world.applied(), ["network"]);
    assert_eq!(world.rollouts().await.len(), 2);
    world.end().await;
}

#[tokio::test]
async fn a_job_that_is_killed_is_lost_and_can_be_run_again() {
    let Some(mut world) = World::on_github().with_gate("never").await else {
        return;
    };
    let pull = world.open("size the network", updates("network")).await;
    world.hold("network").await;
    world.merge_without_waiting(&pull).await;
    world.until_a_job_beats().await;
    world.kill_the_jobs();
    world.release("network").await;
    world.settle().await;
    assert_eq!(world.applied(), NOTHING);
    let note = world.note(&pull).await;
    assert!(note.contains("lost"), "{note}");
    world.comment(&pull, GRACE, "/apply").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

/// The end of every story looks for the password in all that the server wrote.
#[tokio::test]
async fn a_sensitive_value_reaches_the_state_and_nothing_else() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .open("keep a password", keeps_a_password("network"))
        .await;
    let note = world.note(&pull).await;
    assert!(note.contains("(sensitive)"), "{note}");
    world.merge(&pull).await;
    let state = world.state("network").await.to_string();
    assert!(state.contains(PASSWORD), "{state}");
    world.end().await;
}

fn members(rollout: &Rollout) -> Vec<&str> {
    let waves = rollout.waves.iter();
    waves
        .flat_map(|it| &it.members)
        .map(|it| it.as_str())
        .collect()
}
