//! Starts queued jobs as places are free.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::core::job::{JobEnd, JobKey};
use crate::core::token;
use crate::serve::Server;
use crate::store::Job;

/// How long to wait for a bell that other processes cannot ring.
const POLL: Duration = Duration::from_millis(500);
/// Starts after which a job that does not come up is lost.
const STARTS: u32 = 3;

/// Starts jobs until told to stop.
pub(super) async fn run(server: Server, stop: CancellationToken) {
    let mut bell = server.app.store.bell().listen();
    while !stop.is_cancelled() {
        bell.forget();
        match server
            .app
            .store
            .jobs
            .start_next(server.parallel, Timestamp::now(), server.lease())
            .await
        {
            Ok(Some(job)) => start(&server, &job).await,
            Ok(None) => {
                tokio::select! { () = bell.wait(POLL) => {}, () = stop.cancelled() => {} }
            }
            Err(error) => {
                tracing::error!(%error, "the jobs cannot be read");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn start(server: &Server, job: &Job) {
    let now = Timestamp::now();
    let token = token::mint(&server.token_key, &job.spec.key, now, token::TIME_TO_LIVE);
    let started = server.world.executor.start(&job.spec, &token).await;
    let Err(error) = started else {
        tracing::info!(job = %job.spec.key, "started");
        return;
    };
    let why = format!("{error:#}");
    tracing::error!(job = %job.spec.key, starts = job.starts, error = why, "a job could not be started");
    again_or_lost(server, job, &why).await;
}

/// Queues a job again that never reported and is not there, or ends it as lost when it was tried often enough.
pub(super) async fn again_or_lost(server: &Server, job: &Job, why: &str) {
    let (key, jobs) = (&job.spec.key, &server.app.store.jobs);
    let kept = if job.has_beaten || job.starts >= STARTS {
        lost(server, key, why).await
    } else {
        let pause = SignedDuration::from_secs(i64::from(job.starts) * 2);
        tracing::warn!(job = %key, why, "a job never came up and is started again");
        jobs.requeue(key, Timestamp::now() + pause).await
    };
    if let Err(error) = kept {
        tracing::error!(job = %key, %error, "what became of a job could not be stored");
    }
}

/// Ends a job as lost.
pub(super) async fn lost(server: &Server, job: &JobKey, why: &str) -> sqlx::Result<()> {
    tracing::warn!(%job, why, "a job is lost");
    let end = JobEnd::Lost {
        why: why.to_owned(),
    };
    let jobs = &server.app.store.jobs;
    jobs.end(job, &end, Timestamp::now()).await.map(drop)
}
