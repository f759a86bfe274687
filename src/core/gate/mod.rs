//! Whether a wave may apply. What must hold is a type: [`decide::Cleared`] comes from here alone.

pub mod approval;
pub mod decide;
pub mod facts;

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
