//! Jobs: started once a free place is there, alive while they beat, ended once.

use super::*;
use crate::core::event::Lane;
use crate::core::ids::{Attempt, Sha};
use crate::core::job::{JobEnd, JobKey, JobSpec, Report, Work};
use crate::core::outcome::Outcome;
use crate::store::{Added, Beaten, Cancelled, Ended, JobState, Standing};

fn job(part: &str, attempt: u32) -> JobSpec {
    JobSpec {
        key: JobKey {
            part: part.to_owned(),
            attempt: Attempt(attempt),
        },
        repo: repo(),
        commit: Sha::try_from("a".repeat(40)).unwrap(),
        base: Sha::try_from("b".repeat(40)).unwrap(),
        work: Work::Plan {
            pull: pull(1),
            only: Vec::new(),
        },
        parallelism: 4,
    }
}

fn report(cancelled: bool) -> JobEnd {
    JobEnd::Said(Report {
        outcome: Outcome::Done,
        cancelled,
        plans: Vec::new(),
        applied: Vec::new(),
        error: None,
        survey: None,
    })
}

fn lost() -> JobEnd {
    JobEnd::Lost {
        why: "its lease ran out".to_owned(),
    }
}

async fn add(store: &Store, spec: &JobSpec) -> Added {
    let lane = Lane::of_pull(&pull(1));
    store.jobs.add(spec, &lane, at(0)).await.unwrap()
}

/// Starts the next job when fewer than two run.
async fn start(store: &Store, now: Timestamp) -> Option<String> {
    let started = store.jobs.start_next(2, now, LEASE).await.unwrap();
    started.map(|it| it.spec.key.to_string())
}

async fn add_and_start(store: &Store, spec: &JobSpec) {
    add(store, spec).await;
    start(store, at(0)).await.unwrap();
}

#[tokio::test]
async fn a_job_is_added_once_and_never_under_an_older_attempt() {
    on_each(async |store| {
        assert_eq!(add(&store, &job("p", 2)).await, Added::New);
        assert_eq!(add(&store, &job("p", 2)).await, Added::Known);
        assert_eq!(add(&store, &job("p", 1)).await, Added::Older);
        assert_eq!(store.jobs.attempt_of("p").await.unwrap(), Attempt(2));
        assert_eq!(store.jobs.attempt_of("q").await.unwrap(), Attempt(0));
    })
    .await;
}

#[tokio::test]
async fn a_newer_attempt_drops_an_older_one_that_waits() {
    on_each(async |store| {
        add(&store, &job("p", 1)).await;
        add(&store, &job("p", 2)).await;
        assert_eq!(start(&store, at(0)).await.as_deref(), Some("p/2"));
        assert_eq!(start(&store, at(0)).await, None);
    })
    .await;
}

#[tokio::test]
async fn no_more_jobs_run_than_there_are_places() {
    on_each(async |store| {
        for part in ["a", "b", "c"] {
            add(&store, &job(part, 1)).await;
        }
        assert_eq!(start(&store, at(0)).await.as_deref(), Some("a/1"));
        assert_eq!(start(&store, at(0)).await.as_deref(), Some("b/1"));
        assert_eq!(start(&store, at(0)).await, None);
        let counts = store.jobs.counts().await.unwrap();
        assert_eq!((counts.queued, counts.running), (1, 2));
        let waiting = store.jobs.queued(10).await.unwrap();
        assert_eq!(waiting[0].spec.key.part, "c");
        store
            .jobs
            .end(&job("a", 1).key, &report(false), at(1))
            .await
            .unwrap();
        assert_eq!(start(&store, at(1)).await.as_deref(), Some("c/1"));
    })
    .await;
}

#[tokio::test]
async fn starters_at_once_never_start_a_job_twice_or_one_too_many() {
    on_each(async |store| {
        for part in ["a", "b", "c", "d"] {
            add(&store, &job(part, 1)).await;
        }
        let started = futures::future::join_all((0..8).map(|_| start(&store, at(0)))).await;
        let mut started: Vec<String> = started.into_iter().flatten().collect();
        started.sort();
        assert_eq!(started, ["a/1", "b/1"]);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_could_not_be_started_waits_for_its_next_start() {
    on_each(async |store| {
        add_and_start(&store, &job("p", 1)).await;
        store.jobs.requeue(&job("p", 1).key, at(60)).await.unwrap();
        assert_eq!(start(&store, at(59)).await, None);
        assert_eq!(start(&store, at(60)).await.as_deref(), Some("p/1"));
        assert_eq!(store.jobs.running().await.unwrap()[0].starts, 2);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_reported_is_never_started_again() {
    on_each(async |store| {
        add_and_start(&store, &job("p", 1)).await;
        store
            .jobs
            .beat(&job("p", 1).key, "planning", at(1), LEASE)
            .await
            .unwrap();
        store.jobs.requeue(&job("p", 1).key, at(2)).await.unwrap();
        let running = store.jobs.running().await.unwrap();
        assert_eq!((running.len(), running[0].doing.as_str()), (1, "planning"));
        assert!(running[0].has_beaten);
    })
    .await;
}

#[tokio::test]
async fn a_beat_renews_the_lease() {
    on_each(async |store| {
        let key = job("p", 1).key;
        add_and_start(&store, &job("p", 1)).await;
        let beaten = store
            .jobs
            .beat(&key, "planning", at(20), LEASE)
            .await
            .unwrap();
        assert_eq!(beaten, Beaten::Alive);
        assert!(store.jobs.expired(at(49)).await.unwrap().is_empty());
        assert_eq!(store.jobs.expired(at(50)).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_was_away_gives_running_jobs_time_to_come_back() {
    on_each(async |store| {
        add_and_start(&store, &job("p", 1)).await;
        store.jobs.renew_all(at(1000), LEASE).await.unwrap();
        assert!(store.jobs.expired(at(1029)).await.unwrap().is_empty());
        assert_eq!(store.jobs.expired(at(1030)).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_running_job_hears_that_it_should_stop() {
    on_each(async |store| {
        let key = job("p", 1).key;
        add_and_start(&store, &job("p", 1)).await;
        assert_eq!(
            store.jobs.ask_cancel(&key, at(1)).await.unwrap(),
            Cancelled::Asked
        );
        let beaten = store
            .jobs
            .beat(&key, "planning", at(1), LEASE)
            .await
            .unwrap();
        assert_eq!(beaten, Beaten::Cancel);
        store.jobs.end(&key, &report(true), at(2)).await.unwrap();
        let ended = store.jobs.newest("p").await.unwrap().unwrap();
        assert_eq!(
            (ended.state, ended.ended_at),
            (JobState::Cancelled, Some(at(2)))
        );
    })
    .await;
}

#[tokio::test]
async fn a_queued_job_that_is_cancelled_ends_with_an_event() {
    on_each(async |store| {
        let key = job("p", 1).key;
        add(&store, &job("p", 1)).await;
        assert_eq!(
            store.jobs.ask_cancel(&key, at(1)).await.unwrap(),
            Cancelled::Dropped
        );
        assert_eq!(
            store.jobs.ask_cancel(&key, at(1)).await.unwrap(),
            Cancelled::Over
        );
        assert_eq!(start(&store, at(1)).await, None);
        let claimed = claim(&store, at(1)).await.unwrap();
        assert!(matches!(
            claimed.event,
            Event::JobEnded {
                end: JobEnd::Said(Report {
                    cancelled: true,
                    ..
                }),
                ..
            }
        ));
    })
    .await;
}

#[tokio::test]
async fn a_job_ends_once_and_its_end_is_an_event_in_the_lane_that_started_it() {
    on_each(async |store| {
        let key = job("p", 1).key;
        add_and_start(&store, &job("p", 1)).await;
        let mut ends = Vec::new();
        for end in [report(false), report(false), lost()] {
            ends.push(store.jobs.end(&key, &end, at(1)).await.unwrap());
        }
        assert_eq!(ends, [Ended::New, Ended::Known, Ended::Known]);
        let claimed = claim(&store, at(1)).await.unwrap();
        assert_eq!(claimed.id.as_str(), "job/p/1");
        let event = Event::JobEnded {
            repo: repo(),
            lane: Lane::of_pull(&pull(1)),
            job: key,
            end: report(false),
        };
        assert_eq!(claimed.event, event);
        assert!(claim(&store, at(1)).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn the_end_of_a_job_nobody_added_is_unknown() {
    on_each(async |store| {
        let ended = store.jobs.end(&job("p", 1).key, &lost(), at(1)).await;
        assert_eq!(ended.unwrap(), Ended::Unknown);
        assert!(claim(&store, at(1)).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn only_the_newest_running_attempt_is_current() {
    on_each(async |store| {
        let standing = async |attempt| store.jobs.standing(&job("p", attempt).key).await.unwrap();
        assert_eq!(standing(1).await, Standing::Unknown);
        add(&store, &job("p", 1)).await;
        assert_eq!(standing(1).await, Standing::Over);
        start(&store, at(0)).await;
        assert_eq!(standing(1).await, Standing::Current(Box::new(job("p", 1))));
        add_and_start(&store, &job("p", 2)).await;
        assert_eq!(standing(1).await, Standing::Older);
        store
            .jobs
            .end(&job("p", 1).key, &lost(), at(1))
            .await
            .unwrap();
        store
            .jobs
            .end(&job("p", 2).key, &report(false), at(1))
            .await
            .unwrap();
        assert_eq!(
            (standing(1).await, standing(2).await),
            (Standing::Over, Standing::Ended)
        );
        let beaten = store
            .jobs
            .beat(&job("p", 2).key, "late", at(2), LEASE)
            .await;
        assert_eq!(beaten.unwrap(), Beaten::Over);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_cannot_be_read_keeps_no_other_from_its_turn() {
    const SPOIL: &str = "UPDATE jobs SET spec = '{\"written\": \"by a later version\"}'
        WHERE part IN ('queued', 'running')";
    on_each(async |store| {
        add_and_start(&store, &job("running", 1)).await;
        add(&store, &job("queued", 1)).await;
        add(&store, &job("good", 1)).await;
        on!(write &store.db, run => sqlx::query(SPOIL).execute(run).await.map(drop)).unwrap();

        assert_eq!(start(&store, at(0)).await.as_deref(), Some("good/1"));
        let running = store.jobs.running().await.unwrap();
        assert_eq!(running.len(), 1, "the one that can be read");
        assert_eq!(store.jobs.expired(at(3600)).await.unwrap().len(), 1);
        let left = store.jobs.counts().await.unwrap();
        assert_eq!((left.queued, left.running), (0, 1), "both others are over");
    })
    .await;
}
