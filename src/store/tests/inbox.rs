//! Deliveries: once, in order in their lane, and never lost.

use super::*;
use crate::core::effect::Effect;
use crate::core::ids::{Branch, Sha};
use crate::store::db::Db;
use crate::store::{Change, Finished, Handled, InboxCounts};

fn tip() -> Change {
    Change::Tip {
        repo: repo(),
        branch: Branch::try_from("main").unwrap(),
        tip: Sha::try_from("a".repeat(40)).unwrap(),
    }
}

fn reply(key: &str) -> Effect {
    Effect::Reply {
        pull: pull(1),
        key: key.to_owned(),
        text: "a reply".to_owned(),
    }
}

#[tokio::test]
async fn a_delivery_filed_twice_at_once_is_one() {
    on_each(async |store| {
        let event = pushed(1);
        let filed = futures::future::join_all((0..8).map(|_| file(&store, "a", &event))).await;
        let new = filed.iter().filter(|it| **it == Filed::New).count();
        assert_eq!(
            (new, claim_all(&store, at(0)).await),
            (1, vec!["a".to_owned()])
        );
    })
    .await;
}

#[tokio::test]
async fn each_of_many_filed_at_once_is_told_what_became_of_its_own() {
    on_each(async |store| {
        file(&store, "5", &pushed(5)).await;
        let ids: Vec<String> = (0..200).map(|it| it.to_string()).collect();
        let event = pushed(1);
        let filed = ids.iter().map(|id| file(&store, id, &event));
        let filed = futures::future::join_all(filed).await;
        let known: Vec<&String> = ids
            .iter()
            .zip(filed)
            .filter(|(_, it)| *it == Filed::Known)
            .map(|(id, _)| id)
            .collect();
        assert_eq!(known, ["5"]);
        assert_eq!(store.inbox.counts().await.unwrap().queued, 200);
    })
    .await;
}

#[tokio::test]
async fn a_claim_walks_over_what_waits_and_not_over_what_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("tidegate.db").display());
    let store = Store::open(&url).await.unwrap();
    let Db::Sqlite { read, .. } = &store.db else {
        panic!("{url} is another database");
    };
    for (claim, index) in [
        (
            crate::store::inbox::CLAIM,
            "it USING INDEX deliveries_in_order",
        ),
        (
            crate::store::outbox::CLAIM,
            "it USING INDEX effects_in_order",
        ),
    ] {
        let plan = format!("EXPLAIN QUERY PLAN {claim}");
        let plan = sqlx::query_as(AssertSqlSafe(plan))
            .bind("worker")
            .bind(1)
            .bind(1);
        let steps: Vec<(i64, i64, i64, String)> = plan.fetch_all(read).await.unwrap();
        assert!(steps.iter().any(|it| it.3.contains(index)), "{steps:?}");
    }
}

#[tokio::test]
async fn a_comment_under_a_new_delivery_id_is_known() {
    on_each(async |store| {
        assert_eq!(file(&store, "a", &commented(5)).await, Filed::New);
        assert_eq!(file(&store, "b", &commented(5)).await, Filed::Known);
        assert_eq!(file(&store, "c", &commented(6)).await, Filed::New);
    })
    .await;
}

#[tokio::test]
async fn a_delivery_that_is_done_is_still_known() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        let claimed = claim(&store, at(0)).await.unwrap();
        store
            .inbox
            .finish(&claimed, &Handled::default(), at(1))
            .await
            .unwrap();
        assert_eq!(file(&store, "a", &pushed(1)).await, Filed::Known);
        assert!(claim(&store, at(99)).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn the_same_id_of_another_forge_or_of_our_own_is_another_delivery() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        let mut elsewhere = delivery("a");
        elsewhere.forge = ForgeHost::try_from("git.acme.example").unwrap();
        let own = store.inbox.file_own(&elsewhere.id, &pushed(1), at(0)).await;
        let elsewhere = store.inbox.file(&elsewhere, &pushed(1), at(0)).await;
        assert_eq!((own.unwrap(), elsewhere.unwrap()), (Filed::New, Filed::New));
    })
    .await;
}

#[tokio::test]
async fn lanes_are_handled_side_by_side_and_each_in_order() {
    on_each(async |store| {
        for (id, lane) in [("a", 1), ("b", 1), ("c", 2), ("d", 2)] {
            file(&store, id, &pushed(lane)).await;
        }
        let first = claim(&store, at(0)).await.unwrap();
        assert_eq!(first.id.as_str(), "a");
        assert_eq!(claim_all(&store, at(0)).await, ["c"]);
        let finished = store.inbox.finish(&first, &Handled::default(), at(1)).await;
        assert_eq!(finished.unwrap(), Finished::Stored);
        assert_eq!(claim_all(&store, at(1)).await, ["b"]);
    })
    .await;
}

#[tokio::test]
async fn workers_that_claim_at_once_never_get_the_same_delivery() {
    on_each(async |store| {
        for number in 0..40 {
            file(&store, &format!("d{number:02}"), &pushed(number % 20)).await;
        }
        let hand = async || claim_all(&store, at(0)).await;
        let hands = futures::future::join_all((0..8).map(|_| hand())).await;
        let mut claimed: Vec<String> = hands.into_iter().flatten().collect();
        claimed.sort();
        let first_of_each: Vec<String> = (0..20).map(|it| format!("d{it:02}")).collect();
        assert_eq!(claimed, first_of_each);
    })
    .await;
}

#[tokio::test]
async fn a_lane_waits_until_the_effects_of_its_last_delivery_are_performed() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        file(&store, "b", &pushed(1)).await;
        let claimed = claim(&store, at(0)).await.unwrap();
        let handled = Handled {
            changes: Vec::new(),
            effects: vec![reply("one")],
        };
        store.inbox.finish(&claimed, &handled, at(0)).await.unwrap();
        assert!(claim(&store, at(1)).await.is_none());
        let effect = store.outbox.claim("worker", at(1), LEASE).await.unwrap();
        store.outbox.done(&effect.unwrap(), at(1)).await.unwrap();
        assert_eq!(claim_all(&store, at(1)).await, ["b"]);
    })
    .await;
}

#[tokio::test]
async fn an_expired_lease_is_claimed_again_and_its_first_worker_stores_nothing() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        let slow = claim(&store, at(0)).await.unwrap();
        assert!(claim(&store, at(29)).await.is_none());
        let again = claim(&store, at(30)).await.unwrap();
        assert_eq!((slow.attempt, again.attempt), (1, 2));
        let handled = Handled {
            changes: vec![tip()],
            effects: vec![reply("one")],
        };
        let finished = store.inbox.finish(&slow, &handled, at(31)).await.unwrap();
        assert_eq!(finished, Finished::LeaseLost);
        assert_eq!(store.outbox.counts().await.unwrap().waiting, 0);
        let finished = store.inbox.finish(&again, &handled, at(31)).await.unwrap();
        assert_eq!(finished, Finished::Stored);
    })
    .await;
}

#[tokio::test]
async fn a_renewed_lease_is_kept_and_a_lost_one_cannot_be_renewed() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        let claimed = claim(&store, at(0)).await.unwrap();
        assert!(store.inbox.renew(&claimed, at(20), LEASE).await.unwrap());
        assert!(claim(&store, at(40)).await.is_none());
        claim(&store, at(60)).await.unwrap();
        assert!(!store.inbox.renew(&claimed, at(61), LEASE).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_failed_delivery_is_handled_again_later_and_its_lane_waits_for_it() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        file(&store, "b", &pushed(1)).await;
        let claimed = claim(&store, at(0)).await.unwrap();
        store
            .inbox
            .fail(&claimed, "no answer", at(60))
            .await
            .unwrap();
        assert!(claim(&store, at(59)).await.is_none());
        let again = claim(&store, at(60)).await.unwrap();
        assert_eq!((again.id.as_str(), again.attempt), ("a", 2));
    })
    .await;
}

#[tokio::test]
async fn a_delivery_that_is_given_up_stays_visible_and_frees_its_lane() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        file(&store, "b", &pushed(1)).await;
        let claimed = claim(&store, at(0)).await.unwrap();
        store
            .inbox
            .give_up(&claimed, "no answer", &[], at(1))
            .await
            .unwrap();
        let dead = store.inbox.dead(10).await.unwrap();
        let [dead] = dead.as_slice() else {
            panic!("{dead:?}");
        };
        assert_eq!((dead.id.as_str(), dead.error.as_str()), ("a", "no answer"));
        assert_eq!(
            store.inbox.counts().await.unwrap(),
            InboxCounts { queued: 1, dead: 1 }
        );
        assert_eq!(claim_all(&store, at(1)).await, ["b"]);
    })
    .await;
}

#[tokio::test]
async fn a_delivery_that_cannot_be_read_is_given_up_and_the_next_one_claimed() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        const SQL: &str = "UPDATE deliveries SET event = '{\"from-tomorrow\":{}}'";
        on!(write &store.db, run => sqlx::query(SQL).execute(run).await.map(drop)).unwrap();
        file(&store, "b", &pushed(1)).await;
        assert_eq!(claim_all(&store, at(1)).await, ["b"]);
        assert_eq!(store.inbox.counts().await.unwrap().dead, 1);
    })
    .await;
}

#[tokio::test]
async fn what_a_handler_decided_is_stored_whole_or_not_at_all() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        let claimed = claim(&store, at(0)).await.unwrap();
        let moved = Change::Rollout {
            rollout: Box::new(memory::rollout("r1")),
            version: 3,
        };
        let handled = Handled {
            changes: vec![tip(), moved],
            effects: vec![reply("one")],
        };
        let finished = store.inbox.finish(&claimed, &handled, at(1)).await.unwrap();
        assert_eq!(finished, Finished::Moved);
        let branch = Branch::try_from("main").unwrap();
        assert_eq!(store.tip(&repo(), &branch).await.unwrap(), None);
        assert_eq!(store.outbox.counts().await.unwrap().waiting, 0);
        store.inbox.fail(&claimed, "moved", at(1)).await.unwrap();
        assert_eq!(claim_all(&store, at(1)).await, ["a"]);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_starts_again_frees_what_it_held_and_nothing_of_another() {
    on_each(async |store| {
        for (id, lane, worker) in [("ours", 1, "a-0"), ("theirs", 2, "b-0")] {
            file(&store, id, &pushed(lane)).await;
            store.inbox.claim(worker, at(0), LEASE).await.unwrap();
        }
        store.free_left_over("a").await.unwrap();
        assert_eq!(claim_all(&store, at(1)).await, ["ours"]);
    })
    .await;
}

#[tokio::test]
async fn what_is_long_done_is_forgotten_and_what_is_not_done_stays() {
    on_each(async |store| {
        for (id, lane, effects) in [("done", 1, 0), ("waiting", 2, 1)] {
            file(&store, id, &pushed(lane)).await;
            let claimed = claim(&store, at(0)).await.unwrap();
            let handled = Handled {
                changes: Vec::new(),
                effects: (0..effects).map(|it| reply(&it.to_string())).collect(),
            };
            store.inbox.finish(&claimed, &handled, at(1)).await.unwrap();
        }
        file(&store, "queued", &pushed(3)).await;
        assert_eq!(store.prune(at(1)).await.unwrap(), 0);
        assert_eq!(store.prune(at(2)).await.unwrap(), 1);
        assert_eq!(file(&store, "done", &pushed(1)).await, Filed::New);
        assert_eq!(file(&store, "waiting", &pushed(2)).await, Filed::Known);
        assert_eq!(file(&store, "queued", &pushed(3)).await, Filed::Known);

        let effect = store.outbox.claim("worker", at(3), LEASE).await.unwrap();
        store.outbox.done(&effect.unwrap(), at(3)).await.unwrap();
        assert_eq!(store.prune(at(4)).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_error_with_a_nul_is_kept() {
    on_each(async |store| {
        file(&store, "a", &pushed(1)).await;
        let claimed = claim(&store, at(0)).await.unwrap();
        let said = "said: \0";
        store.inbox.fail(&claimed, said, at(1)).await.unwrap();
        let claimed = claim(&store, at(2)).await.unwrap();
        store
            .inbox
            .give_up(&claimed, said, &[], at(2))
            .await
            .unwrap();
        assert_eq!(
            store.inbox.dead(1).await.unwrap()[0].error,
            "said: \u{fffd}"
        );
    })
    .await;
}
