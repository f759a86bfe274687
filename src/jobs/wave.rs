//! A wave: its members are planned, the gate is asked, and what it clears is applied, all in one process.

use crate::core::ids::Root;
use crate::core::job::{Applied, Report};
use crate::core::outcome::Outcome;
use crate::engine::Lock;
use crate::jobs::door::Verdict;
use crate::jobs::{Site, report};

/// Plans a wave, asks its gate, and applies it.
pub(super) async fn run(site: &Site, members: &[Root]) -> anyhow::Result<Report> {
    let plans = site
        .engine
        .plan(&site.checkout, members, Lock::Take)
        .await?;
    match site.door.ask(&site.checkout, plans).await? {
        Verdict::Nothing => Ok(report(Outcome::Done)),
        Verdict::Wait => Ok(report(Outcome::Waiting)),
        Verdict::Refuse => Ok(report(Outcome::Refused)),
        Verdict::Fail(why) => Ok(Report {
            error: Some(why),
            ..report(Outcome::Failed)
        }),
        Verdict::StandDown => Ok(report(Outcome::StoodDown)),
        Verdict::Apply(cleared) => {
            let applied = site.engine.apply(&site.checkout, &cleared).await?;
            Ok(Report {
                applied: applied.clone(),
                ..report(outcome(&applied))
            })
        }
    }
}

fn outcome(applied: &[Applied]) -> Outcome {
    if applied.iter().all(|it| it.error.is_none()) {
        Outcome::Done
    } else {
        Outcome::Failed
    }
}
