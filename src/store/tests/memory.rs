//! Pull requests, rollouts, tips and repositories.

use super::*;
use crate::core::effect::{Ask, ShownAsk};
use crate::core::ids::{Attempt, Branch, Digest, Gate, Op, RolloutId, Sha, WaveNumber};
use crate::core::rollout::pull::{Planning, PullDetails, PullMemory, PullState};
use crate::core::rollout::{Rollout, Source, Wave, WaveState};
use crate::store::{Change, Handled};

fn main() -> Branch {
    Branch::try_from("main").unwrap()
}

fn sha(digit: &str) -> Sha {
    Sha::try_from(digit.repeat(40)).unwrap()
}

/// A rollout of a push to main that brings pull request 1, with one wave to go.
pub(super) fn rollout(id: &str) -> Rollout {
    Rollout {
        id: RolloutId::try_from(id).unwrap(),
        repo: repo(),
        op: Op::tf_apply(),
        source: Source::Push {
            branch: main(),
            before: sha("a"),
            after: sha("b"),
        },
        commit: sha("b"),
        base: sha("a"),
        authors: vec![ada()],
        pulls: vec![PullNumber(1)],
        waves: vec![Wave {
            number: WaveNumber(1),
            members: Vec::new(),
            state: WaveState::NotStarted,
            attempt: Attempt(0),
            plans: Vec::new(),
            asked_plans: Vec::new(),
            unplanned: Vec::new(),
            applied: Vec::new(),
            spent: None,
            moved_at: at(0),
        }],
        taken_over: Vec::new(),
        parallelism: 4,
        started: at(0),
    }
}

fn remembered(number: u64, title: &str) -> PullMemory {
    PullMemory {
        pull: pull(number),
        details: PullDetails {
            pull: pull(number),
            title: title.to_owned(),
            url: "https://github.com/acme/infra/pull/1".to_owned(),
            author: ada(),
            head: sha("c"),
            head_repo: Some(RepoId(7)),
            target: main(),
            is_draft: false,
            state: PullState::Open,
        },
        planning: Planning::Running { head: sha("c") },
        pushers: Vec::new(),
        base: None,
        kept: None,
        attempt: Attempt(1),
    }
}

fn ask(gate: &str, digit: &str) -> Ask {
    Ask {
        gate: Gate::try_from(gate).unwrap(),
        digest: Digest::try_from(format!("sha256:{}", digit.repeat(64))).unwrap(),
    }
}

/// Remembers changes as a handler does: by finishing a delivery.
async fn remember(store: &Store, id: &str, changes: Vec<Change>) {
    file(store, id, &pushed(9)).await;
    let claimed = claim(store, at(0)).await.unwrap();
    let handled = Handled {
        changes,
        effects: Vec::new(),
    };
    store.inbox.finish(&claimed, &handled, at(0)).await.unwrap();
}

async fn ids(rollouts: sqlx::Result<Vec<(Rollout, i64)>>) -> Vec<String> {
    let rollouts = rollouts.unwrap();
    rollouts.iter().map(|(it, _)| it.id.to_string()).collect()
}

#[tokio::test]
async fn a_pull_request_is_remembered_as_it_was_last_saved() {
    on_each(async |store| {
        for title in ["first", "second"] {
            let memory = Box::new(remembered(1, title));
            remember(&store, title, vec![Change::Pull(memory)]).await;
        }
        let memory = store.pull(&pull(1)).await.unwrap();
        assert_eq!(memory, Some(remembered(1, "second")));
        assert_eq!(store.pull(&pull(2)).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn pull_requests_of_a_repository_come_newest_first() {
    on_each(async |store| {
        let changes = [1, 3, 2].map(|it| Change::Pull(Box::new(remembered(it, "it"))));
        remember(&store, "a", changes.into()).await;
        let pulls = store.pulls_of(&repo()).await.unwrap();
        let numbers: Vec<u64> = pulls.iter().map(|it| it.pull.number.0).collect();
        assert_eq!(numbers, [3, 2, 1]);
    })
    .await;
}

#[tokio::test]
async fn a_renamed_repository_keeps_all_that_is_known_of_it() {
    on_each(async |store| {
        let mut renamed = repo();
        renamed.name = RepoName::try_from("acme/estate").unwrap();
        let changes = vec![
            Change::Repo(repo()),
            Change::Pull(Box::new(remembered(1, "it"))),
            Change::Repo(renamed.clone()),
        ];
        remember(&store, "a", changes).await;
        assert_eq!(store.repos().await.unwrap(), [renamed.clone()]);
        assert_eq!(
            store.repo_name(&repo()).await.unwrap(),
            Some(renamed.name.clone())
        );
        let under_new_name = Pull {
            repo: renamed,
            number: PullNumber(1),
        };
        assert!(store.pull(&under_new_name).await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn a_branch_has_one_tip() {
    on_each(async |store| {
        for tip in [sha("a"), sha("b")] {
            let change = Change::Tip {
                repo: repo(),
                branch: main(),
                tip: tip.clone(),
            };
            remember(&store, tip.short(), vec![change]).await;
        }
        assert_eq!(store.tip(&repo(), &main()).await.unwrap(), Some(sha("b")));
    })
    .await;
}

#[tokio::test]
async fn a_tip_moves_only_from_where_it_was_read() {
    on_each(async |store| {
        let (repo, main) = (repo(), main());
        let move_tip = async |from: Option<&str>, to: &str| {
            let (from, to) = (from.map(sha), sha(to));
            let moved = store.move_tip((&repo, &main), from.as_ref(), &to).await;
            moved.unwrap()
        };
        assert!(!move_tip(Some("a"), "b").await);
        assert!(move_tip(None, "a").await);
        assert!(!move_tip(None, "b").await);
        assert!(!move_tip(Some("b"), "c").await);
        assert!(move_tip(Some("a"), "b").await);
        assert_eq!(store.tip(&repo, &main).await.unwrap(), Some(sha("b")));
    })
    .await;
}

#[tokio::test]
async fn an_ask_is_kept_whenever_its_gate_shows_another_digest() {
    on_each(async |store| {
        let shown = [
            (ask("wave-1", "a"), 1),
            (ask("wave-1", "a"), 2),
            (ask("wave-2", "a"), 3),
            (ask("wave-1", "b"), 4),
            (ask("wave-1", "a"), 5),
        ];
        for (ask, second) in &shown {
            store
                .note_shown(&pull(1), std::slice::from_ref(ask), at(*second))
                .await
                .unwrap();
        }
        let kept = [0, 2, 3, 4].map(|it: usize| ShownAsk {
            ask: shown[it].0.clone(),
            shown_at: at(shown[it].1),
        });
        assert_eq!(store.asks(&pull(1)).await.unwrap(), kept);
        assert_eq!(store.asks(&pull(2)).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_rollout_is_saved_only_at_the_version_it_was_read_at() {
    on_each(async |store| {
        let id = rollout("r1").id;
        assert!(store.save_rollout(&rollout("r1"), 0).await.unwrap());
        assert!(!store.save_rollout(&rollout("r1"), 0).await.unwrap());
        let (mut read, version) = store.rollout(&id).await.unwrap().unwrap();
        read.waves[0].state = WaveState::Planning;
        assert!(store.save_rollout(&read, version).await.unwrap());
        assert!(!store.save_rollout(&rollout("r1"), version).await.unwrap());
        assert_eq!(store.rollout(&id).await.unwrap(), Some((read, version + 1)));
    })
    .await;
}

#[tokio::test]
async fn a_branch_has_its_unfinished_rollouts_oldest_first() {
    on_each(async |store| {
        for id in ["r1", "r2", "r3"] {
            store.save_rollout(&rollout(id), 0).await.unwrap();
        }
        let mut done = rollout("r2");
        done.waves[0].state = WaveState::Nothing;
        store.save_rollout(&done, 1).await.unwrap();
        assert_eq!(
            ids(store.open_rollouts(&repo(), &main()).await).await,
            ["r1", "r3"]
        );
        let other = Branch::try_from("release").unwrap();
        assert!(
            store
                .open_rollouts(&repo(), &other)
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(ids(store.recent_rollouts(2).await).await, ["r3", "r2"]);
    })
    .await;
}

#[tokio::test]
async fn a_pull_request_has_the_rollouts_that_bring_it_and_those_it_is() {
    on_each(async |store| {
        let mut own = rollout("r2");
        own.pulls = Vec::new();
        own.source = Source::Pull {
            pull: pull(1),
            head: sha("c"),
        };
        let mut other = rollout("r3");
        other.pulls = vec![PullNumber(2)];
        for it in [rollout("r1"), own, other] {
            store.save_rollout(&it, 0).await.unwrap();
        }
        assert_eq!(
            ids(store.rollouts_of_pull(&pull(1)).await).await,
            ["r1", "r2"]
        );
    })
    .await;
}
