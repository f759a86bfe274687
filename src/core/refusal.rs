//! What a person asked that cannot be done: a value, shown to them, never logged as an error.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why something asked for is not done, and what to do about it. Each part is a sentence or a clause of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What was asked: `/approve wave-2`.
    pub what: String,
    /// Why it is not done, as a full sentence.
    pub why: String,
    /// What to do next, as a full sentence; empty when there is nothing to do.
    pub hint: String,
}

impl Refusal {
    /// A refusal of `what` because of `why`, with what to do next.
    pub fn new(what: impl Into<String>, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)?;
        if self.hint.is_empty() {
            Ok(())
        } else {
            write!(f, " {}", self.hint)
        }
    }
}
