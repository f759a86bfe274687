//! Jobs that stopped reporting.

use std::sync::Mutex;

use async_trait::async_trait;
use secrecy::SecretString;

use super::*;
use crate::executor::Seen;
use crate::serve::ticker::sweep;
use crate::store::JobState;

/// A place where every job is seen the same way.
struct Place {
    seen: Seen,
    cancelled: Mutex<Vec<JobKey>>,
}

#[async_trait]
impl Executor for Place {
    async fn start(&self, _: &JobSpec, _: &SecretString) -> anyhow::Result<()> {
        Ok(())
    }

    async fn look(&self, _: &JobKey) -> anyhow::Result<Seen> {
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

/// A job that was started an hour ago and never reported, swept; its state and whether it was cancelled.
async fn after_silence(seen: Seen) -> (JobState, bool) {
    let place = Arc::new(Place {
        seen,
        cancelled: Mutex::default(),
    });
    let stage = Stage::with(tempfile::tempdir().unwrap(), place.clone()).await;
    let now = Timestamp::now();
    stage
        .started(&plan_job(1), now - SignedDuration::from_hours(1))
        .await;
    sweep(&stage.server, now).await.unwrap();
    let job = stage.store().jobs.find(&plan_job(1).key).await.unwrap();
    let is_cancelled = !place.cancelled.lock().unwrap().is_empty();
    (job.unwrap().state, is_cancelled)
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
