//! Looks at repositories: who is due, what was seen, and what comes next.

use super::*;
use crate::core::ids::{Branch, Sha};
use crate::core::lost::{Seen, Tips};
use crate::store::{Change, Handled};

/// A store that knows these repositories.
async fn knowing(store: &Store, repos: &[Repo]) {
    file(store, "installed", &pushed(1)).await;
    let claimed = claim(store, at(0)).await.unwrap();
    let handled = Handled {
        changes: repos.iter().cloned().map(Change::Repo).collect(),
        effects: Vec::new(),
    };
    store.inbox.finish(&claimed, &handled, at(0)).await.unwrap();
}

fn seen() -> Seen {
    let tip = Sha::try_from("a".repeat(40)).unwrap();
    Seen {
        until: at(-60),
        tips: Tips::from([(Branch::try_from("main").unwrap(), tip)]),
    }
}

/// The repository that is looked at now, if one is due.
async fn due(store: &Store, seconds: i64) -> Option<(Repo, Seen, u32)> {
    let forge = repo().forge;
    let due = store.looks.claim(&forge, at(seconds), LEASE).await.unwrap();
    due.map(|it| (it.repo, it.seen, it.failures))
}

#[tokio::test]
async fn a_repository_is_due_from_when_it_is_known_and_after_each_look() {
    on_each(async |store| {
        assert_eq!(due(&store, 0).await, None);
        knowing(&store, &[repo()]).await;
        let first = Seen::nothing(at(0));
        for _ in 0..2 {
            store.looks.enrol(&first, at(10)).await.unwrap();
        }
        assert_eq!(due(&store, 9).await, None);
        assert_eq!(due(&store, 10).await, Some((repo(), first, 0)));
        let (repo, seen) = (repo(), seen());
        let looked = store.looks.looked((&repo, &seen), at(11), at(20));
        looked.await.unwrap();
        assert_eq!(due(&store, 19).await, None);
        assert_eq!(due(&store, 20).await, Some((repo, seen, 0)));
        assert_eq!(store.looks.oldest(at(31)).await.unwrap(), 20);
    })
    .await;
}

#[tokio::test]
async fn two_servers_do_not_look_at_one_repository_at_a_time() {
    on_each(async |store| {
        let other = Repo {
            id: RepoId(8),
            name: RepoName::try_from("acme/net").unwrap(),
            ..repo()
        };
        knowing(&store, &[repo(), other]).await;
        let looks = &store.looks;
        looks.enrol(&Seen::nothing(at(0)), at(0)).await.unwrap();
        let mut ids = vec![];
        while let Some((repo, ..)) = due(&store, 1).await {
            ids.push(repo.id.0);
        }
        ids.sort_unstable();
        assert_eq!(ids, [7, 8]);
        // Who looked was killed: its lease ends, or it is started again.
        assert!(due(&store, 31).await.is_some());
        looks.all_due(at(2)).await.unwrap();
        assert!(due(&store, 2).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn a_look_that_failed_is_put_off_and_loses_nothing_that_was_seen() {
    on_each(async |store| {
        knowing(&store, &[repo()]).await;
        let looks = &store.looks;
        looks.enrol(&seen(), at(0)).await.unwrap();
        assert!(due(&store, 0).await.is_some());
        looks.failed(&repo(), at(15)).await.unwrap();
        assert_eq!(due(&store, 14).await, None);
        assert_eq!(due(&store, 15).await, Some((repo(), seen(), 1)));
        looks.failed(&repo(), at(30)).await.unwrap();
        looks.postpone(&repo().forge, at(90)).await.unwrap();
        assert_eq!(due(&store, 89).await, None);
        assert_eq!(due(&store, 90).await, Some((repo(), seen(), 2)));
    })
    .await;
}

#[tokio::test]
async fn what_is_filed_is_known_by_its_id_and_a_comment_by_itself() {
    on_each(async |store| {
        let id = |text: &str| DeliveryId::try_from(text).unwrap();
        let has =
            async |name: &str, event: &Event| store.inbox.has(&id(name), event).await.unwrap();
        file(&store, "d-1", &commented(5)).await;
        assert!(has("lost/1", &commented(5)).await);
        assert!(!has("lost/1", &commented(6)).await);
        store
            .inbox
            .file_own(&id("lost/2"), &pushed(1), at(0))
            .await
            .unwrap();
        assert!(has("lost/2", &pushed(1)).await);
        // The same push may be heard of again: only what it was filed under tells.
        assert!(!has("lost/3", &pushed(1)).await);
    })
    .await;
}
