//! A preview: what a change reaches is planned, and nothing is changed.

use crate::core::estate::{Estate, Survey};
use crate::core::ids::Root;
use crate::core::job::Report;
use crate::core::outcome::Outcome;
use crate::core::plan::{PlanResult, Planned};
use crate::engine::{Checkout, Engine, Lock};
use crate::jobs::report;

/// Plans what a change reaches; with `only`, no more than those roots of it.
pub(super) async fn run(
    mut checkout: Checkout,
    engine: &dyn Engine,
    (survey, before): (Survey, Estate),
    only: &[Root],
) -> anyhow::Result<Report> {
    let reads = survey.estate.roots.iter();
    checkout.reads = reads
        .map(|(root, facts)| (root.clone(), facts.reads.clone()))
        .collect();
    let waves = survey.estate.reached_waves(&survey.reach);
    for wave in &waves {
        let members = wave.members.iter().map(|it| (it.clone(), wave.number));
        checkout.waves.extend(members);
    }
    let members: Vec<Root> = waves
        .into_iter()
        .flat_map(|it| it.members)
        .filter(|it| only.is_empty() || only.contains(it))
        .collect();
    let mut plans = engine.plan(&checkout, &members, Lock::Leave).await?;
    for Planned { root, result } in &mut plans {
        if let PlanResult::Made(draft) = result {
            draft
                .remarks
                .extend(survey.estate.moved_state(&before, root));
        }
    }
    Ok(Report {
        survey: Some(survey),
        plans: plans.clone(),
        ..report(outcome(&plans))
    })
}

fn outcome(plans: &[Planned]) -> Outcome {
    let has_failed = |it: &Planned| match it.result {
        PlanResult::Failed { .. } => true,
        PlanResult::Made(_) | PlanResult::Deferred { .. } => false,
    };
    if plans.iter().any(has_failed) {
        Outcome::Failed
    } else {
        Outcome::Done
    }
}
