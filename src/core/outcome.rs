//! How a command or a job ended, and the exit code that says so.

use serde::{Deserialize, Serialize};

/// The end of a command or of a job; the exit codes are part of the product (DESIGN, "Exit codes").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Everything asked for is done, or there was nothing to do.
    Done,
    /// A plan or an apply failed.
    Failed,
    /// The command line or the configuration is wrong; nothing was changed.
    Usage,
    /// A wave waits for an approval.
    Waiting,
    /// Plans moved after an approval; nothing was applied.
    Refused,
    /// Stood down for a newer push.
    StoodDown,
}

impl Outcome {
    /// The process exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waiting => 3,
            Self::Refused => 4,
            Self::StoodDown => 6,
        }
    }
}
