//! The server's side of the gate: a wave job asks, the ledger and the rules at base answer.

use jiff::Timestamp;

use crate::core::job::{Answer, JobSpec, Question};
use crate::handlers::App;

/// Answers a wave job's question, and records what the answer rests on before it is given.
pub async fn ask(
    _app: &App,
    _job: &JobSpec,
    _question: Question,
    _now: Timestamp,
) -> anyhow::Result<Answer> {
    Ok(Answer::Nothing)
}
