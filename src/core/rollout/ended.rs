//! What becomes of a wave: the gate's answer to its plans, and the end of its job.

use jiff::Timestamp;

use crate::core::gate::facts::{Finished, Use};
use crate::core::ids::WaveNumber;
use crate::core::job::{Applied, JobEnd, JobKey, Report};
use crate::core::key::DerivedKey;
use crate::core::outcome::Outcome;
use crate::core::plan::mask::Run;
use crate::core::plan::{Plan, Planned};
use crate::core::rollout::answer::Decided;
use crate::core::rollout::{Rollout, Unplanned, WaveState};

/// What the gate saw and decided, as the wave remembers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub(super) plans: Vec<Plan>,
    pub(super) unplanned: Vec<Unplanned>,
    pub(super) state: WaveState,
    pub(super) spent: Option<Use>,
}

impl Asked {
    /// What was decided about these runs.
    pub fn new(decided: &Decided, runs: Vec<Run>) -> Self {
        let (plans, unplanned) = sorted(runs);
        Self {
            plans,
            unplanned,
            state: decided.state.clone(),
            spent: decided.spent().cloned(),
        }
    }
}

/// Seals what a job planned; a draft that is not one is a run that failed, with the reason.
pub fn sealed(planned: Vec<Planned>, key: &DerivedKey) -> Vec<Run> {
    let seal = |planned: Planned| {
        let root = planned.root.clone();
        planned.seal(key).unwrap_or_else(|error| Run::Failed {
            root,
            why: error.to_string(),
            detail: String::new(),
        })
    };
    planned.into_iter().map(seal).collect()
}

/// Sorts runs into plans, and members without one with the reason.
pub fn sorted(runs: Vec<Run>) -> (Vec<Plan>, Vec<Unplanned>) {
    let (mut plans, mut unplanned) = (Vec::new(), Vec::new());
    for run in runs {
        match run {
            Run::Planned(plan) => plans.push(*plan),
            Run::Failed { root, why, detail } => unplanned.push(Unplanned { root, why, detail }),
            Run::Deferred { root, waits_for } => {
                let names: Vec<_> = waits_for.iter().map(|it| format!("`{it}`")).collect();
                let why = format!(
                    "It waits for {}, which has never applied.",
                    names.join(", ")
                );
                unplanned.push(Unplanned {
                    root,
                    why,
                    detail: String::new(),
                });
            }
        }
    }
    (plans, unplanned)
}

impl Rollout {
    /// Takes what the gate decided about a wave's plans.
    pub fn answered(&mut self, number: WaveNumber, asked: Asked, now: Timestamp) {
        let Some(wave) = self.waves.iter_mut().find(|wave| wave.number == number) else {
            return;
        };
        if let WaveState::Waiting { .. } | WaveState::Refused { .. } = asked.state {
            wave.asked_plans.clone_from(&asked.plans);
        }
        wave.plans = asked.plans;
        wave.unplanned = asked.unplanned;
        // An apply that goes on under a use that stands already spends nothing new.
        wave.spent = asked.spent.or_else(|| wave.spent.take());
        wave.move_to(asked.state, now);
    }

    /// Takes the end of a wave's job; an older attempt changes nothing. Answers the fact that closes the use of an
    /// approval, when one was spent and the job could say how it ended.
    pub fn ended(
        &mut self,
        number: WaveNumber,
        job: &JobKey,
        end: &JobEnd,
        now: Timestamp,
    ) -> Option<Finished> {
        let wave = self.waves.iter_mut().find(|wave| wave.number == number)?;
        if wave.attempt != job.attempt || !(wave.is_running() || wave.state == WaveState::Nothing) {
            return None;
        }
        let report = match end {
            JobEnd::Lost { why } => {
                wave.move_to(WaveState::Lost { why: why.clone() }, now);
                return None;
            }
            JobEnd::Said(report) => report,
        };
        wave.applied.extend(report.applied.iter().cloned());
        let finished = wave.spent.as_ref().map(|spent| finish(spent, report, now));
        let state = state_after(&wave.state, report);
        wave.move_to(state, now);
        finished
    }
}

fn finish(spent: &Use, report: &Report, now: Timestamp) -> Finished {
    Finished {
        id: format!("{}/finished", spent.id),
        op: spent.op.clone(),
        gate: spent.gate.clone(),
        timestamp: now,
        digest: spent.digest.clone(),
        applied: spent.timestamp.to_string(),
        failed: report.outcome != Outcome::Done,
        members: report
            .applied
            .iter()
            .filter(|it| it.error.is_none())
            .map(|it| it.root.clone())
            .collect(),
    }
}

fn state_after(state: &WaveState, report: &Report) -> WaveState {
    if report.cancelled {
        return WaveState::Cancelled;
    }
    match (state, report.outcome) {
        (WaveState::Applying { digest, by }, Outcome::Done) => WaveState::Applied {
            digest: digest.clone(),
            by: by.clone(),
        },
        (WaveState::Nothing, Outcome::Done) => WaveState::Nothing,
        (_, Outcome::StoodDown) => WaveState::StoodDown,
        (
            _,
            Outcome::Done | Outcome::Failed | Outcome::Usage | Outcome::Waiting | Outcome::Refused,
        ) => WaveState::Failed {
            why: why_failed(report),
        },
    }
}

fn why_failed(report: &Report) -> String {
    let failed: Vec<&Applied> = report
        .applied
        .iter()
        .filter(|it| it.error.is_some())
        .collect();
    match (&report.error, failed.as_slice()) {
        (Some(error), _) => error.clone(),
        (None, []) => "The job ended before its gate decided.".to_owned(),
        (None, [one]) => format!("`{}` did not apply.", one.root),
        (None, several) => format!("{} roots did not apply.", several.len()),
    }
}
