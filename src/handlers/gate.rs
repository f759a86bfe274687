//! The server's side of the gate: a wave job asks, the ledger and the rules at base answer.

use anyhow::Context;
use jiff::Timestamp;

use crate::core::gate::decide::{self, Decision, Inputs};
use crate::core::ids::{RolloutId, WaveNumber};
use crate::core::job::{Answer, JobSpec, Question, Work};
use crate::core::rollout::Rollout;
use crate::core::rollout::planning;
use crate::core::rollout::step::Asked;
use crate::handlers::App;
use crate::handlers::desk::Desk;
use crate::ledger::Ledger;

/// Answers a wave job's question, and records what the answer rests on before it is given.
pub async fn ask(app: &App, job: &JobSpec, question: Question, now: Timestamp) -> anyhow::Result<Answer> {
    let Work::Wave { rollout: id, wave, .. } = &job.work else {
        anyhow::bail!("the job {} has no gate to ask at", job.key);
    };
    let (rollout, _) = stored(app, id).await?;
    todo(rollout, wave, question, now)
}
