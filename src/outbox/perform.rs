//! Performs one effect on the world, and sorts what may go wrong.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use futures::FutureExt;
use jiff::Timestamp;

use crate::core::effect::{Effect, Note};
use crate::core::gate::change::Change;
use crate::core::gate::facts::Fact;
use crate::core::ids::{DeliveryId, Pull, Repo};
use crate::core::job::JobKey;
use crate::forge::{Forge, ForgeError};
use crate::git::Mirror;
use crate::ledger::{Appended, Ledger};
use crate::outbox::World;
use crate::store::{Cancelled, ClaimedEffect};

/// How long one effect may take: it must be over before its lease is, or two performers would have it.
pub(super) const LIMIT: Duration = Duration::from_secs(240);

/// Why an effect was not performed.
#[derive(Debug)]
pub(super) enum Failure {
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

/// Performs an effect in bounded time; a bug on the way is a failure of this effect alone.
pub(super) async fn perform_bounded(world: &World, claimed: &ClaimedEffect) -> Result<(), Failure> {
    let caught = AssertUnwindSafe(perform(world, claimed)).catch_unwind();
    match tokio::time::timeout(LIMIT, caught).await {
        Ok(Ok(performed)) => performed,
        Ok(Err(_)) => Err(anyhow!("a bug in tidegate: performing it panicked").into()),
        Err(_) => Err(anyhow!("it took longer than {} seconds", LIMIT.as_secs()).into()),
    }
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
    let ledger = Ledger::of(mirror);
    let seen = world.store.tip(repo, &Ledger::branch()).await?;
    let appended = ledger.append(std::slice::from_ref(fact)).await?;
    // Whoever takes the fact away from there is found out; where the tip moved meanwhile, the next look does it.
    if let Appended::Written(at) = appended
        && let Change::Grown | Change::Revoked(_) = ledger.judge(seen.as_ref(), Some(&at)).await?
    {
        let place = (repo, &Ledger::branch());
        world.store.move_tip(place, seen.as_ref(), &at).await?;
    }
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
