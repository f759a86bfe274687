//! Performs stored effects in order, each safe to repeat, or prints them.
//!
//! Effects of one lane are performed one after the other, lanes side by side. What fails is tried again with growing
//! pauses; what the forge refuses for good is left undone, visible in the store, so that its lane goes on. Only a fact
//! for the ledger is tried until it stands there: what it says must not be lost.

mod perform;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::core::effect::Effect;
use crate::core::ids::{ForgeHost, Pull};
use crate::executor::Executor;
use crate::forge::Forge;
use crate::outbox::perform::{Failure, perform_bounded};
use crate::store::{ClaimedEffect, Store};

/// How long a performer may take before another may try.
const LEASE: SignedDuration = SignedDuration::from_mins(5);
/// How long to wait for a bell that other processes cannot ring.
const POLL: Duration = Duration::from_millis(500);
/// Tries after which an effect or a delivery is given up: with [`pause`] between them, more than an hour.
pub const TRIES: u32 = 24;

/// What effects are performed on.
#[derive(Clone)]
pub struct World {
    pub store: Store,
    pub forges: Arc<BTreeMap<ForgeHost, Arc<dyn Forge>>>,
    pub mirrors: PathBuf,
    pub executor: Arc<dyn Executor>,
}

/// Performs effects as they are stored, until told to stop; the one under way is finished first.
pub async fn run(world: World, worker: String, stop: CancellationToken) {
    let mut bell = world.store.bell().listen();
    while !stop.is_cancelled() {
        bell.forget();
        match perform_next(&world, &worker).await {
            Ok(true) => {}
            Ok(false) => {
                tokio::select! { () = bell.wait(POLL) => {}, () = stop.cancelled() => {} }
            }
            Err(error) => {
                tracing::error!(error = format!("{error:#}"), "the outbox cannot be read");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// Performs the oldest effect that is free; false when there is none.
pub async fn perform_next(world: &World, worker: &str) -> anyhow::Result<bool> {
    let outbox = &world.store.outbox;
    let Some(claimed) = outbox.claim(worker, Timestamp::now(), LEASE).await? else {
        return Ok(false);
    };
    match try_once(world, &claimed).await {
        Ok(()) => outbox.done(&claimed, Timestamp::now()).await?,
        Err(failure) => failed(world, &claimed, failure).await?,
    }
    Ok(true)
}

/// Performs an effect, unless the server came to its end so often that the effect must be what ends it.
async fn try_once(world: &World, claimed: &ClaimedEffect) -> Result<(), Failure> {
    if claimed.attempt > TRIES && !is_record(&claimed.effect) {
        let why = "the server ended whenever it was tried";
        return Err(Failure::Final(why.to_owned()));
    }
    perform_bounded(world, claimed).await
}

async fn failed(world: &World, claimed: &ClaimedEffect, failure: Failure) -> sqlx::Result<()> {
    let (outbox, now) = (&world.store.outbox, Timestamp::now());
    let effect = describe(&claimed.effect);
    let error = match failure {
        Failure::Limited(until) => {
            let error = "the forge limits our requests";
            tracing::warn!(effect, %until, error);
            // A time that has passed already must not make us ask without a pause.
            let until = until.max(now + pause(1));
            return outbox.postpone(claimed, until, error).await;
        }
        Failure::Final(error) if !is_record(&claimed.effect) => {
            return give_up(world, claimed, &error, now).await;
        }
        Failure::Final(error) => error,
        Failure::Again(error) => format!("{error:#}"),
    };
    if is_last_try(claimed) {
        return give_up(world, claimed, &error, now).await;
    }
    let attempt = claimed.attempt;
    tracing::warn!(
        effect,
        attempt,
        error,
        "an effect failed and is tried again"
    );
    outbox.retry(claimed, now + pause(attempt), &error).await
}

async fn give_up(
    world: &World,
    claimed: &ClaimedEffect,
    error: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (effect, attempts) = (describe(&claimed.effect), claimed.attempt);
    tracing::error!(effect, attempts, error, "an effect was given up");
    world.store.outbox.give_up(claimed, error, now).await
}

fn is_last_try(claimed: &ClaimedEffect) -> bool {
    claimed.attempt >= TRIES && !is_record(&claimed.effect)
}

/// One line about an effect, for logs and for a dry run.
pub fn describe(effect: &Effect) -> String {
    match effect {
        Effect::Note { pull, .. } => format!("write the note of {}", named(pull)),
        Effect::Reply { pull, .. } => format!("reply on {}", named(pull)),
        Effect::Status {
            repo,
            commit,
            status,
        } => {
            let (context, description) = (status.context.as_str(), &status.description);
            format!(
                "set {context} of {} {}: {description}",
                repo.name,
                commit.short()
            )
        }
        Effect::React { pull, comment, .. } => {
            format!("react to comment {comment} on {}", named(pull))
        }
        Effect::Record { repo, fact } => {
            format!("record on the ledger of {}: {}", repo.name, fact.subject())
        }
        Effect::Start(spec) => format!("start the job {}", spec.key),
        Effect::Cancel(job) => format!("stop the job {job}"),
        Effect::Merge { pull, head } => format!("merge {} at {}", named(pull), head.short()),
        Effect::Follow(event) => format!("follow up: {}", event.name()),
    }
}

/// What a record says must not be lost, however long the remote is away.
fn is_record(effect: &Effect) -> bool {
    matches!(effect, Effect::Record { .. })
}

/// How long to wait after a try that failed: a second, doubled with each try, five minutes at most.
pub fn pause(attempt: u32) -> SignedDuration {
    let seconds = 1_i64
        .checked_shl(attempt.saturating_sub(1).min(16))
        .unwrap_or(i64::MAX);
    SignedDuration::from_secs(seconds.min(300))
}

fn named(pull: &Pull) -> String {
    format!("{}#{}", pull.repo.name, pull.number)
}

#[cfg(test)]
mod tests;
