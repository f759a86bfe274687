//! What a job is, and every message between a job and its server. The formats are the product's own.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::core::estate::Survey;
use crate::core::ids::{Attempt, Digest, Op, Pull, Repo, RolloutId, Root, Sha, WaveNumber};
use crate::core::outcome::Outcome;
use crate::core::plan::Planned;

/// One try at one part of the work; a newer attempt makes the older ones void.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey {
    /// What it is about: `<rollout>/wave-<n>` or `<host>/<repo>#<pull>/<head>/plan`.
    pub part: String,
    pub attempt: Attempt,
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.attempt)
    }
}

/// A unit of work: what to do, at which commit, under whose rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    pub key: JobKey,
    pub repo: Repo,
    /// The commit to work on.
    pub commit: Sha,
    /// What `commit` is compared with to find what it reaches (the merge base of a pull request).
    pub base: Sha,
    pub work: Work,
    /// Runs planned or applied at once.
    pub parallelism: u32,
}

/// What a job does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Finds what a pull request's head reaches and plans it; changes nothing.
    Plan { pull: Pull, only: Vec<Root> },
    /// Plans one wave, asks its gate, and applies it.
    Wave {
        rollout: RolloutId,
        op: Op,
        wave: WaveNumber,
        members: Vec<Root>,
    },
}

impl Work {
    /// Whether it may change the world, and so gets the credentials for applying.
    pub fn applies(&self) -> bool {
        match self {
            Self::Plan { .. } => false,
            Self::Wave { .. } => true,
        }
    }
}

/// A wave job's question: may these plans be applied?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub plans: Vec<Planned>,
}

/// The server's answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Terraform has nothing to do in this wave.
    Nothing,
    /// These plans may be applied.
    Apply(Clearance),
    /// Somebody has to approve; the job ends (3).
    Wait { digest: Option<Digest>, why: String },
    /// Plans moved after they were approved; nothing applies (4).
    Refuse {
        moved: Vec<Moved>,
        digest: Option<Digest>,
    },
    /// A member has no plan, so nothing of the wave applies (1).
    Fail { why: String },
    /// A newer push took over (6).
    StandDown,
}

/// What the server cleared: compared with the plans in hand before anything applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clearance {
    /// The wave's set digest.
    pub set: Digest,
    /// The id of the use fact, when an approval was spent.
    pub use_id: Option<String>,
    /// Per member that applies: the SHA-256 (hex) of the subject the job sent.
    pub members: Vec<ClearedMember>,
    /// Members that plan a change but applied before under this approval: they are left alone.
    #[serde(default)]
    pub left_alone: Vec<Root>,
}

/// One member of a [`Clearance`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearedMember {
    pub root: Root,
    pub subject_sha256: String,
}

/// A member whose plan is not the one that was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    pub root: Root,
    /// What was approved; none when the approved set did not have this member.
    pub approved: Option<Digest>,
    /// What it plans now; none when it plans nothing any more.
    pub now: Option<Digest>,
}

/// How one run's apply ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    pub root: Root,
    /// What went wrong, in a sentence; none when it applied.
    pub error: Option<String>,
}

/// A beat: the job lives; what it is doing, for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    pub doing: String,
}

/// The server's answer to a [`Beat`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeatAnswer {
    /// Stop: interrupt what runs, write state, end.
    pub cancel: bool,
    /// How long this beat keeps the job's lease.
    pub lease_seconds: u32,
}

/// How a job ended, as it says itself or as the server concludes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobEnd {
    /// The job said so itself.
    Said(Report),
    /// Its lease ran out, or its process is gone without a word.
    Lost { why: String },
}

/// What a job reports at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub outcome: Outcome,
    /// Whether it was told to stop.
    #[serde(default)]
    pub cancelled: bool,
    /// The plans it made (a plan job; a wave job sent its own with the question).
    #[serde(default)]
    pub plans: Vec<Planned>,
    /// What it applied, in order.
    #[serde(default)]
    pub applied: Vec<Applied>,
    /// What went wrong outside any one run, in a sentence.
    #[serde(default)]
    pub error: Option<String>,
    /// What a plan job found the change to reach.
    #[serde(default)]
    pub survey: Option<Survey>,
}
