//! How a rollout moves: which wave is next, what may be run again, and who stands down.

use jiff::Timestamp;

use crate::core::command::{Command, Spelling};
use crate::core::ids::{Attempt, Gate, Root, WaveNumber};
use crate::core::job::{JobKey, JobSpec, Work};
use crate::core::refusal::Refusal;
use crate::core::rollout::{Rollout, Wave, WaveState};

impl Wave {
    /// A wave that no job has looked at yet.
    pub fn new(number: WaveNumber, members: Vec<Root>, now: Timestamp) -> Self {
        Self {
            number,
            members,
            state: WaveState::NotStarted,
            attempt: Attempt(0),
            plans: Vec::new(),
            asked_plans: Vec::new(),
            unplanned: Vec::new(),
            applied: Vec::new(),
            spent: None,
            moved_at: now,
        }
    }

    /// The gate it waits at.
    pub fn gate(&self) -> Gate {
        Gate::of_wave(self.number)
    }

    /// Whether it is behind us: applied, or nothing to apply.
    pub fn is_done(&self) -> bool {
        match self.state {
            WaveState::Applied { .. } | WaveState::Nothing => true,
            WaveState::NotStarted
            | WaveState::Planning
            | WaveState::Waiting { .. }
            | WaveState::Applying { .. }
            | WaveState::Refused { .. }
            | WaveState::Failed { .. }
            | WaveState::Lost { .. }
            | WaveState::Cancelled
            | WaveState::StoodDown => false,
        }
    }

    /// Whether a job of it is under way.
    pub fn is_running(&self) -> bool {
        matches!(self.state, WaveState::Planning | WaveState::Applying { .. })
    }

    pub(super) fn move_to(&mut self, state: WaveState, now: Timestamp) {
        self.state = state;
        self.moved_at = now;
    }
}

impl Rollout {
    /// The wave that is next: the first that is not behind us. None when the rollout is done.
    pub fn current(&self) -> Option<&Wave> {
        self.waves.iter().find(|wave| !wave.is_done())
    }

    /// Whether it still has something to do (a stood down rollout has not).
    pub fn is_open(&self) -> bool {
        self.current()
            .is_some_and(|wave| wave.state != WaveState::StoodDown)
    }

    /// The wave of that number, if it is reached.
    pub fn wave(&self, number: WaveNumber) -> Option<&Wave> {
        self.waves.iter().find(|wave| wave.number == number)
    }

    /// Starts the next wave if no job has looked at it yet; a wave that waits or failed is left to people.
    pub fn advance(&mut self, now: Timestamp) -> Option<JobSpec> {
        let number = self
            .current()
            .filter(|wave| wave.state == WaveState::NotStarted)?
            .number;
        Some(self.start(number, now))
    }

    /// Runs a wave again that waits, was refused, failed, was lost or cancelled; without a number, the current one.
    pub fn call(&mut self, number: Option<WaveNumber>, now: Timestamp) -> Result<JobSpec, Refusal> {
        let number = self.callable(number)?;
        Ok(self.start(number, now))
    }

    /// The wave that a call would run again, or why it runs none.
    pub fn callable(&self, number: Option<WaveNumber>) -> Result<WaveNumber, Refusal> {
        let what = Command::Apply { wave: number }.line(Spelling::Bare);
        let refuse = |why: String, hint: &str| Err(Refusal::new(what.clone(), why, hint));
        let Some(current) = self.current() else {
            return refuse(
                "Every wave of this change has applied.".to_owned(),
                "There is nothing left to run.",
            );
        };
        if let Some(number) = number.filter(|it| *it != current.number) {
            let (why, hint) = self.why_not_current(number, current.number);
            return refuse(why, &hint);
        }
        let number = current.number;
        match current.state {
            WaveState::Waiting { .. }
            | WaveState::Refused { .. }
            | WaveState::Failed { .. }
            | WaveState::Lost { .. }
            | WaveState::Cancelled => Ok(number),
            WaveState::Planning | WaveState::Applying { .. } => refuse(
                format!("wave-{number} is running already."),
                "The note changes when it ends.",
            ),
            WaveState::NotStarted => refuse(
                format!("wave-{number} starts by itself."),
                "The note changes when it does.",
            ),
            WaveState::StoodDown => refuse(
                format!("wave-{number} stood down for a newer push."),
                "The newer push's rollout carries what is left of it.",
            ),
            WaveState::Applied { .. } | WaveState::Nothing => refuse(
                format!("wave-{number} has applied already."),
                "There is nothing left to run in it.",
            ),
        }
    }

    fn why_not_current(&self, wanted: WaveNumber, current: WaveNumber) -> (String, String) {
        let Some(wave) = self.wave(wanted) else {
            let reached: Vec<_> = (self.waves.iter())
                .map(|it| it.gate().to_string())
                .collect();
            return (
                format!("This change does not reach wave-{wanted}."),
                format!("It reaches {}.", reached.join(", ")),
            );
        };
        if wave.is_done() {
            (
                format!("wave-{wanted} has applied already."),
                "There is nothing left to run in it.".to_owned(),
            )
        } else {
            (
                format!("wave-{wanted} comes after wave-{current}, which has not applied."),
                "Waves go out in order.".to_owned(),
            )
        }
    }

    /// The job of a wave's newest attempt.
    pub fn job(&self, number: WaveNumber) -> Option<JobKey> {
        self.wave(number).map(|wave| JobKey {
            part: self.part(number),
            attempt: wave.attempt,
        })
    }

    /// Whether that attempt at a wave may ask its gate: its wave is the one it was started for, and nothing newer took
    /// over. It may ask again, when the answer was lost on its way.
    pub fn is_asking(&self, number: WaveNumber, attempt: Attempt) -> bool {
        self.wave(number)
            .is_some_and(|wave| wave.attempt == attempt && wave.state != WaveState::StoodDown)
    }

    /// Stands down for a newer rollout: waves that no job applies are left to it.
    pub fn stand_down(&mut self, now: Timestamp) {
        for wave in self.waves.iter_mut().filter(|wave| !wave.is_done()) {
            if !matches!(wave.state, WaveState::Applying { .. }) {
                wave.move_to(WaveState::StoodDown, now);
            }
        }
    }

    /// Jobs that only plan so far: a rollout that stands down has them stopped.
    pub fn planning_jobs(&self) -> impl Iterator<Item = JobKey> {
        let planning = self
            .waves
            .iter()
            .filter(|wave| wave.state == WaveState::Planning);
        planning.filter_map(|wave| self.job(wave.number))
    }

    /// Roots of waves that have not applied.
    pub fn left(&self) -> impl Iterator<Item = &Root> {
        self.waves
            .iter()
            .filter(|wave| !wave.is_done())
            .flat_map(|wave| &wave.members)
    }

    fn start(&mut self, number: WaveNumber, now: Timestamp) -> JobSpec {
        let part = self.part(number);
        let wave = self
            .waves
            .iter_mut()
            .find(|wave| wave.number == number)
            .expect("the caller took it from the waves");
        wave.attempt = Attempt(wave.attempt.0 + 1);
        wave.move_to(WaveState::Planning, now);
        let key = JobKey {
            part,
            attempt: wave.attempt,
        };
        let members = wave.members.clone();
        JobSpec {
            key,
            repo: self.repo.clone(),
            commit: self.commit.clone(),
            base: self.base.clone(),
            work: Work::Wave {
                rollout: self.id.clone(),
                op: self.op.clone(),
                wave: number,
                members,
            },
            parallelism: self.parallelism,
        }
    }

    fn part(&self, number: WaveNumber) -> String {
        format!("{}/wave-{number}", self.id)
    }
}

#[cfg(test)]
mod tests;
