//! A pull request as its forge tells it, and what we remember of it.

use serde::{Deserialize, Serialize};

use crate::core::estate::Survey;
use crate::core::ids::{Actor, Attempt, Branch, Pull, RepoId, Root, Sha};
use crate::core::job::JobKey;
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
    /// Who pushed to it since it was opened.
    #[serde(default)]
    pub pushers: Vec<Actor>,
    pub planning: Planning,
    /// The commit that the newest attempt compares its head with; none before the first.
    #[serde(default)]
    pub base: Option<Sha>,
    /// What stays while only some roots of the head are planned again.
    #[serde(default)]
    pub kept: Option<Kept>,
    /// The newest attempt at planning, whichever head it was of.
    pub attempt: Attempt,
}

/// A finished planning of which some roots are being planned again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    pub again: Vec<Root>,
    pub survey: Survey,
    /// The plans of all roots, as they were made last.
    pub plans: Vec<Plan>,
    pub unplanned: Vec<Unplanned>,
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

impl PullMemory {
    /// What is known of a pull request nobody looked at before.
    pub fn new(details: PullDetails) -> Self {
        Self {
            pull: details.pull.clone(),
            details,
            pushers: Vec::new(),
            planning: Planning::Not {
                why: "Nothing was planned yet.".to_owned(),
            },
            base: None,
            kept: None,
            attempt: Attempt(0),
        }
    }

    /// The head whose planning `after` leaves for another head; its status must not stay as it is.
    pub fn head_left_by(&self, after: &Self) -> Option<&Sha> {
        match &self.planning {
            Planning::Running { head } => Some(head).filter(|it| **it != after.details.head),
            Planning::Not { .. } | Planning::Done { .. } | Planning::Failed { .. } => None,
        }
    }

    /// Whose change it is: who opened it, and who pushed to it.
    pub fn authors(&self) -> Vec<Actor> {
        let author = std::iter::once(&self.details.author);
        author.chain(&self.pushers).cloned().collect()
    }

    /// The job that plans its head, while one does.
    pub fn running_job(&self) -> Option<JobKey> {
        match &self.planning {
            Planning::Running { head } => Some(self.job(head)),
            Planning::Not { .. } | Planning::Done { .. } | Planning::Failed { .. } => None,
        }
    }

    /// The newest attempt's job, which plans this head.
    pub(super) fn job(&self, head: &Sha) -> JobKey {
        let Pull { repo, number } = &self.pull;
        JobKey {
            part: format!("{}/{}#{number}/{head}/plan", repo.forge, repo.id),
            attempt: self.attempt,
        }
    }

    /// What its newest finished planning found, also while some of its roots are planned again.
    pub fn survey(&self) -> Option<&Survey> {
        match &self.planning {
            Planning::Done { survey, .. } => Some(survey),
            Planning::Running { .. } => self.kept.as_ref().map(|it| &it.survey),
            Planning::Not { .. } | Planning::Failed { .. } => None,
        }
    }

    /// Whether its head is planned, or being planned, against this commit.
    pub(super) fn is_planned_on(&self, base: &Sha) -> bool {
        let head = match &self.planning {
            Planning::Not { .. } => return false,
            Planning::Running { head }
            | Planning::Done { head, .. }
            | Planning::Failed { head, .. } => head,
        };
        *head == self.details.head && self.base.as_ref() == Some(base)
    }

    /// What stays while these roots are planned again, beside those that already are; none when there is nothing to
    /// keep, so that all has to be planned.
    pub(super) fn keep(&self, again: &[Root]) -> Option<Kept> {
        if again.is_empty() {
            return None;
        }
        let mut kept = match &self.planning {
            Planning::Done {
                survey,
                plans,
                unplanned,
                ..
            } => Kept {
                again: Vec::new(),
                survey: survey.clone(),
                plans: plans.clone(),
                unplanned: unplanned.clone(),
            },
            Planning::Running { .. } => self.kept.clone()?,
            Planning::Not { .. } | Planning::Failed { .. } => return None,
        };
        for root in again {
            if !kept.again.contains(root) {
                kept.again.push(root.clone());
            }
        }
        Some(kept)
    }
}
