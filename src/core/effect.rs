//! All that we can do about an event; each safe to repeat.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::core::event::Event;
use crate::core::gate::facts::Fact;
use crate::core::ids::{CommentId, Digest, Gate, Pull, Repo, Sha};
use crate::core::job::{JobKey, JobSpec};

/// Something we do to the world. Performing a list twice leaves the world as once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The one note of a pull request: found by its marker and our own author id, edited in place.
    Note { pull: Pull, note: Note },
    /// An answer to one comment; `key` keeps it from being posted twice.
    Reply {
        pull: Pull,
        key: String,
        text: String,
    },
    /// A status on a commit; the context makes it one.
    Status {
        repo: Repo,
        commit: Sha,
        status: Status,
    },
    /// A reaction to a comment.
    React {
        pull: Pull,
        comment: CommentId,
        reaction: Reaction,
    },
    /// A fact on the ledger, once by its id.
    Record { repo: Repo, fact: Fact },
    /// A job, once by its key.
    Start(Box<JobSpec>),
    /// Stops a job: interrupt first, then kill.
    Cancel(JobKey),
    /// Merges a pull request, at this head only.
    Merge { pull: Pull, head: Sha },
    /// An event of our own, filed in its lane once the effects before it are done.
    Follow(Box<Event>),
}

/// A note's text and the approvals it asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub text: String,
    pub asks: Vec<Ask>,
}

/// One approval that a note asks for: what a person who reads it would approve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub gate: Gate,
    pub digest: Digest,
}

/// An ask, and when the forge says it could first be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownAsk {
    pub ask: Ask,
    pub shown_at: Timestamp,
}

/// One line beside a commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub context: StatusContext,
    pub state: StatusState,
    /// At most 140 characters; a forge room cuts it to its own limit.
    pub description: String,
    /// The page to open, when there is one.
    pub url: Option<String>,
}

/// The two statuses we keep on every head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatusContext {
    Plan,
    Apply,
}

impl StatusContext {
    /// The context as the forge shows it: `tidegate/plan`, `tidegate/apply`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "tidegate/plan",
            Self::Apply => "tidegate/apply",
        }
    }
}

/// How a status stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatusState {
    Pending,
    Success,
    Failure,
}

/// How we answer a comment at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reaction {
    /// Seen, being done.
    Eyes,
    /// Done.
    Rocket,
    /// Refused; a reply says why.
    Confused,
}
