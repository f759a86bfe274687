//! The clock: jobs whose lease ran out are looked for, and found again or given up as lost.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::executor::Seen;
use crate::serve::{Server, dispatch};
use crate::store::Job;

/// How often leases are looked at.
const TICK: Duration = Duration::from_secs(1);
/// How long a job's process may take to be seen after it was started.
const COMING_UP: SignedDuration = SignedDuration::from_secs(10);

/// Looks after jobs until told to stop.
pub(super) async fn run(server: Server, stop: CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = sweep(&server).await {
            tracing::error!(
                error = format!("{error:#}"),
                "leases could not be looked at"
            );
        }
        tokio::select! { () = tokio::time::sleep(TICK) => {}, () = stop.cancelled() => {} }
    }
}

/// A job that is gone without a word is seen at once, not only when its lease ends.
async fn sweep(server: &Server) -> anyhow::Result<()> {
    let jobs = &server.app.store.jobs;
    let expired = jobs.expired(Timestamp::now()).await?;
    let settled = Timestamp::now() - COMING_UP;
    for job in jobs.running().await? {
        if job.started_at.is_none_or(|it| it > settled) {
            continue;
        }
        let is_expired = expired.iter().any(|it| it.spec.key == job.spec.key);
        let seen = server.world.executor.look(&job.spec.key).await?;
        if let Some(why) = why_lost(is_expired, seen) {
            lose(server, &job, seen, why).await?;
        }
    }
    Ok(())
}

/// Whether a job is lost, and why. One that lives but cannot reach us has interrupted its work before its lease ended.
fn why_lost(is_expired: bool, seen: Seen) -> Option<&'static str> {
    match (is_expired, seen) {
        (_, Seen::Gone) => Some("Its process is gone without a word."),
        (true, Seen::Alive) => Some("It did not report for the length of its lease."),
        (false, Seen::Alive) => None,
    }
}

async fn lose(server: &Server, job: &Job, seen: Seen, why: &str) -> anyhow::Result<()> {
    // Its last word may have been stored between the two looks; then there is nothing left to do here.
    let still = server
        .app
        .store
        .jobs
        .running()
        .await?
        .into_iter()
        .find(|it| it.spec.key == job.spec.key);
    let Some(job) = still else { return Ok(()) };
    tracing::warn!(job = %job.spec.key, why, "a job is lost");
    if seen == Seen::Alive {
        server.world.executor.cancel(&job.spec.key).await?;
    }
    dispatch::again_or_lost(server, &job, why).await;
    Ok(())
}
