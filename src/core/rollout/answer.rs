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
    /// The use that was spent just now.
    pub spent: Option<Use>,
    /// What must stand on the ledger before the job is told.
    pub facts: Vec<Fact>,
}

impl From<Decision> for Decided {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Nothing => Self::without_facts(Answer::Nothing, WaveState::Nothing),
            Decision::Apply { clearance, spend, by } => {
                let state = WaveState::Applying { digest: clearance.set.clone(), by };
                let facts = spend.iter().cloned().map(Fact::Use).collect();
                Self { answer: Answer::Apply(clearance), state, spent: spend, facts }
            }
            Decision::Wait { digest, why, pending } => {
                let why = why.to_string();
                let state = WaveState::Waiting { digest: digest.clone(), why: why.clone() };
                let facts = pending.into_iter().map(Fact::Pending).collect();
                Self { answer: Answer::Wait { digest, why }, state, spent: None, facts }
            }
            Decision::Refuse { moved, digest, pending, approved: _, by: _ } => {
                let state = WaveState::Refused { digest: Some(digest.clone()), moved: moved.clone() };
                let answer = Answer::Refuse { moved, digest: Some(digest) };
                Self { answer, state, spent: None, facts: vec![Fact::Pending(pending)] }
            }
            Decision::Fail { why } => {
                Self::without_facts(Answer::Fail { why: why.clone() }, WaveState::Failed { why })
            }
        }
    }
}

impl Decided {
    /// A gate whose rules cannot be read: the wave waits, and nothing applies.
    pub fn unreadable(why: &str) -> Self {
        let why = format!("The rules at the base commit cannot be read, so nothing applies: {why}");
        Self::without_facts(Answer::Wait { digest: None, why: why.clone() }, WaveState::Waiting { digest: None, why })
    }

    fn without_facts(answer: Answer, state: WaveState) -> Self {
        Self { answer, state, spent: None, facts: Vec::new() }
    }
}
