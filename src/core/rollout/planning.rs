//! What to do about a pull request's head: plan it, leave it, or say why it is never planned.

use crate::core::command::Command;
use crate::core::estate::Survey;
use crate::core::ids::{Actor, Attempt, Root, Sha};
use crate::core::job::{JobKey, JobSpec, Work};
use crate::core::refusal::Refusal;
use crate::core::rollout::pull::{Planning, PullDetails, PullMemory, PullState};

/// What a head stands on: read from git and the target branch's tip before anything is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Ground {
    /// The merge base of head and target; none when they share no history.
    pub merge_base: Option<Sha>,
    /// Runs planned at once, or why the rules at the target's tip cannot be read.
    pub rules: Result<u32, String>,
    /// What the change reaches, where it can be seen without a job that this is nothing.
    pub nothing: Option<Survey>,
}

/// Why a head is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// The forge said something about it: plan it unless that is done or under way.
    Event,
    /// Somebody pushed to it: the same, and the change is theirs too.
    Pushed { by: Actor },
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

/// Decides what to do about a pull request's head. Planning it is done or under way only for the commit it is compared
/// with, too: after a change of its target the same head may reach something else.
pub fn look(memory: Option<PullMemory>, details: PullDetails, ground: &Ground, wish: Wish) -> Step {
    let mut memory = memory.unwrap_or_else(|| PullMemory::new(details.clone()));
    if let Wish::Pushed { by } = &wish {
        // Where nobody is named, it may be the push that was heard of already.
        let is_known = *by == Actor::nobody() && memory.details.head == details.head;
        if !is_known {
            memory.pushed_by(by);
        }
    }
    if details.state != PullState::Open {
        return closed(memory, details);
    }
    let running = memory.running_job();
    memory.details = details;
    let (base, parallelism) = match may_plan(&memory.details, ground) {
        Ok(found) => found,
        Err(why) => return memory.rest(why),
    };
    let is_known = memory.is_planned_on(&base);
    let again = match wish {
        Wish::Event | Wish::Pushed { .. } if is_known => return Step::nothing(memory),
        Wish::Event | Wish::Pushed { .. } => Vec::new(),
        Wish::Again { only } => only,
    };
    if let Some(survey) = &ground.nothing {
        return Step {
            cancel: running,
            ..memory.reaches_nothing(base, survey.clone())
        };
    }
    memory.kept = memory.keep(&again).filter(|_| is_known);
    memory.attempt = Attempt(memory.attempt.0 + 1);
    memory.base = Some(base.clone());
    let head = memory.details.head.clone();
    let start = JobSpec {
        key: memory.job(&head),
        repo: memory.pull.repo.clone(),
        commit: head.clone(),
        base,
        work: Work::Plan {
            pull: memory.pull.clone(),
            only: memory.kept.iter().flat_map(|it| it.again.clone()).collect(),
        },
        parallelism,
    };
    memory.planning = Planning::Running { head };
    Step {
        memory,
        start: Some(start),
        cancel: running,
    }
}

/// Decides what becomes of a pull request that its forge closed: nothing of it is planned any more. What was planned
/// of a merged head stays, for it says what the rollout reaches.
pub fn closed(memory: PullMemory, details: PullDetails) -> Step {
    let is_planned = match &memory.planning {
        Planning::Not { .. } | Planning::Running { .. } => false,
        Planning::Done { head, .. } | Planning::Failed { head, .. } => *head == details.head,
    };
    let why = match details.state {
        // It was opened again since; what is to be done about that comes with its own event.
        PullState::Open => return Step::nothing(memory),
        PullState::Merged { .. } if is_planned => {
            return Step::nothing(PullMemory { details, ..memory });
        }
        PullState::Merged { .. } => {
            "It was merged before its plan was made. Its waves plan before they apply."
        }
        PullState::Closed => "The pull request is closed. Reopen it to have it planned.",
    };
    PullMemory { details, ..memory }.rest(why.to_owned())
}

/// Refuses to plan roots that are not there or that the change does not reach; nothing is guessed. Before the first
/// plan of a pull request its roots are not known, and all of it is planned whatever was named.
pub fn are_reached(wanted: &[Root], survey: Option<&Survey>) -> Result<(), Refusal> {
    let Some(survey) = survey else {
        return Ok(());
    };
    let (roots, reached) = (&survey.estate.roots, &survey.reach.members);
    let Some(first) = wanted.iter().find(|it| !reached.contains(*it)) else {
        return Ok(());
    };
    let (why, hint) = if roots.contains_key(first) {
        let why =
            format!("This change does not reach `{first}`, so there is nothing to plan in it.");
        (why, format!("It reaches {}.", listed(reached)))
    } else {
        let why = format!("`{first}` is not a root of this repository.");
        (why, format!("Its roots are {}.", listed(roots.keys())))
    };
    let what = Command::Plan {
        roots: wanted.to_vec(),
    };
    Err(Refusal::new(what.to_string(), why, hint))
}

fn listed<'a>(roots: impl IntoIterator<Item = &'a Root>) -> String {
    let roots: Vec<_> = roots.into_iter().map(|it| format!("`{it}`")).collect();
    match roots.as_slice() {
        [] => "none".to_owned(),
        roots => roots.join(", "),
    }
}

/// The commit to compare the head with and how many runs to plan at once, or why it is not planned.
fn may_plan(details: &PullDetails, ground: &Ground) -> Result<(Sha, u32), String> {
    let target = &details.target;
    if details.is_fork() {
        let why = "Its head is in a fork. Code from a fork never runs here, because planning it would give it this \
                   repository's credentials. Push the branch to this repository to have it planned.";
        return Err(why.to_owned());
    }
    match (&ground.rules, &ground.merge_base) {
        (Err(why), _) => Err(format!(
            "The rules at the tip of `{target}` cannot be read: {why}"
        )),
        (Ok(_), None) => Err(format!(
            "It shares no history with `{target}`, so what it changes cannot be told."
        )),
        (Ok(parallelism), Some(base)) => Ok((base.clone(), *parallelism)),
    }
}

impl PullMemory {
    fn pushed_by(&mut self, actor: &Actor) {
        if !self.pushers.iter().any(|it| it.id == actor.id) {
            self.pushers.push(actor.clone());
        }
    }

    /// There is nothing to plan in its head, which needs no job.
    fn reaches_nothing(mut self, base: Sha, survey: Survey) -> Step {
        self.base = Some(base);
        self.kept = None;
        self.planning = Planning::Done {
            head: self.details.head.clone(),
            survey,
            plans: Vec::new(),
            unplanned: Vec::new(),
        };
        Step::nothing(self)
    }

    /// Nothing of it is planned, for this reason.
    fn rest(mut self, why: String) -> Step {
        let cancel = self.running_job();
        self.planning = Planning::Not { why };
        self.kept = None;
        Step {
            memory: self,
            start: None,
            cancel,
        }
    }
}

impl Step {
    fn nothing(memory: PullMemory) -> Self {
        Self {
            memory,
            start: None,
            cancel: None,
        }
    }

    /// Why a head that somebody asked to have planned is not.
    pub fn refusal(&self) -> Option<Refusal> {
        let is_open = self.memory.details.state == PullState::Open;
        let why = match (&self.start, &self.memory.planning) {
            (Some(_), _) => return None,
            (None, Planning::Not { why }) => why.as_str(),
            (None, Planning::Done { .. }) if is_open => {
                "This change reaches no root, so there is nothing to plan."
            }
            (None, Planning::Running { .. } | Planning::Done { .. } | Planning::Failed { .. }) => {
                "The pull request is merged. Its waves plan before they apply."
            }
        };
        Some(Refusal::new("/plan", why, ""))
    }
}

#[cfg(test)]
mod tests;
