//! The two statuses on a head: what its plan came to, and how its rollout stands.

use crate::core::command::Spelling;
use crate::core::effect::{Status, StatusContext, StatusState};
use crate::core::note::PullNote;
use crate::core::note::plan::{self, Planned};
use crate::core::note::rollout;
use crate::core::note::text::visible;
use crate::core::rollout::Rollout;
use crate::core::rollout::pull::{Planning, PullState};

/// The longest description, in characters.
const LONGEST: usize = 140;

/// `tidegate/plan` of a pull request's head. Pending only while a job plans it.
pub fn of_plan(input: &PullNote) -> Status {
    let (state, words) = match &input.memory.planning {
        Planning::Not { .. } if input.memory.details.is_fork() => (
            StatusState::Failure,
            "not planned: the commits are in a fork".to_owned(),
        ),
        Planning::Not { .. } if input.memory.details.state == PullState::Closed => {
            (StatusState::Success, "closed: nothing to plan".to_owned())
        }
        Planning::Not { why } => (StatusState::Failure, format!("not planned: {why}")),
        Planning::Running { .. } => (StatusState::Pending, "planning".to_owned()),
        Planning::Failed { why, .. } => (StatusState::Failure, why.clone()),
        Planning::Done {
            survey,
            plans,
            unplanned,
            ..
        } => {
            let planned = Planned {
                survey,
                plans,
                unplanned,
            };
            plan::summary(&planned, &plan::waves(input, &planned))
        }
    };
    status(StatusContext::Plan, (state, words), input.page)
}

/// `tidegate/plan` of a head that another one took the place of before its plan was made.
pub fn of_left_head() -> Status {
    let words = "not planned: a newer push took its place".to_owned();
    status(StatusContext::Plan, (StatusState::Failure, words), None)
}

/// `tidegate/apply`: of the rollout, or of an open pull request, whose merge nothing holds up. Pending only while a
/// wave runs, waits, or is still to come.
pub fn of_apply(input: &PullNote) -> Status {
    let summary = match input.rollout {
        Some(rollout) => stands(rollout, input.allowed.spelling),
        None => before_the_merge(input),
    };
    status(StatusContext::Apply, summary, input.page)
}

fn stands(rollout: &Rollout, spelling: Spelling) -> (StatusState, String) {
    let standing = rollout::standing(rollout);
    let words = match standing.next {
        Some(next) => format!("{}: {}", standing.words, next.line(spelling)),
        None => standing.words,
    };
    (standing.state, words)
}

/// `tidegate/apply` of a rollout's commit.
pub fn of_rollout(rollout: &Rollout, spelling: Spelling, page: &str) -> Status {
    status(StatusContext::Apply, stands(rollout, spelling), Some(page))
}

/// Nothing holds up a merge but code that cannot be planned: it could not be applied either.
fn before_the_merge(input: &PullNote) -> (StatusState, String) {
    match (&input.memory.details.state, &input.memory.planning) {
        (PullState::Closed, _) => (StatusState::Success, "closed: nothing applies".to_owned()),
        (PullState::Open, Planning::Failed { .. }) => {
            let words = "it could not be planned, so it could not be applied".to_owned();
            (StatusState::Failure, words)
        }
        (PullState::Open | PullState::Merged { .. }, _) => {
            (StatusState::Success, after_the_merge(input))
        }
    }
}

fn after_the_merge(input: &PullNote) -> String {
    if let Some(branch) = input.elsewhere() {
        return format!("nothing: {branch} is not the default branch");
    }
    let Planning::Done {
        survey,
        plans,
        unplanned,
        ..
    } = &input.memory.planning
    else {
        return "applies after the merge".to_owned();
    };
    let planned = Planned {
        survey,
        plans,
        unplanned,
    };
    let waves = plan::waves(input, &planned);
    let asking: Vec<String> = waves
        .iter()
        .filter(|it| it.asks)
        .map(|it| format!("wave-{}", it.number))
        .collect();
    match asking.as_slice() {
        _ if waves.is_empty() => "nothing to apply".to_owned(),
        [] => "applies after the merge".to_owned(),
        [only] => format!("applies after the merge; {only} will wait for an approval"),
        many => format!(
            "applies after the merge; {} waves will wait for approvals",
            many.len()
        ),
    }
}

fn status(
    context: StatusContext,
    (state, words): (StatusState, String),
    page: Option<&str>,
) -> Status {
    let words = visible(&words);
    let description = if words.chars().count() > LONGEST {
        words.chars().take(LONGEST - 1).chain(['…']).collect()
    } else {
        words
    };
    Status {
        context,
        state,
        description,
        url: page.map(str::to_owned),
    }
}
