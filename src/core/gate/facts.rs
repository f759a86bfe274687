//! The lines of the ledger: what they say, how they are read and written.
//!
//! The formats are chant's and terragucci's, so that approvals of other tools count here: one JSON object a line,
//! `_gates/<op>.jsonl` holds pending facts and resolutions, `_gates/<op>/applied.jsonl` uses and their ends.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::core::ids::{Digest, Gate, Op, PullNumber, Root, Sha, UserId};

/// A fact on its way to the ledger. `id` makes writing it twice the same as once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// A run got here and nobody had approved this digest.
    Pending(Pending),
    /// Somebody approved.
    Approval(Approval),
    /// A wave applies under an approval; written before anything applies.
    Use(Use),
    /// How that apply ended.
    Finished(Finished),
}

/// How long a pending fact stands. Past that the next run writes a new one; an approval is not voided by it.
pub const PENDING_LASTS: SignedDuration = SignedDuration::from_hours(48);

impl Fact {
    /// The id by which writing it twice is the same as once.
    pub fn id(&self) -> &str {
        match self {
            Self::Pending(Pending { id, .. })
            | Self::Approval(Approval { id, .. })
            | Self::Use(Use { id, .. })
            | Self::Finished(Finished { id, .. }) => id,
        }
    }

    /// The op it is recorded under.
    pub fn op(&self) -> &Op {
        match self {
            Self::Pending(Pending { op, .. })
            | Self::Approval(Approval { op, .. })
            | Self::Use(Use { op, .. })
            | Self::Finished(Finished { op, .. }) => op,
        }
    }

    /// The gate it is about.
    pub fn gate(&self) -> &Gate {
        match self {
            Self::Pending(Pending { gate, .. })
            | Self::Approval(Approval { gate, .. })
            | Self::Use(Use { gate, .. })
            | Self::Finished(Finished { gate, .. }) => gate,
        }
    }

    /// The file on the ledger branch that holds such facts.
    pub fn path(&self) -> String {
        match self {
            Self::Pending(_) | Self::Approval(_) => gate_path(self.op()),
            Self::Use(_) | Self::Finished(_) => use_path(self.op()),
        }
    }

    /// The subject of a commit that writes it.
    pub fn subject(&self) -> String {
        let what = match self {
            Self::Pending(_) => "Pending gate record",
            Self::Approval(_) => "Gate resolution record",
            Self::Use(_) => "Applied under approval",
            Self::Finished(_) => "Finished under approval",
        };
        format!("{what}: {} {}", self.op(), self.gate())
    }
}

pub use crate::core::gate::write::stamp;

/// The file of an op's pending facts and approvals.
pub fn gate_path(op: &Op) -> String {
    format!("_gates/{op}.jsonl")
}

/// The file of an op's uses and their ends.
pub fn use_path(op: &Op) -> String {
    format!("_gates/{op}/applied.jsonl")
}

/// A pending fact (chant §2.3, with terragucci's `commit` and `members`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    pub id: String,
    pub op: Op,
    pub gate: Gate,
    pub timestamp: Timestamp,
    pub expires_at: Timestamp,
    pub digest: Digest,
    pub members: Vec<Member>,
    pub commit: Sha,
    pub pr: Option<PullNumber>,
    pub description: String,
    pub url: Option<String>,
}

/// A member of a set and the digest of its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    pub member: Root,
    pub plan_digest: Digest,
}

/// An approval relayed from a comment (DESIGN shows the line).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub id: String,
    pub op: Op,
    pub gate: Gate,
    pub timestamp: Timestamp,
    pub digest: Digest,
    pub resolved_by: String,
    pub user: Option<ForgeUser>,
    pub commit: Sha,
    pub pr: Option<PullNumber>,
    pub url: Option<String>,
}

/// The forge account behind an approval: it survives a change of login.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForgeUser {
    pub forge: String,
    pub id: UserId,
}

/// A use of an approval: its own digest and time, and what applies under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Use {
    pub id: String,
    pub op: Op,
    pub gate: Gate,
    pub timestamp: Timestamp,
    pub digest: Digest,
    pub approved_at: String,
    pub approved_by: String,
    pub members: Vec<Member>,
    pub commit: Sha,
    pub pr: Option<PullNumber>,
    pub run_id: Option<String>,
}

/// The end of a use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    pub id: String,
    pub op: Op,
    pub gate: Gate,
    pub timestamp: Timestamp,
    pub digest: Digest,
    /// The timestamp of the use it closes, as that line has it.
    pub applied: String,
    pub failed: bool,
    /// Members that applied.
    pub members: Vec<Root>,
}
