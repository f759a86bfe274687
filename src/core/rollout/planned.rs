//! What the end of a plan job makes of a pull request: its plans, or why there are none.

use crate::core::estate::Survey;
use crate::core::ids::{Root, Sha};
use crate::core::job::{JobEnd, JobKey};
use crate::core::key::DerivedKey;
use crate::core::outcome::Outcome;
use crate::core::plan::Plan;
use crate::core::rollout::pull::{Kept, Planning, PullMemory};
use crate::core::rollout::{Unplanned, ended};

/// Takes the end of a plan job; one of an older attempt changes nothing and answers false.
pub fn planned(memory: &mut PullMemory, job: &JobKey, end: JobEnd, key: &DerivedKey) -> bool {
    let Planning::Running { head } = &memory.planning else {
        return false;
    };
    if memory.running_job().as_ref() != Some(job) {
        return false;
    }
    let head = head.clone();
    let made = found(end, key);
    memory.planning = match (memory.kept.take(), made) {
        (None, Ok(made)) => made.into_planning(head),
        (None, Err(why)) => Planning::Failed { head, why },
        (Some(kept), made) => kept.renewed(made).into_planning(head),
    };
    true
}

/// What a plan job found.
struct Made {
    survey: Survey,
    plans: Vec<Plan>,
    unplanned: Vec<Unplanned>,
}

/// What a plan job found, or why it found nothing.
fn found(end: JobEnd, key: &DerivedKey) -> Result<Made, String> {
    let report = match end {
        JobEnd::Lost { why } => return Err(format!("The plan job was lost: {why}")),
        JobEnd::Said(report) if report.cancelled => {
            return Err("Planning was cancelled.".to_owned());
        }
        JobEnd::Said(report) => report,
    };
    match (report.survey, report.error, report.outcome) {
        (Some(survey), None, Outcome::Done | Outcome::Failed) => {
            let (plans, unplanned) = ended::sorted(ended::sealed(report.plans, key));
            Ok(Made {
                survey,
                plans,
                unplanned,
            })
        }
        (_, error, _) => {
            Err(error
                .unwrap_or_else(|| "The plan job ended without saying what it found.".to_owned()))
        }
    }
}

impl Made {
    fn into_planning(self, head: Sha) -> Planning {
        Planning::Done {
            head,
            survey: self.survey,
            plans: self.plans,
            unplanned: self.unplanned,
        }
    }
}

impl Kept {
    /// All roots after some were planned again: the others keep their last plans, and these have no plan but a new one.
    fn renewed(self, made: Result<Made, String>) -> Made {
        let is_kept = |root: &Root| !self.again.contains(root);
        let kept = Made {
            plans: (self.plans.into_iter())
                .filter(|it| is_kept(&it.root))
                .collect(),
            unplanned: (self.unplanned.into_iter())
                .filter(|it| is_kept(&it.root))
                .collect(),
            survey: self.survey,
        };
        match made {
            Ok(made) => Made {
                survey: made.survey,
                plans: [kept.plans, made.plans].concat(),
                unplanned: [kept.unplanned, made.unplanned].concat(),
            },
            Err(why) => {
                let lost = self.again.into_iter().map(|root| Unplanned {
                    root,
                    why: why.clone(),
                    detail: String::new(),
                });
                Made {
                    unplanned: kept.unplanned.into_iter().chain(lost).collect(),
                    ..kept
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
