//! Turns at the gate: a question that is repeated too early is not decided beside the first.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::job::JobKey;

/// The jobs whose gate is being decided right now.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<BTreeSet<JobKey>>>);

/// One job's turn; over when it is dropped.
pub(super) struct Turn {
    turns: Turns,
    job: JobKey,
}

impl Turns {
    /// Takes a job's turn; none while it has one.
    pub(super) fn take(&self, job: &JobKey) -> Option<Turn> {
        self.lock().insert(job.clone()).then(|| Turn {
            turns: self.clone(),
            job: job.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<JobKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.lock().remove(&self.job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::Attempt;

    fn job(attempt: u32) -> JobKey {
        JobKey {
            part: "r-1/wave-1".to_owned(),
            attempt: Attempt(attempt),
        }
    }

    #[test]
    fn a_job_has_one_turn_at_a_time() {
        let turns = Turns::default();
        let first = turns.take(&job(1));
        assert!(first.is_some());
        assert!(turns.take(&job(1)).is_none());
        assert!(turns.take(&job(2)).is_some(), "another job's is its own");
        drop(first);
        assert!(turns.take(&job(1)).is_some());
    }
}
