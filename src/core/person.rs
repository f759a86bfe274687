//! Who somebody is to a repository: their role, and the reviews they gave.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::core::ids::{Actor, Sha};
use crate::core::refusal::Refusal;

/// What the forge lets somebody do in a repository, read at that moment, never from a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    None,
    Read,
    Write,
    Admin,
}

impl Role {
    /// Refuses the command `what` of somebody who may not write.
    pub fn may_command(self, what: &str) -> Result<(), Refusal> {
        match self {
            Self::Write | Self::Admin => Ok(()),
            Self::None | Self::Read => Err(Refusal::new(
                what,
                "Commands need write access to this repository.",
                "Ask somebody who has it.",
            )),
        }
    }
}

/// A review as the forge tells it; which ones count is decided in `core::gate::approval`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    pub actor: Actor,
    pub verdict: Verdict,
    /// The commit it is about; GitLab's approvals name none.
    pub commit: Option<Sha>,
    pub at: Timestamp,
}

/// What a review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
}
