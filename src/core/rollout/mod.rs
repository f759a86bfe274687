//! A rollout: the reached waves of one op at one commit, from one source, and how far each got.

pub mod answer;
pub mod approve;
pub mod ended;
mod ledger;
pub mod planned;
pub mod planning;
pub mod pull;
pub mod push;
pub mod step;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::core::gate::Base;
use crate::core::gate::approval::Names;
use crate::core::gate::facts::Use;
use crate::core::ids::{
    Actor, Attempt, Branch, Digest, Op, Pull, PullNumber, Repo, RolloutId, Root, Sha, WaveNumber,
};
use crate::core::job::{Applied, Moved};
use crate::core::plan::Plan;

/// The reached waves of one op at one commit, and where each stands. Stored whole, as one document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    pub id: RolloutId,
    pub repo: Repo,
    pub op: Op,
    pub source: Source,
    /// The commit that applies.
    pub commit: Sha,
    /// The commit whose rules judge it.
    pub base: Sha,
    /// Whose change it is: authors of its pull requests, and the pusher of a direct push.
    pub authors: Vec<Actor>,
    /// The pull requests it brings, oldest first; none for a direct push.
    pub pulls: Vec<PullNumber>,
    pub waves: Vec<Wave>,
    /// Commits of unfinished rollouts that it took over: what was approved for them still names it.
    #[serde(default)]
    pub taken_over: Vec<Sha>,
    /// Runs planned or applied at once.
    pub parallelism: u32,
    pub started: Timestamp,
}

/// Where a rollout comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    Push {
        branch: Branch,
        before: Sha,
        after: Sha,
    },
    Pull {
        pull: Pull,
        head: Sha,
    },
}

/// One reached wave of a rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wave {
    pub number: WaveNumber,
    pub members: Vec<Root>,
    pub state: WaveState,
    /// The newest attempt that was started; 0 before the first.
    pub attempt: Attempt,
    /// The newest plans of its members, as they were digested.
    #[serde(default)]
    pub plans: Vec<Plan>,
    /// Plans that asked for the approval, when a later attempt planned again.
    #[serde(default)]
    pub asked_plans: Vec<Plan>,
    /// Members without a plan, and why.
    #[serde(default)]
    pub unplanned: Vec<Unplanned>,
    #[serde(default)]
    pub applied: Vec<Applied>,
    /// The use of an approval that its running or last apply rests on.
    #[serde(default)]
    pub spent: Option<Use>,
    /// When its state last moved.
    pub moved_at: Timestamp,
}

/// A member that has no plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unplanned {
    pub root: Root,
    pub why: String,
    #[serde(default)]
    pub detail: String,
}

/// Where a wave stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaveState {
    NotStarted,
    /// A job plans it.
    Planning,
    /// It waits for an approval of this digest.
    Waiting {
        digest: Option<Digest>,
        why: String,
    },
    /// A job applies it, under the approval of `by` when one was needed.
    Applying {
        digest: Digest,
        by: Option<String>,
    },
    Applied {
        digest: Digest,
        by: Option<String>,
    },
    /// It had nothing to apply.
    Nothing,
    /// Its plans moved after they were approved; it waits for an approval of what it plans now.
    Refused {
        digest: Option<Digest>,
        moved: Vec<Moved>,
    },
    Failed {
        why: String,
    },
    /// Its job was lost; it can be run again.
    Lost {
        why: String,
    },
    Cancelled,
    StoodDown,
}

impl Rollout {
    /// The commit whose rules judge this rollout.
    pub fn base(&self) -> Base {
        Base(self.base.clone())
    }

    /// What a line on the ledger must name to name this rollout.
    pub fn names(&self) -> Names {
        Names {
            commit: self.commit.clone(),
            taken_over: self.taken_over.clone(),
            pulls: self.pulls.clone(),
        }
    }
}

impl Base {
    /// The commit whose rules judge an open pull request: the tip of its target branch.
    pub fn of_pull(target_tip: &Sha) -> Self {
        Self(target_tip.clone())
    }
}

#[cfg(test)]
mod tests;
