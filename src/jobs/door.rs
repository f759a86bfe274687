//! Where a wave job asks whether its plans may be applied.

use std::sync::Arc;

use anyhow::{Context, ensure};

use crate::core::gate::admit::{Cleared, admit};
use crate::core::job::{Answer, Question};
use crate::core::plan::Planned;
use crate::engine::Checkout;
use crate::runner::Runner;

/// A gate's door: the decision is the same behind each.
pub enum Door {
    /// The server reads, decides and records.
    Served(Arc<Runner>),
}

/// What a wave job may do.
#[derive(Debug)]
pub enum Verdict {
    Nothing,
    Apply(Cleared),
    Wait,
    Refuse,
    /// A member has no plan.
    Fail(String),
    StandDown,
}

impl Door {
    /// Asks whether these plans may be applied. A job that was told to stop does not ask: an approval would be spent.
    pub async fn ask(&self, checkout: &Checkout, plans: Vec<Planned>) -> anyhow::Result<Verdict> {
        ensure!(
            !checkout.stop.is_cancelled(),
            "the job was told to stop before it asked its gate"
        );
        checkout.doing.send_replace("asking the gate".to_owned());
        let Self::Served(runner) = self;
        let question = Question { plans };
        let answer = runner.ask(&question).await.context("cannot ask the gate")?;
        Ok(match answer {
            Answer::Nothing => Verdict::Nothing,
            Answer::Apply(clearance) => {
                Verdict::Apply(admit(question.plans, &clearance).context("nothing was applied")?)
            }
            Answer::Wait { .. } => Verdict::Wait,
            Answer::Refuse { .. } => Verdict::Refuse,
            Answer::Fail { why } => Verdict::Fail(why),
            Answer::StandDown => Verdict::StandDown,
        })
    }
}
