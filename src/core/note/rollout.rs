//! A rollout's waves: where each stands, and what somebody has to do about those that stopped.

use std::collections::BTreeSet;

use crate::core::command::{Allowed, Command, Target};
use crate::core::effect::StatusState;
use crate::core::gate::change::Rewrite;
use crate::core::gate::lines::Complaint;
use crate::core::ids::Digest;
use crate::core::job::Moved;
use crate::core::note::text::{cell, code, count, prose};
use crate::core::note::wave::{Approvers, WaveView, how_to_run_again};
use crate::core::plan::Plan;
use crate::core::rollout::{Rollout, Wave, WaveState};

/// The rollout's waves, by number.
pub(super) fn waves<'a>(rollout: &'a Rollout, allowed: &Allowed) -> Vec<WaveView<'a>> {
    let approvers = Approvers {
        allowed,
        authors: rollout.authors.iter().collect(),
    };
    let mut waves: Vec<&Wave> = rollout.waves.iter().collect();
    waves.sort_by_key(|it| it.number);
    let views = waves.into_iter().map(|it| view(it, &approvers));
    views.collect()
}

fn view<'a>(wave: &'a Wave, approvers: &Approvers) -> WaveView<'a> {
    let sorted = |plans: &'a [Plan]| {
        let mut plans: Vec<&Plan> = plans.iter().collect();
        plans.sort_by_key(|it| &it.root);
        plans
    };
    let plans = sorted(&wave.plans);
    let shown: BTreeSet<&Digest> = plans.iter().map(|it| &it.digest).collect();
    let mut asked = sorted(&wave.asked_plans);
    asked.retain(|it| !shown.contains(&it.digest));
    let mut unplanned: Vec<_> = wave.unplanned.iter().collect();
    unplanned.sort_by_key(|it| &it.root);
    let mut members: Vec<_> = wave.members.iter().collect();
    members.sort();
    WaveView {
        number: wave.number,
        members,
        plans,
        asked,
        unplanned,
        applied: &wave.applied,
        digest: digest(&wave.state),
        state: state(&wave.state),
        call: call(wave, approvers),
        asks: matches!(
            wave.state,
            WaveState::Waiting { .. } | WaveState::Refused { .. }
        ),
    }
}

fn digest(state: &WaveState) -> Option<&Digest> {
    match state {
        WaveState::Waiting { digest, .. } | WaveState::Refused { digest, .. } => digest.as_ref(),
        WaveState::Applying { digest, .. } | WaveState::Applied { digest, .. } => Some(digest),
        WaveState::NotStarted
        | WaveState::Planning
        | WaveState::Nothing
        | WaveState::Failed { .. }
        | WaveState::Lost { .. }
        | WaveState::Cancelled
        | WaveState::StoodDown => None,
    }
}

fn state(state: &WaveState) -> String {
    let under = |by: &Option<String>| {
        by.as_ref()
            .map_or_else(String::new, |it| format!(", approved by {}", cell(it)))
    };
    match state {
        WaveState::NotStarted => "not started".to_owned(),
        WaveState::Planning => "planning".to_owned(),
        WaveState::Waiting { .. } => "**waits for an approval**".to_owned(),
        WaveState::Applying { by, .. } => format!("applying{}", under(by)),
        WaveState::Applied { by, .. } => format!("applied{}", under(by)),
        WaveState::Nothing => "nothing to apply".to_owned(),
        WaveState::Refused { .. } => "**refused**: its plans moved".to_owned(),
        WaveState::Failed { .. } => "**failed**".to_owned(),
        WaveState::Lost { .. } => "**lost**".to_owned(),
        WaveState::Cancelled => "cancelled".to_owned(),
        WaveState::StoodDown => "stood down".to_owned(),
    }
}

fn call(wave: &Wave, approvers: &Approvers) -> Option<String> {
    let number = wave.number;
    let approve = |digest: &Option<Digest>| match digest {
        Some(digest) => approvers.how(number, digest),
        None => format!(
            "There is no plan to approve. Run it again once that is mended:\n\n{}",
            how_to_run_again(number, approvers.allowed)
        ),
    };
    let again = || how_to_run_again(number, approvers.allowed);
    let call = match &wave.state {
        WaveState::Waiting { digest, why } => {
            format!(
                "**Wave {number} waits for an approval.** {} {}",
                prose(why),
                approve(digest)
            )
        }
        WaveState::Refused { digest, moved } => format!(
            "**Wave {number} applied nothing: its plans changed after they were approved.**\n\n{}\n\
             Look at what it plans now, further down, and approve that if it is right. {}",
            moves(moved),
            approve(digest)
        ),
        WaveState::Failed { why } => format!(
            "**Wave {number} failed.** {} What applied stays applied. \
             Once the cause is gone, run the wave again; it plans anew:\n\n{}",
            prose(why),
            again()
        ),
        WaveState::Lost { why } => format!(
            "**The job of wave {number} was lost.** {} What it had applied stays applied. \
             Run the wave again; it plans anew and asks its gate anew:\n\n{}",
            prose(why),
            again()
        ),
        WaveState::Cancelled => {
            format!(
                "**Wave {number} was cancelled.** To run it again:\n\n{}",
                again()
            )
        }
        WaveState::NotStarted
        | WaveState::Planning
        | WaveState::Applying { .. }
        | WaveState::Applied { .. }
        | WaveState::Nothing
        | WaveState::StoodDown => return None,
    };
    Some(format!("\n{call}"))
}

fn moves(moved: &[Moved]) -> String {
    let shown = |digest: &Option<Digest>, none: &str| {
        digest
            .as_ref()
            .map_or_else(|| none.to_owned(), |it| code(it.short()))
    };
    let mut rows: Vec<&Moved> = moved.iter().collect();
    rows.sort_by_key(|it| &it.root);
    let rows: String = rows
        .into_iter()
        .map(|it| {
            let approved = shown(&it.approved, "was not in it");
            let now = shown(&it.now, "nothing any more");
            format!("| {} | {approved} | {now} |\n", cell(&it.root))
        })
        .collect();
    format!("| root | approved | plans now |\n|---|---|---|\n{rows}")
}

/// How a rollout stands as a whole, and the command that gets it going again.
pub(super) struct Standing {
    pub(super) state: StatusState,
    pub(super) words: String,
    pub(super) next: Option<Command>,
}

/// How a rollout stands: as the wave of it does that needs somebody most.
pub(super) fn standing(rollout: &Rollout) -> Standing {
    let mut waves: Vec<&Wave> = rollout.waves.iter().collect();
    waves.sort_by_key(|it| (urgency(&it.state), it.number));
    let Some(first) = waves.first() else {
        return Standing {
            state: StatusState::Success,
            words: "nothing to apply".to_owned(),
            next: None,
        };
    };
    let wave = format!("wave-{}", first.number);
    let (state, words) = match &first.state {
        WaveState::Refused { .. } => (
            StatusState::Failure,
            format!("{wave} refused, its plans moved"),
        ),
        WaveState::Failed { .. } => (StatusState::Failure, format!("{wave} failed")),
        WaveState::Lost { .. } => (StatusState::Failure, format!("{wave} was lost")),
        WaveState::Cancelled => (StatusState::Failure, format!("{wave} was cancelled")),
        WaveState::Waiting { why, .. } => (StatusState::Pending, waits(&wave, why)),
        WaveState::Applying { .. } => (StatusState::Pending, format!("{wave} applies")),
        WaveState::Planning => (StatusState::Pending, format!("{wave} plans")),
        WaveState::NotStarted => (StatusState::Pending, format!("{wave} is next")),
        WaveState::StoodDown => {
            let words = "stood down: a newer push applies these roots".to_owned();
            (StatusState::Success, words)
        }
        WaveState::Applied { .. } | WaveState::Nothing => (StatusState::Success, done(rollout)),
    };
    Standing {
        state,
        words,
        next: next(first),
    }
}

/// That a wave waits, and for what, where it is not just for an approval.
fn waits(wave: &str, why: &str) -> String {
    let is_held = Rewrite::is_why(why) || Complaint::starts(why);
    match why.split_once(". ") {
        Some((first, _)) if is_held => format!("{wave} waits: {first}"),
        _ => format!("{wave} waits"),
    }
}

fn next(wave: &Wave) -> Option<Command> {
    let number = wave.number;
    match wave.state {
        WaveState::Refused {
            digest: Some(_), ..
        }
        | WaveState::Waiting {
            digest: Some(_), ..
        } => Some(Command::Approve {
            target: Some(Target::Wave(number)),
            digest: None,
        }),
        WaveState::Refused { digest: None, .. }
        | WaveState::Waiting { digest: None, .. }
        | WaveState::Failed { .. }
        | WaveState::Lost { .. }
        | WaveState::Cancelled => Some(Command::Apply { wave: Some(number) }),
        WaveState::NotStarted
        | WaveState::Planning
        | WaveState::Applying { .. }
        | WaveState::Applied { .. }
        | WaveState::Nothing
        | WaveState::StoodDown => None,
    }
}

/// What needs a person comes first; what is finished, last.
fn urgency(state: &WaveState) -> u8 {
    match state {
        WaveState::Refused { .. } => 0,
        WaveState::Failed { .. } => 1,
        WaveState::Lost { .. } => 2,
        WaveState::Cancelled => 3,
        WaveState::Waiting { .. } => 4,
        WaveState::Applying { .. } => 5,
        WaveState::Planning => 6,
        WaveState::StoodDown => 7,
        WaveState::NotStarted => 8,
        WaveState::Applied { .. } => 9,
        WaveState::Nothing => 10,
    }
}

fn done(rollout: &Rollout) -> String {
    let applied = |it: &&Wave| matches!(it.state, WaveState::Applied { .. });
    let number = rollout.waves.iter().filter(applied).count();
    match (number, rollout.waves.len() - number) {
        (0, _) => "nothing to apply".to_owned(),
        (_, 0) => format!("applied: {}", count(number, "wave")),
        (_, nothing) => format!(
            "applied: {}, {nothing} had nothing to do",
            count(number, "wave")
        ),
    }
}
