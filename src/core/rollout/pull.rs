//! A pull request as its forge tells it, and what we remember of it.

use serde::{Deserialize, Serialize};

use crate::core::estate::Survey;
use crate::core::ids::{Actor, Attempt, Branch, Pull, RepoId, Sha};
use crate::core::plan::Plan;
use crate::core::rollout::Unplanned;

/// A pull request, read from the forge just now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PullDetails {
    pub pull: Pull,
    pub title: String,
    pub url: String,
    pub author: Actor,
    pub head: Sha,
    /// The repository the head lives in; none when it is gone.
    pub head_repo: Option<RepoId>,
    pub target: Branch,
    pub is_draft: bool,
    pub state: PullState,
}

/// Whether a pull request is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PullState {
    Open,
    Closed,
    /// Merged, as this commit of the target branch when the forge says which.
    Merged {
        commit: Option<Sha>,
    },
}

impl PullDetails {
    /// Whether its head comes from another repository: such code never runs.
    pub fn is_fork(&self) -> bool {
        self.head_repo != Some(self.pull.repo.id)
    }
}

/// What we remember of a pull request. Stored whole, as one document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PullMemory {
    pub pull: Pull,
    /// As last read from the forge.
    pub details: PullDetails,
    pub planning: Planning,
    /// The newest attempt at planning this head.
    pub attempt: Attempt,
}

/// How planning the head stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Planning {
    /// Nothing was planned; `why` is a sentence for people (a fork, rules that cannot be read).
    Not {
        why: String,
    },
    /// A job plans this head.
    Running {
        head: Sha,
    },
    Done {
        head: Sha,
        survey: Survey,
        plans: Vec<Plan>,
        unplanned: Vec<Unplanned>,
    },
    Failed {
        head: Sha,
        why: String,
    },
}
