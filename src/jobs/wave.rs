//! A wave: its members are planned, the gate is asked, and what it clears is applied, all in one process.

use crate::core::ids::{Op, Root, WaveNumber};
use crate::core::job::{Applied, Report};
use crate::core::outcome::Outcome;
use crate::engine::Lock;
use crate::jobs::door::Verdict;
use crate::jobs::{Site, report};

/// Which wave, and of what.
pub(super) struct Part<'a> {
    pub(super) op: &'a Op,
    pub(super) number: WaveNumber,
    pub(super) members: &'a [Root],
}

/// Plans a wave, asks its gate, and applies it.
pub(super) async fn run(mut site: Site, part: Part<'_>) -> anyhow::Result<Report> {
    let Part {
        op,
        number,
        members,
    } = part;
    site.checkout.op = op.clone();
    site.checkout.waves = members.iter().map(|it| (it.clone(), number)).collect();
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
