//! What to do about a pull request's head: plan it, leave it, or say why it is never planned.

use crate::core::command::Command;
use crate::core::ids::{Attempt, Pull, Root, Sha};
use crate::core::job::{JobEnd, JobKey, JobSpec, Work};
use crate::core::key::DerivedKey;
use crate::core::outcome::Outcome;
use crate::core::refusal::Refusal;
use crate::core::rollout::pull::{Planning, PullDetails, PullMemory, PullState};
use crate::core::rollout::step;

/// What a head stands on: read from git and the target branch's tip before anything is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Ground {
    /// The merge base of head and target; none when they share no history.
    pub merge_base: Option<Sha>,
    /// Runs planned at once, or why the rules at the target's tip cannot be read.
    pub rules: Result<u32, String>,
}

/// Why a head is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// The forge said something about it: plan it unless that is done or under way.
    Event,
    /// Somebody asked: plan it again, all of it or only these roots.
    Again { only: Vec<Root> },
}

/// What becomes of a pull request: what we remember, the job to start and the one to stop.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub memory: PullMemory,
    pub start: Option<JobSpec>,
    pub cancel: Option<JobKey>,
}

/// Decides what to do about a pull request's head.
pub fn look(memory: Option<PullMemory>, details: PullDetails, ground: &Ground, wish: Wish) -> Step {
    let mut memory = memory.unwrap_or_else(|| PullMemory::new(details.clone()));
    let running = memory.running_job();
    memory.details = details;
    let head = memory.details.head.clone();
    let base = match may_plan(&memory.details, ground) {
        Ok(base) => base,
        Err(why) => {
            memory.planning = Planning::Not { why };
            return Step {
                memory,
                start: None,
                cancel: running,
            };
        }
    };
    if wish == Wish::Event && memory.planning.is_of(&head) {
        return Step {
            memory,
            start: None,
            cancel: None,
        };
    }
    memory.attempt = Attempt(memory.attempt.0 + 1);
    memory.planning = Planning::Running { head };
    let only = match wish {
        Wish::Event => Vec::new(),
        Wish::Again { only } => only,
    };
    let start = memory
        .running_job()
        .map(|key| plan_job(&memory, key, base, only, ground));
    Step {
        memory,
        start,
        cancel: running,
    }
}

/// Takes the end of a plan job; one of another head or an older attempt changes nothing and answers false.
pub fn planned(memory: &mut PullMemory, job: &JobKey, end: JobEnd, key: &DerivedKey) -> bool {
    if memory.running_job().as_ref() != Some(job) {
        return false;
    }
    let head = memory.details.head.clone();
    memory.planning = match end {
        JobEnd::Lost { why } => Planning::Failed {
            head,
            why: format!("The plan job was lost: {why}"),
        },
        JobEnd::Said(report) if report.cancelled => Planning::Failed {
            head,
            why: "Planning was cancelled.".to_owned(),
        },
        JobEnd::Said(report) => match (report.survey, report.error, report.outcome) {
            (Some(survey), None, Outcome::Done | Outcome::Failed) => {
                let (plans, unplanned) = step::sorted(step::sealed(report.plans, key));
                Planning::Done {
                    head,
                    survey,
                    plans,
                    unplanned,
                }
            }
            (_, error, _) => {
                let why = error.unwrap_or_else(|| {
                    "The plan job ended without saying what it found.".to_owned()
                });
                Planning::Failed { head, why }
            }
        },
    };
    true
}

/// Refuses to plan roots that are not there; nothing is guessed.
pub fn are_known(wanted: &[Root], memory: Option<&PullMemory>) -> Result<(), Refusal> {
    let Some(Planning::Done { survey, .. }) = memory.map(|it| &it.planning) else {
        return Ok(());
    };
    let unknown: Vec<_> = wanted
        .iter()
        .filter(|it| !survey.estate.roots.contains_key(it))
        .collect();
    let Some(first) = unknown.first() else {
        return Ok(());
    };
    let known: Vec<_> = survey
        .estate
        .roots
        .keys()
        .map(|it| format!("`{it}`"))
        .collect();
    Err(Refusal::new(
        Command::Plan {
            roots: wanted.to_vec(),
        }
        .to_string(),
        format!("`{first}` is not a root of this repository."),
        format!("Its roots are {}.", known.join(", ")),
    ))
}

fn may_plan(details: &PullDetails, ground: &Ground) -> Result<Sha, String> {
    match details.state {
        PullState::Open => {}
        PullState::Closed => return Err("The pull request is closed.".to_owned()),
        PullState::Merged { .. } => return Err("The pull request is merged.".to_owned()),
    }
    if details.is_fork() {
        let why = "Its head is in a fork. Code from a fork never runs here, because planning it would give it this \
                   repository's credentials. Push the branch to this repository to have it planned.";
        return Err(why.to_owned());
    }
    if let Err(why) = &ground.rules {
        return Err(format!(
            "The rules at the tip of `{}` cannot be read: {why}",
            details.target
        ));
    }
    ground.merge_base.clone().ok_or_else(|| {
        format!(
            "It shares no history with `{}`, so what it changes cannot be told.",
            details.target
        )
    })
}

fn plan_job(
    memory: &PullMemory,
    key: JobKey,
    base: Sha,
    only: Vec<Root>,
    ground: &Ground,
) -> JobSpec {
    JobSpec {
        key,
        repo: memory.pull.repo.clone(),
        commit: memory.details.head.clone(),
        base,
        work: Work::Plan {
            pull: memory.pull.clone(),
            only,
        },
        parallelism: *ground.rules.as_ref().unwrap_or(&1),
    }
}

impl PullMemory {
    /// What is known of a pull request nobody looked at before.
    pub fn new(details: PullDetails) -> Self {
        Self {
            pull: details.pull.clone(),
            details,
            planning: Planning::Not {
                why: "Nothing was planned yet.".to_owned(),
            },
            attempt: Attempt(0),
        }
    }

    /// The job that plans its head, while one does.
    pub fn running_job(&self) -> Option<JobKey> {
        let Planning::Running { head } = &self.planning else {
            return None;
        };
        let Pull { repo, number } = &self.pull;
        let part = format!("{}/{}#{number}/{head}/plan", repo.forge, repo.id);
        Some(JobKey {
            part,
            attempt: self.attempt,
        })
    }
}

impl Planning {
    /// Whether this head is planned, or being planned.
    pub fn is_of(&self, wanted: &Sha) -> bool {
        match self {
            Self::Not { .. } => false,
            Self::Running { head } | Self::Done { head, .. } | Self::Failed { head, .. } => {
                head == wanted
            }
        }
    }
}
