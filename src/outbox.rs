//! Performs stored effects in order, each safe to repeat, or prints them.
//!
//! Effects of one lane are performed one after the other, lanes side by side. What fails is tried again with growing
//! pauses; what the forge refuses for good is left undone, visible in the store, so that its lane goes on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::core::effect::{Effect, Note};
use crate::core::gate::facts::Fact;
use crate::core::ids::{DeliveryId, ForgeHost, Pull, Repo};
use crate::core::job::JobKey;
use crate::executor::Executor;
use crate::forge::{Forge, ForgeError};
use crate::git::Mirror;
use crate::ledger::Ledger;
use crate::store::{Cancelled, ClaimedEffect, Store};

/// How long a performer may take before another may try.
const LEASE: SignedDuration = SignedDuration::from_mins(5);
/// How long to wait for a bell that other processes cannot ring.
const POLL: Duration = Duration::from_millis(500);
/// Tries after which an effect that only informs is left undone.
const TRIES: u32 = 24;

/// What effects are performed on.
#[derive(Clone)]
pub struct World {
    pub store: Store,
    pub forges: Arc<BTreeMap<ForgeHost, Arc<dyn Forge>>>,
    pub mirrors: PathBuf,
    pub executor: Arc<dyn Executor>,
}

/// Why an effect was not performed.
#[derive(Debug)]
enum Failure {
    /// The forge takes requests again at this time; that is nobody's fault.
    Limited(Timestamp),
    /// Trying again changes nothing.
    Final(String),
    Again(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Again(error)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Again(error.into())
    }
}

impl From<ForgeError> for Failure {
    fn from(error: ForgeError) -> Self {
        match error {
            ForgeError::Limited { until } => Self::Limited(until),
            ForgeError::NotFound(_) | ForgeError::Forbidden(_) => Self::Final(error.to_string()),
            ForgeError::Other(error) => Self::Again(error),
        }
    }
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
    let Some(claimed) = world
        .store
        .outbox
        .claim(worker, Timestamp::now(), LEASE)
        .await?
    else {
        return Ok(false);
    };
    let done = perform(world, &claimed).await;
    let now = Timestamp::now();
    let what = describe(&claimed.effect);
    match done {
        Ok(()) => world.store.outbox.done(&claimed, now).await?,
        Err(Failure::Limited(until)) => {
            tracing::warn!(effect = what, %until, "the forge limits our requests");
            world
                .store
                .outbox
                .postpone(&claimed, until, "the forge limits our requests")
                .await?;
        }
        Err(Failure::Final(error)) => give_up(world, &claimed, &error, now).await?,
        Err(Failure::Again(error)) if is_record(&claimed.effect) || claimed.attempt < TRIES => {
            let error = format!("{error:#}");
            tracing::warn!(
                effect = what,
                attempt = claimed.attempt,
                error,
                "an effect failed and is tried again"
            );
            world
                .store
                .outbox
                .retry(&claimed, now + pause(claimed.attempt), &error)
                .await?;
        }
        Err(Failure::Again(error)) => give_up(world, &claimed, &format!("{error:#}"), now).await?,
    }
    Ok(true)
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

async fn give_up(
    world: &World,
    claimed: &ClaimedEffect,
    error: &str,
    now: Timestamp,
) -> anyhow::Result<()> {
    let what = describe(&claimed.effect);
    tracing::error!(
        effect = what,
        attempts = claimed.attempt,
        error,
        "an effect was given up"
    );
    Ok(world.store.outbox.give_up(claimed, error, now).await?)
}

async fn perform(world: &World, claimed: &ClaimedEffect) -> Result<(), Failure> {
    let now = Timestamp::now();
    match &claimed.effect {
        Effect::Note { pull, note } => write_note(world, pull, note).await,
        Effect::Reply { pull, key, text } => {
            Ok(world.forge(&pull.repo)?.reply(pull, key, text).await?)
        }
        Effect::Status {
            repo,
            commit,
            status,
        } => Ok(world.forge(repo)?.set_status(repo, commit, status).await?),
        Effect::React {
            pull,
            comment,
            reaction,
        } => {
            match world
                .forge(&pull.repo)?
                .react(pull, *comment, *reaction)
                .await
            {
                // Somebody deleted the comment; the command it gave was taken all the same.
                Err(ForgeError::NotFound(_)) => Ok(()),
                other => Ok(other?),
            }
        }
        Effect::Record { repo, fact } => record(world, repo, fact).await,
        Effect::Start(spec) => {
            world.store.jobs.add(spec, &claimed.lane, now).await?;
            Ok(())
        }
        Effect::Cancel(job) => cancel(world, job, now).await,
        Effect::Merge { pull, head } => Ok(world.forge(&pull.repo)?.merge(pull, head).await?),
        Effect::Follow(event) => {
            let id = DeliveryId::try_from(format!("follow/{}", claimed.key))
                .context("an effect's key is an id")?;
            world.store.inbox.file_own(&id, event, now).await?;
            Ok(())
        }
    }
}

async fn write_note(world: &World, pull: &Pull, note: &Note) -> Result<(), Failure> {
    let shown_at = world
        .forge(&pull.repo)?
        .upsert_note(pull, &note.text)
        .await?;
    Ok(world.store.note_shown(pull, &note.asks, shown_at).await?)
}

async fn record(world: &World, repo: &Repo, fact: &Fact) -> Result<(), Failure> {
    let remote = world.forge(repo)?.remote(repo).await?;
    let mirror = Mirror::open(&Mirror::folder(&world.mirrors, repo), Some(remote)).await?;
    Ledger::of(mirror)
        .append(std::slice::from_ref(fact))
        .await?;
    Ok(())
}

async fn cancel(world: &World, job: &JobKey, now: Timestamp) -> Result<(), Failure> {
    match world.store.jobs.ask_cancel(job, now).await? {
        Cancelled::Asked => Ok(world.executor.cancel(job).await?),
        Cancelled::Dropped | Cancelled::Over => Ok(()),
    }
}

impl World {
    fn forge(&self, repo: &Repo) -> Result<&Arc<dyn Forge>, Failure> {
        let gone = || Failure::Final(format!("no forge {} is configured any more", repo.forge));
        self.forges.get(&repo.forge).ok_or_else(gone)
    }
}

/// What a record says must not be lost, however long the remote is away.
fn is_record(effect: &Effect) -> bool {
    matches!(effect, Effect::Record { .. })
}

/// A second, doubled with each try, five minutes at most.
fn pause(attempt: u32) -> SignedDuration {
    let seconds = 1_i64
        .checked_shl(attempt.saturating_sub(1).min(16))
        .unwrap_or(i64::MAX);
    SignedDuration::from_secs(seconds.min(300))
}

fn named(pull: &Pull) -> String {
    format!("{}#{}", pull.repo.name, pull.number)
}
