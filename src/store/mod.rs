//! What the server remembers: a desk, not the record. One SQL dialect for SQLite and PostgreSQL.

use crate::core::effect::Effect;
use crate::core::ids::{Branch, Repo, Sha};
use crate::core::rollout::Rollout;
use crate::core::rollout::pull::PullMemory;

/// The server's memory.
#[derive(Clone)]
pub struct Store {}

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
