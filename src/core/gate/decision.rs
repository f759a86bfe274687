//! What a gate decides: a value to act on, and to show to people.

use std::fmt;

use crate::core::gate::change::Rewrite;
use crate::core::gate::facts::{Pending, Use};
use crate::core::gate::lines::Complaint;
use crate::core::ids::{Digest, Root};
use crate::core::job::{Clearance, Moved};

/// What becomes of a wave at its gate, and the facts to write before anybody acts on it.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Terraform has nothing to do, or nothing is left of what was approved.
    Nothing,
    Apply {
        clearance: Clearance,
        /// The use to write first; none when no approval was needed or its use stands already.
        spend: Option<Use>,
        /// Who approved, when somebody had to.
        by: Option<String>,
    },
    Wait {
        /// What has to be approved; none when it is not known yet.
        digest: Option<Digest>,
        why: Why,
        /// The request to write; none when one stands.
        pending: Option<Pending>,
    },
    /// Plans moved after they were approved.
    Refuse {
        approved: Digest,
        by: String,
        moved: Vec<Moved>,
        digest: Digest,
        pending: Pending,
    },
    /// A run has no plan, or the runs are not the wave's: nothing can be decided.
    Fail { why: String },
}

/// Why a wave waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// These runs read roots that have never applied.
    Deferred(Vec<Root>),
    NotApproved,
    /// The same, and these lines of the ledger cannot be read.
    Damaged(Vec<Complaint>),
    /// No approval counts before somebody accepts what became of the ledger.
    Rewritten(Rewrite),
    /// The newest approval is of these plans, and was used.
    UsedUp {
        by: String,
    },
    /// The newest approval is of other plans, which were applied.
    OtherUsed {
        approved: Digest,
        by: String,
    },
    /// What is left of an approved wave plans something else now.
    LeftMoved {
        by: String,
        moved: Vec<Moved>,
    },
    /// `sealed` counts only seals, and this version cannot verify one.
    Sealed,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deferred(roots) => write!(
                f,
                "{} cannot be planned before what it reads has applied.",
                names(roots)
            ),
            Self::NotApproved => f.write_str("Nobody has approved these plans yet."),
            Self::Damaged(complaints) => damaged(f, complaints),
            Self::Rewritten(rewrite) => rewrite.fmt(f),
            Self::UsedUp { by } => write!(
                f,
                "The approval of these plans by {by} was used already; one approval is one application."
            ),
            Self::OtherUsed { approved, by } => write!(
                f,
                "The newest approval ({}, by {by}) is of other plans, which were applied.",
                approved.short()
            ),
            Self::LeftMoved { by, moved } => write!(
                f,
                "What is left of the wave that {by} approved plans something else now: {}.",
                names(moved.iter().map(|it| &it.root))
            ),
            Self::Sealed => f.write_str(
                "Only sealed approvals count here, and this version cannot verify a seal yet, so none counts.",
            ),
        }
    }
}

/// Names the newest lines that cannot be read.
fn damaged(f: &mut fmt::Formatter<'_>, complaints: &[Complaint]) -> fmt::Result {
    const NAMED: usize = 3;
    let (newest, older) = complaints.split_at(complaints.len().min(NAMED));
    for (at, complaint) in newest.iter().enumerate() {
        let sentence = complaint.to_string();
        let sentence = sentence.strip_prefix("line").unwrap_or(&sentence);
        write!(f, "{}Line{sentence}.", if at == 0 { "" } else { " " })?;
    }
    if !older.is_empty() {
        write!(f, " So it is with {} more.", older.len())?;
    }
    f.write_str(" Approvals that stand before such a line do not count; nobody has approved these plans since.")
}

/// Roots as they stand in a sentence.
pub(super) fn names<'a>(roots: impl IntoIterator<Item = &'a Root>) -> String {
    let roots: Vec<_> = roots.into_iter().map(|it| format!("`{it}`")).collect();
    roots.join(", ")
}
