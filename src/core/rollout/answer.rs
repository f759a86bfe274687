//! What a gate's decision means: for the job that asked, for the wave, and for the ledger.

use crate::core::gate::decide::Decision;
use crate::core::gate::facts::{Fact, Use};
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
        let (answer, state, facts) = match decision {
            Decision::Nothing => (Answer::Nothing, WaveState::Nothing, Vec::new()),
            Decision::Apply {
                clearance,
                spend,
                by,
            } => {
                let state = WaveState::Applying {
                    digest: clearance.set.clone(),
                    by,
                };
                (
                    Answer::Apply(clearance),
                    state,
                    spend.into_iter().map(Fact::Use).collect(),
                )
            }
            Decision::Wait {
                digest,
                why,
                pending,
            } => {
                let why = why.to_string();
                let state = WaveState::Waiting {
                    digest: digest.clone(),
                    why: why.clone(),
                };
                (
                    Answer::Wait { digest, why },
                    state,
                    pending.into_iter().map(Fact::Pending).collect(),
                )
            }
            Decision::Refuse {
                moved,
                digest,
                pending,
                approved: _,
                by: _,
            } => {
                let digest = Some(digest);
                let state = WaveState::Refused {
                    digest: digest.clone(),
                    moved: moved.clone(),
                };
                (
                    Answer::Refuse { moved, digest },
                    state,
                    vec![Fact::Pending(pending)],
                )
            }
            Decision::Fail { why } => (
                Answer::Fail { why: why.clone() },
                WaveState::Failed { why },
                Vec::new(),
            ),
        };
        Self {
            answer,
            state,
            facts,
        }
    }
}

impl Decided {
    /// A gate whose rules cannot be read: the wave waits, and nothing applies.
    pub fn unreadable(why: &str) -> Self {
        let why = format!("The rules at the base commit cannot be read, so nothing applies: {why}");
        Self {
            answer: Answer::Wait {
                digest: None,
                why: why.clone(),
            },
            state: WaveState::Waiting { digest: None, why },
            facts: Vec::new(),
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
