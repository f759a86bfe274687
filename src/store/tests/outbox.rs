//! Effects: in their order, one of a lane at a time, and never in the way for ever.

use super::*;
use crate::core::effect::Effect;
use crate::store::{ClaimedEffect, Handled, OutboxCounts};

fn reply(key: &str) -> Effect {
    Effect::Reply {
        pull: pull(1),
        key: key.to_owned(),
        text: "a reply".to_owned(),
    }
}

/// Finishes a delivery of pull request `lane` with replies under these keys.
async fn decide(store: &Store, lane: u64, keys: &[&str]) {
    file(store, &format!("lane{lane}"), &pushed(lane)).await;
    let claimed = claim(store, at(0)).await.unwrap();
    let handled = Handled {
        changes: Vec::new(),
        effects: keys.iter().map(|it| reply(it)).collect(),
    };
    store.inbox.finish(&claimed, &handled, at(0)).await.unwrap();
}

async fn next(store: &Store, now: Timestamp) -> Option<ClaimedEffect> {
    store.outbox.claim("worker", now, LEASE).await.unwrap()
}

fn key_of(claimed: &ClaimedEffect) -> &str {
    match &claimed.effect {
        Effect::Reply { key, .. } => key,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn effects_of_a_lane_are_performed_one_by_one_and_lanes_side_by_side() {
    on_each(async |store| {
        decide(&store, 1, &["a", "b"]).await;
        decide(&store, 2, &["c"]).await;
        let (first, other) = (
            next(&store, at(1)).await.unwrap(),
            next(&store, at(1)).await.unwrap(),
        );
        assert_eq!((key_of(&first), key_of(&other)), ("a", "c"));
        assert!(next(&store, at(1)).await.is_none());
        store.outbox.done(&first, at(2)).await.unwrap();
        assert_eq!(key_of(&next(&store, at(2)).await.unwrap()), "b");
    })
    .await;
}

#[tokio::test]
async fn a_failed_effect_is_tried_again_later_before_those_after_it() {
    on_each(async |store| {
        decide(&store, 1, &["a", "b"]).await;
        let first = next(&store, at(1)).await.unwrap();
        store
            .outbox
            .retry(&first, at(60), "no answer")
            .await
            .unwrap();
        assert!(next(&store, at(59)).await.is_none());
        let again = next(&store, at(60)).await.unwrap();
        assert_eq!((key_of(&again), again.attempt), ("a", 2));
    })
    .await;
}

#[tokio::test]
async fn a_postponed_effect_has_used_up_no_try() {
    on_each(async |store| {
        decide(&store, 1, &["a"]).await;
        let first = next(&store, at(1)).await.unwrap();
        store
            .outbox
            .postpone(&first, at(60), "limited")
            .await
            .unwrap();
        assert!(next(&store, at(59)).await.is_none());
        assert_eq!(next(&store, at(60)).await.unwrap().attempt, 1);
    })
    .await;
}

#[tokio::test]
async fn an_effect_that_is_given_up_frees_its_lane() {
    on_each(async |store| {
        decide(&store, 1, &["a", "b"]).await;
        let first = next(&store, at(1)).await.unwrap();
        store
            .outbox
            .give_up(&first, "forbidden", at(2))
            .await
            .unwrap();
        assert_eq!(key_of(&next(&store, at(2)).await.unwrap()), "b");
        let counts = OutboxCounts {
            waiting: 1,
            given_up: 1,
        };
        assert_eq!(store.outbox.counts().await.unwrap(), counts);
    })
    .await;
}

#[tokio::test]
async fn an_effect_whose_worker_died_is_claimed_again_when_its_lease_ends() {
    on_each(async |store| {
        decide(&store, 1, &["a"]).await;
        let first = next(&store, at(0)).await.unwrap();
        assert!(next(&store, at(29)).await.is_none());
        let again = next(&store, at(30)).await.unwrap();
        assert_eq!((again.key, again.attempt), (first.key, 2));
    })
    .await;
}

#[tokio::test]
async fn an_effect_that_cannot_be_read_is_given_up_and_the_next_one_claimed() {
    on_each(async |store| {
        decide(&store, 1, &["a", "b"]).await;
        const SQL: &str = "UPDATE effects SET effect = '\"from-tomorrow\"' WHERE ordinal = 0";
        on!(write &store.db, run => sqlx::query(SQL).execute(run).await.map(drop)).unwrap();
        assert_eq!(key_of(&next(&store, at(1)).await.unwrap()), "b");
    })
    .await;
}

#[tokio::test]
async fn workers_that_claim_at_once_never_get_the_same_effect() {
    on_each(async |store| {
        for lane in 0..10 {
            decide(&store, lane, &["first", "second"]).await;
        }
        let hand = async || {
            let mut lanes = Vec::new();
            while let Some(claimed) = next(&store, at(1)).await {
                assert_eq!(key_of(&claimed), "first");
                lanes.push(claimed.lane);
            }
            lanes
        };
        let hands = futures::future::join_all((0..8).map(|_| hand())).await;
        let mut lanes: Vec<_> = hands.into_iter().flatten().collect();
        lanes.sort();
        lanes.dedup();
        assert_eq!(lanes.len(), 10);
    })
    .await;
}
