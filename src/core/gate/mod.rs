//! Whether a wave may apply. What must hold is a type: [`admit::Cleared`] comes from here alone.
//!
//! Reading order: [`facts`] (what stands on the ledger), [`lines`] (how it is read), [`approval`] (what of it speaks
//! to a rollout), [`change`] (whether it only grew), [`decide`] (the decision), [`admit`] (the decision against the plans in hand), [`door`] (who may
//! approve from a comment, and what).
//!
//! # Why order and not time
//!
//! Lines are written by many clocks. Which approvals count follows from where lines stand in a file that only grows;
//! a timestamp only tells one approval from another.

pub mod admit;
pub mod approval;
pub mod change;
pub mod decide;
mod decision;
pub mod door;
pub mod facts;
pub mod lines;
mod write;

use serde::{Deserialize, Serialize};

use crate::core::ids::Sha;

/// When a wave waits for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Its plans change something.
    Always,
    /// Its plans destroy or replace something.
    #[default]
    OnDestructive,
    Never,
}

/// Which approvals count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Any approval line of the digest on the ledger.
    #[default]
    Ledger,
    /// These, and a review of the merged pull request's head. Not built yet: counts as `ledger` without reviews.
    PrReview,
    /// Only lines whose seal verifies. Not built yet: nothing counts.
    Sealed,
}

/// The commit whose rules judge a change. Only `core::rollout` makes one, from the rollout's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base(pub(in crate::core) Sha);

impl Base {
    /// The commit.
    pub fn sha(&self) -> &Sha {
        &self.0
    }
}

/// Something read at the base commit, which the change under review cannot loosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtBase<T>(T);

impl Policy {
    /// The policy's name in the project file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::OnDestructive => "on-destructive",
            Self::Never => "never",
        }
    }
}

impl Mode {
    /// The mode's name in the project file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ledger => "ledger",
            Self::PrReview => "pr-review",
            Self::Sealed => "sealed",
        }
    }
}

impl<T> AtBase<T> {
    /// Says that `value` was read at `base`; who has no [`Base`] cannot say it.
    pub fn read(_at: &Base, value: T) -> Self {
        Self(value)
    }

    /// A part of what was read.
    pub fn part<U>(&self, part: impl FnOnce(&T) -> U) -> AtBase<U> {
        AtBase(part(&self.0))
    }

    /// What was read.
    pub fn get(&self) -> &T {
        &self.0
    }
}
