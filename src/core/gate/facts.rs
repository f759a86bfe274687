//! The lines of the ledger: what they say, how they are read and written.
//!
//! The formats are chant's and terragucci's, so that approvals of other tools count here: one JSON object a line,
//! `_gates/<op>.jsonl` holds pending facts and resolutions, `_gates/<op>/applied.jsonl` uses and their ends.

use jiff::Timestamp;
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
