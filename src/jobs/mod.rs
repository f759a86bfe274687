//! What a job does in a checkout: gather, decide, act.

pub mod door;
mod lease;
mod plan;
pub mod preview;
mod source;
mod wave;
mod workplace;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::core::job::{JobSpec, Report, Work};
use crate::core::outcome::Outcome;
use crate::engine::{self, Checkout, Engine};
use crate::jobs::door::Door;
use crate::jobs::lease::Lease;
use crate::jobs::source::Source;
use crate::jobs::workplace::Workplace;
use crate::runner::Runner;

/// What a job is told by whoever starts it; the rest it asks its server.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// A folder of its own; what it writes there is gone when it ends, but for a state that could not be uploaded.
    pub folder: PathBuf,
    /// Names and values that the tool's processes get.
    pub env: Vec<(String, String)>,
    /// The tool's program, when the repository is not asked.
    pub tool: Option<PathBuf>,
    /// Our own program, which has the tool interrupted when this process dies.
    pub wrapper: Option<PathBuf>,
    /// Interrupts the job.
    pub stop: CancellationToken,
}

/// What a job may reach: a commit's files, the tool that plans and applies, and the door of its gate.
pub struct Site {
    pub checkout: Checkout,
    pub engine: Arc<dyn Engine>,
    pub door: Door,
}

/// Carries out the job that `runner` speaks for, from its spec to its report. An error means that it could not even
/// report.
pub async fn carry_out(runner: Arc<Runner>, options: &JobOptions) -> anyhow::Result<Outcome> {
    let spec = runner.spec().await?;
    let workplace = Workplace::make(&options.folder)?;
    let checkout = checkout(workplace.folder(), &spec, options);
    let lease = Lease::keep(&runner, &checkout);
    let ended = work(&runner, &spec, checkout, options).await;
    let mut report = ended.unwrap_or_else(|error| failed(&error));
    match lease.lost() {
        Some(why) => report.error = Some(why),
        None => report.cancelled = options.stop.is_cancelled(),
    }
    runner.end(&report).await?;
    Ok(report.outcome)
}

async fn work(
    runner: &Arc<Runner>,
    spec: &JobSpec,
    mut checkout: Checkout,
    options: &JobOptions,
) -> anyhow::Result<Report> {
    let source = Source::fetch(runner, spec, &checkout).await?;
    checkout.files.clone_from(source.files());
    let (given, wrapper) = (options.tool.as_deref(), options.wrapper.clone());
    let commands = source.project().commands.clone();
    let engine = engine::choose(commands, given, wrapper, &checkout)?;
    let site = Site {
        checkout,
        engine,
        door: Door::Served(runner.clone()),
    };
    match &spec.work {
        Work::Plan { only, .. } => {
            let survey = source.survey().await?;
            plan::run(site.checkout, site.engine.as_ref(), survey, only).await
        }
        Work::Wave {
            op, wave, members, ..
        } => {
            wave::run(
                site,
                wave::Part {
                    op,
                    number: *wave,
                    members,
                },
            )
            .await
        }
    }
}

fn checkout(folder: &Path, spec: &JobSpec, options: &JobOptions) -> Checkout {
    Checkout {
        env: options.env.clone(),
        parallelism: spec.parallelism as usize,
        stop: options.stop.clone(),
        ..Checkout::below(folder)
    }
}

/// The report of a job that stopped at an error of its own.
fn failed(error: &anyhow::Error) -> Report {
    Report {
        error: Some(format!("{error:#}")),
        ..report(Outcome::Failed)
    }
}

/// What a repository says of itself cannot be, or what was asked of it: nothing was planned.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub String);

/// A report that says no more than how the job ended.
fn report(outcome: Outcome) -> Report {
    Report {
        outcome,
        cancelled: false,
        plans: Vec::new(),
        applied: Vec::new(),
        error: None,
        survey: None,
    }
}

#[cfg(test)]
mod tests;
