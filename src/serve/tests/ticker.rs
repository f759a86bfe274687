//! Jobs that stopped reporting.

use std::sync::Mutex;

use anyhow::bail;
use async_trait::async_trait;
use secrecy::SecretString;

use super::*;
use crate::executor::Seen;
use crate::serve::ticker::{find_again, sweep};
use crate::store::JobState;

/// A place where every job is seen the same way.
struct Place {
    seen: Seen,
    /// A job that cannot be looked at.
    hidden: Option<JobKey>,
    /// Where a job that is looked at beats in that moment, when it does.
    beats_in: Mutex<Option<Store>>,
    cancelled: Mutex<Vec<JobKey>>,
}

#[async_trait]
impl Executor for Place {
    async fn start(&self, _: &JobSpec, _: &SecretString) -> anyhow::Result<()> {
        Ok(())
    }

    async fn look(&self, key: &JobKey) -> anyhow::Result<Seen> {
        let store = self.beats_in.lock().unwrap().clone();
        if let Some(store) = store {
            let lease = SignedDuration::from_mins(1);
            store.jobs.beat(key, "", Timestamp::now(), lease).await?;
        }
        if self.hidden.as_ref() == Some(key) {
            bail!("the disk is broken");
        }
        Ok(self.seen)
    }

    async fn cancel(&self, key: &JobKey) -> anyhow::Result<()> {
        self.cancelled.lock().unwrap().push(key.clone());
        Ok(())
    }

    async fn sweep(&self, _: Timestamp) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Jobs in a place, and the server that looks after them.
struct Watch {
    stage: Stage,
    place: Arc<Place>,
}

impl Watch {
    async fn of(seen: Seen) -> Self {
        Self::hiding(seen, None).await
    }

    async fn hiding(seen: Seen, hidden: Option<JobKey>) -> Self {
        let place = Arc::new(Place {
            seen,
            hidden,
            beats_in: Mutex::default(),
            cancelled: Mutex::default(),
        });
        let stage = Stage::with(tempfile::tempdir().unwrap(), place.clone()).await;
        Self { stage, place }
    }

    /// A job that was started an hour ago and never reported.
    async fn silent(&self, job: &JobSpec) {
        let start = Timestamp::now() - SignedDuration::from_hours(1);
        self.stage.started(job, start).await;
    }

    async fn sweep(&self) {
        sweep(&self.stage.server, Timestamp::now()).await.unwrap();
    }

    async fn state(&self, job: &JobSpec) -> JobState {
        let job = self.stage.store().jobs.find(&job.key).await.unwrap();
        job.unwrap().state
    }
}

/// What becomes of a silent job that is swept, and whether it was cancelled.
async fn after_silence(seen: Seen) -> (JobState, bool) {
    let watch = Watch::of(seen).await;
    watch.silent(&plan_job(1)).await;
    watch.sweep().await;
    let is_cancelled = !watch.place.cancelled.lock().unwrap().is_empty();
    (watch.state(&plan_job(1)).await, is_cancelled)
}

#[tokio::test]
async fn a_job_whose_process_is_gone_is_lost_because_an_attempt_is_started_once() {
    assert_eq!(after_silence(Seen::Gone).await, (JobState::Lost, false));
}

#[tokio::test]
async fn a_job_that_never_came_up_is_started_again() {
    assert_eq!(
        after_silence(Seen::Unstarted).await,
        (JobState::Queued, false)
    );
}

#[tokio::test]
async fn a_job_that_lives_past_its_lease_is_stopped_and_never_started_beside_itself() {
    assert_eq!(after_silence(Seen::Alive).await, (JobState::Lost, true));
}

#[tokio::test]
async fn a_beat_that_comes_while_a_silent_job_is_looked_at_keeps_it() {
    let watch = Watch::of(Seen::Alive).await;
    watch.silent(&plan_job(1)).await;
    *watch.place.beats_in.lock().unwrap() = Some(watch.stage.store().clone());
    watch.sweep().await;
    assert_eq!(watch.state(&plan_job(1)).await, JobState::Running);
}

#[tokio::test]
async fn a_job_has_time_to_come_up_but_for_a_server_that_has_just_started() {
    let watch = Watch::of(Seen::Gone).await;
    let now = Timestamp::now();
    watch.stage.started(&plan_job(1), now).await;
    sweep(&watch.stage.server, now).await.unwrap();
    assert_eq!(watch.state(&plan_job(1)).await, JobState::Running);
    find_again(&watch.stage.server, now).await.unwrap();
    assert_eq!(watch.state(&plan_job(1)).await, JobState::Lost);
}

#[tokio::test]
async fn a_job_that_never_comes_up_is_lost_after_its_third_start() {
    let watch = Watch::of(Seen::Unstarted).await;
    watch.silent(&plan_job(1)).await;
    let (jobs, lease) = (&watch.stage.store().jobs, watch.stage.server.lease());
    for _ in 0..2 {
        watch.sweep().await;
        assert_eq!(watch.state(&plan_job(1)).await, JobState::Queued);
        let later = Timestamp::now() + SignedDuration::from_mins(1);
        let started = jobs.start_next(9, later, lease).await.unwrap();
        assert!(started.is_some());
        find_again(&watch.stage.server, later).await.unwrap();
    }
    assert_eq!(watch.state(&plan_job(1)).await, JobState::Lost);
}

#[tokio::test]
async fn a_job_that_reported_is_never_started_again() {
    let watch = Watch::of(Seen::Unstarted).await;
    watch.silent(&plan_job(1)).await;
    *watch.place.beats_in.lock().unwrap() = Some(watch.stage.store().clone());
    watch.sweep().await;
    assert_eq!(watch.state(&plan_job(1)).await, JobState::Lost);
}

#[tokio::test]
async fn a_job_that_cannot_be_looked_at_keeps_no_other_from_it() {
    let mut other = plan_job(1);
    other.key.part = "github.com/7#2/bbbb/plan".to_owned();
    let watch = Watch::hiding(Seen::Gone, Some(plan_job(1).key)).await;
    watch.silent(&plan_job(1)).await;
    watch.silent(&other).await;
    watch.sweep().await;
    assert_eq!(watch.state(&plan_job(1)).await, JobState::Running);
    assert_eq!(watch.state(&other).await, JobState::Lost);
}
