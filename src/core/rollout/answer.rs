//! What a gate's decision means: for the job that asked, for the wave, and for the ledger.

use crate::core::gate::decide::Decision;
use crate::core::gate::facts::{Fact, Use};
use crate::core::ids::Digest;
use crate::core::job::Answer;
use crate::core::rollout::WaveState;

/// A gate's decision, taken apart for those who act on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// What the job is told.
    pub answer: Answer,
    /// Where the wave stands from now on.
    pub state: WaveState,
    /// What must stand on the ledger before the job is told.
    pub facts: Vec<Fact>,
}

impl From<Decision> for Decided {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Nothing => Self::new(Answer::Nothing, WaveState::Nothing, None),
            Decision::Apply {
                clearance,
                spend,
                by,
            } => {
                let digest = clearance.set.clone();
                let state = WaveState::Applying { digest, by };
                Self::new(Answer::Apply(clearance), state, spend.map(Fact::Use))
            }
            Decision::Wait {
                digest,
                why,
                pending,
            } => Self::waits(digest, why.to_string(), pending.map(Fact::Pending)),
            Decision::Refuse {
                moved,
                digest,
                pending,
                approved: _,
                by: _,
            } => {
                let (digest, pending) = (Some(digest), Some(Fact::Pending(pending)));
                let state = WaveState::Refused {
                    digest: digest.clone(),
                    moved: moved.clone(),
                };
                Self::new(Answer::Refuse { moved, digest }, state, pending)
            }
            Decision::Fail { why } => Self::new(
                Answer::Fail { why: why.clone() },
                WaveState::Failed { why },
                None,
            ),
        }
    }
}

impl Decided {
    /// A gate whose rules cannot be read: the wave waits, and nothing applies.
    pub fn unreadable(why: &str) -> Self {
        let why = format!("The rules at the base commit cannot be read, so nothing applies: {why}");
        Self::waits(None, why, None)
    }

    fn waits(digest: Option<Digest>, why: String, fact: Option<Fact>) -> Self {
        let state = WaveState::Waiting {
            digest: digest.clone(),
            why: why.clone(),
        };
        Self::new(Answer::Wait { digest, why }, state, fact)
    }

    fn new(answer: Answer, state: WaveState, fact: Option<Fact>) -> Self {
        Self {
            answer,
            state,
            facts: fact.into_iter().collect(),
        }
    }

    /// The use of an approval that is spent now.
    pub fn spent(&self) -> Option<&Use> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::Use(spent) => Some(spent),
            Fact::Pending(_) | Fact::Approval(_) | Fact::Finished(_) => None,
        })
    }
}

#[cfg(test)]
mod tests;
