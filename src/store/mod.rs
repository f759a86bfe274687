//! What the server remembers: a desk, not the record. One SQL dialect for SQLite and PostgreSQL.
//!
//! One file a table, with its rows and its statements; each method is one statement or one transaction.
//!
//! # Why
//!
//! Deliveries, effects and jobs are rows that are claimed under a lease, so a process that dies anywhere loses time and
//! nothing else. Order is the order of row numbers, never of clocks.

mod ages;
mod bell;
mod check;
mod db;
mod filing;
mod inbox;
mod jobs;
mod looks;
mod outbox;
mod prune;
mod pulls;
mod repos;
mod rollouts;
mod tips;

use jiff::Timestamp;

use crate::core::effect::Effect;
use crate::core::ids::{Branch, Repo, Sha};
use crate::core::rollout::Rollout;
use crate::core::rollout::pull::PullMemory;
use crate::store::db::{Db, Tx, on};

pub use crate::store::ages::Ages;
pub use crate::store::bell::{Bell, Listener};
pub use crate::store::check::check;
pub use crate::store::inbox::{
    Claimed, DeadDelivery, Delivery, Filed, Finished, Inbox, InboxCounts,
};
pub use crate::store::jobs::{
    Added, Beaten, Cancelled, Ended, Job, JobCounts, JobState, Jobs, Standing,
};
pub use crate::store::looks::{Due, Looks};
pub use crate::store::outbox::{ClaimedEffect, EffectKey, Outbox, OutboxCounts};

/// The server's memory.
#[derive(Clone)]
pub struct Store {
    /// What happened and is still to be handled.
    pub inbox: Inbox,
    /// What was decided and is still to be done.
    pub outbox: Outbox,
    pub jobs: Jobs,
    /// When repositories are looked at for what was never delivered.
    pub looks: Looks,
    db: Db,
    bell: Bell,
}

/// What a handler decided: what to remember and what to do. Stored in the transaction that finishes its delivery.
#[derive(Debug, Default, PartialEq)]
pub struct Handled {
    pub changes: Vec<Change>,
    pub effects: Vec<Effect>,
}

/// Something to remember.
#[derive(Debug, PartialEq)]
pub enum Change {
    Pull(Box<PullMemory>),
    /// `version` is the one it was read at, 0 for a new one; if another write came between, the delivery runs again.
    Rollout {
        rollout: Box<Rollout>,
        version: i64,
    },
    /// The tip of a branch that was last handled.
    Tip {
        repo: Repo,
        branch: Branch,
        tip: Sha,
    },
    /// A repository we serve, or its new name.
    Repo(Repo),
}

impl Store {
    /// Opens `sqlite:<path>` or `postgres://…` and brings its tables up to date. What goes wrong says what to do.
    pub async fn open(url: &str) -> anyhow::Result<Self> {
        let db = Db::open(url).await?;
        let bell = Bell::default();
        Ok(Self {
            inbox: Inbox::new(db.clone(), bell.clone()),
            outbox: Outbox::new(db.clone(), bell.clone()),
            jobs: Jobs::new(db.clone(), bell.clone()),
            looks: Looks::new(db.clone()),
            db,
            bell,
        })
    }

    /// Whether the database answers.
    pub async fn ready(&self) -> sqlx::Result<()> {
        const SQL: &str = "SELECT value FROM counters WHERE name = 'rows'";
        on!(read &self.db, run => sqlx::query(SQL).fetch_one(run).await.map(drop))
    }

    /// What rings when there may be something to claim. Another process's writes do not ring it: listen with a limit.
    pub fn bell(&self) -> &Bell {
        &self.bell
    }

    /// Frees what an earlier process of a server had claimed; called once, before it claims anything. What other
    /// servers hold is free when its lease ends.
    pub async fn free_left_over(&self, server: &str) -> sqlx::Result<()> {
        const DELIVERIES: &str =
            "UPDATE deliveries SET lease_until = NULL WHERE state = 'queued' AND worker LIKE $1";
        const EFFECTS: &str =
            "UPDATE effects SET lease_until = NULL WHERE state = 'waiting' AND worker LIKE $1";
        let workers = format!("{server}-%");
        for statement in [DELIVERIES, EFFECTS] {
            on!(write &self.db, run => {
                sqlx::query(statement).bind(&workers).execute(run).await.map(drop)
            })?;
        }
        Ok(())
    }
}

/// Whether everything a handler wanted to remember was stored; not when a rollout had moved.
async fn remember(tx: &mut Tx, changes: &[Change]) -> sqlx::Result<bool> {
    for change in changes {
        let kept = match change {
            Change::Pull(memory) => pulls::save(tx, memory).await.map(|()| true),
            Change::Rollout { rollout, version } => rollouts::save(tx, rollout, *version).await,
            Change::Tip { repo, branch, tip } => {
                tips::save(tx, repo, branch, tip).await.map(|()| true)
            }
            Change::Repo(repo) => repos::save(tx, repo).await.map(|()| true),
        };
        if !kept? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A repository's key: its forge's host and its number there.
fn key(repo: &Repo) -> (&str, i64) {
    (repo.forge.as_str(), repo.id.0.cast_signed())
}

fn millis(now: Timestamp) -> i64 {
    now.as_millisecond()
}

#[cfg(test)]
mod tests;
