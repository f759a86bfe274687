//! Pull requests and what people say about them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::core::ids::{CommentId, PullNumber, RepoId, Sha, UserId};
use crate::core::person::Verdict;

/// A pull request's place: its repository and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PullKey {
    pub(crate) repo: RepoId,
    pub(crate) number: PullNumber,
}

/// A pull request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) key: PullKey,
    pub(crate) author: UserId,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) state: PullState,
    pub(crate) head: Head,
    pub(crate) base: Base,
    pub(crate) size: Size,
    /// Whether it merges without a conflict.
    pub(crate) is_mergeable: bool,
    /// Whether the forge found out since the last push if it merges; until it did, Forgejo merges nothing.
    #[serde(default)]
    pub(crate) is_checked: bool,
    pub(crate) merge: Option<Merge>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) closed_at: Option<Timestamp>,
}

impl Pull {
    pub(crate) fn is_open(&self) -> bool {
        self.state == PullState::Open
    }
}

/// Whether a pull request can still be merged. A merged one is closed and has a [`Merge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PullState {
    Open,
    Closed,
}

impl PullState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

/// The branch that is to be merged, perhaps in a fork.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) repo: RepoId,
    pub(crate) branch: String,
    pub(crate) sha: Sha,
}

/// The branch it is to be merged into, and its tip when the head was last looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Base {
    pub(crate) branch: String,
    pub(crate) sha: Sha,
}

/// How much a pull request changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Size {
    pub(crate) commits: u64,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
    pub(crate) files: u64,
}

/// How a pull request was merged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Merge {
    /// The commit that brought it into the base branch.
    pub(crate) commit: Sha,
    pub(crate) by: UserId,
    pub(crate) at: Timestamp,
}

/// A comment on a pull request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Comment {
    pub(crate) id: CommentId,
    pub(crate) pull: PullKey,
    pub(crate) author: UserId,
    pub(crate) body: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// An emoji somebody gave a comment, by its short name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reaction {
    pub(crate) id: u64,
    pub(crate) comment: CommentId,
    pub(crate) author: UserId,
    pub(crate) emoji: String,
    pub(crate) at: Timestamp,
}

/// A review of a pull request at one commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) pull: PullKey,
    pub(crate) author: UserId,
    pub(crate) body: String,
    pub(crate) verdict: Verdict,
    pub(crate) commit: Sha,
    /// Whether it was taken back.
    #[serde(default)]
    pub(crate) is_dismissed: bool,
    /// Whether its author could write when they gave it; only the newest verdict of each counts so.
    #[serde(default)]
    pub(crate) is_official: bool,
    /// Whether what the pull request changes has changed since.
    #[serde(default)]
    pub(crate) is_stale: bool,
    pub(crate) at: Timestamp,
}

impl Review {
    /// What it says as long as it stands, and that it was taken back.
    pub(crate) fn stands(&self) -> Verdict {
        if self.is_dismissed {
            Verdict::Dismissed
        } else {
            self.verdict
        }
    }

    /// Whether it approves or refuses, taken back or not.
    pub(crate) fn is_verdict(&self) -> bool {
        matches!(self.verdict, Verdict::Approved | Verdict::ChangesRequested)
    }
}

/// A line beside a commit; the newest of a context counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) id: u64,
    pub(crate) repo: RepoId,
    pub(crate) commit: Sha,
    pub(crate) state: Check,
    pub(crate) context: String,
    pub(crate) description: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) author: UserId,
    pub(crate) at: Timestamp,
}

/// How a status stands, in the order in which one outweighs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    Success,
    Pending,
    Failure,
    Error,
}

impl Check {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Pending => "pending",
            Self::Failure => "failure",
            Self::Error => "error",
        }
    }
}
