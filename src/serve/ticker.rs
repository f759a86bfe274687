//! The clock: jobs whose lease ran out are looked for, and found again or given up as lost.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::core::job::JobKey;
use crate::executor::Seen;
use crate::serve::{Server, dispatch};
use crate::store::Job;

/// How often leases are looked at.
const TICK: Duration = Duration::from_secs(1);
/// How long a job's process may take to be seen after it was started.
const COMING_UP: SignedDuration = SignedDuration::from_secs(10);

/// How often the folders of jobs that ended are cleared away.
const CLEARING: Duration = Duration::from_secs(30);
/// How long such a folder is left alone first.
const KEPT: SignedDuration = SignedDuration::from_secs(60);

/// How often what is long done is forgotten.
const PRUNING: Duration = Duration::from_secs(3600);
/// How long it is kept: well past the age at which a comment commands nothing any more, so that no comment is
/// forgotten that could still run.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Looks after jobs until told to stop.
pub(super) async fn run(server: Server, stop: CancellationToken) {
    let mut cleared = Instant::now();
    let mut pruned: Option<Instant> = None;
    while !stop.is_cancelled() {
        if pruned.is_none_or(|it| it.elapsed() > PRUNING) {
            forget(&server).await;
            pruned = Some(Instant::now());
        }
        if cleared.elapsed() > CLEARING {
            clear_away(&server).await;
            cleared = Instant::now();
        }
        if let Err(error) = sweep(&server, Timestamp::now()).await {
            tracing::error!(%error, "leases could not be looked at");
        }
        tokio::select! { () = tokio::time::sleep(TICK) => {}, () = stop.cancelled() => {} }
    }
}

async fn forget(server: &Server) {
    match server.app.store.prune(Timestamp::now() - REMEMBERED).await {
        Ok(deliveries) => tracing::debug!(deliveries, "forgot what is long done"),
        Err(error) => tracing::error!(%error, "what is long done could not be forgotten"),
    }
}

/// Of a job that is gone only what somebody may still want stays: its plan files can hold secrets.
async fn clear_away(server: &Server) {
    if let Err(error) = server.world.executor.sweep(Timestamp::now() - KEPT).await {
        let error = format!("{error:#}");
        tracing::error!(error, "the folders of ended jobs could not be cleared away");
    }
}

/// Looks at every running job that had its time to come up.
pub(super) async fn sweep(server: &Server, now: Timestamp) -> sqlx::Result<()> {
    look_after_all(server, now, now - COMING_UP).await
}

/// Looks at every running job when the server starts: none of them is coming up.
pub(super) async fn find_again(server: &Server, now: Timestamp) -> sqlx::Result<()> {
    look_after_all(server, now, now).await
}

/// Looks at the jobs that were started until then; one that cannot be looked at keeps no other from it.
async fn look_after_all(server: &Server, now: Timestamp, until: Timestamp) -> sqlx::Result<()> {
    let jobs = &server.app.store.jobs;
    let expired = jobs.expired(now).await?;
    for job in jobs.running().await? {
        if job.started_at.is_none_or(|it| it > until) {
            continue;
        }
        let key = &job.spec.key;
        let looked = match expired.iter().any(|it| it.spec.key == *key) {
            true => look_after_silent(server, key).await,
            false => look_after(server, key).await,
        };
        if let Err(error) = looked {
            tracing::error!(job = %key, error = format!("{error:#}"), "a job could not be looked after");
        }
    }
    Ok(())
}

/// A job that is gone without a word is seen at once, not only when its lease ends.
async fn look_after(server: &Server, key: &JobKey) -> anyhow::Result<Seen> {
    let seen = server.world.executor.look(key).await?;
    // Its last word may have been stored since the jobs were read; then it is not lost.
    let running = find(server.app.store.jobs.running().await?, key);
    match (seen, running) {
        (Seen::Gone, Some(_)) => {
            dispatch::lost(server, key, "Its process is gone without a word.").await?;
        }
        (Seen::Unstarted, Some(job)) => {
            let why = "The server ended while it started the job.";
            dispatch::again_or_lost(server, &job, why).await;
        }
        (Seen::Alive, _) | (_, None) => {}
    }
    Ok(seen)
}

/// A job whose lease has ended is stopped where it still lives.
async fn look_after_silent(server: &Server, key: &JobKey) -> anyhow::Result<Seen> {
    let seen = look_after(server, key).await?;
    // A beat may have been stored since the jobs were read; then it is not lost.
    let expired = server.app.store.jobs.expired(Timestamp::now()).await?;
    if seen == Seen::Alive && find(expired, key).is_some() {
        server.world.executor.cancel(key).await?;
        // Never queued again: two processes of one attempt must not run side by side.
        let why = "It did not report for the length of its lease.";
        dispatch::lost(server, key, why).await?;
    }
    Ok(seen)
}

fn find(jobs: Vec<Job>, key: &JobKey) -> Option<Job> {
    jobs.into_iter().find(|it| it.spec.key == *key)
}
