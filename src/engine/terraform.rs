//! Terraform and OpenTofu: init, plan, show and apply of one root at a time, side by side.

mod backend;
mod complaint;
mod deferral;
mod draft;
mod failure;
mod place;
mod run;
mod source;

use std::future::Future;
use std::io;

use anyhow::Context;
use async_trait::async_trait;
use futures::StreamExt;

use crate::core::gate::admit::Cleared;
use crate::core::ids::Root;
use crate::core::job::Applied;
use crate::core::plan::{Draft, Planned, Remark};
use crate::engine::made::AllMade;
use crate::engine::progress::Progress;
use crate::engine::terraform::failure::Failure;
use crate::engine::terraform::run::Run;
use crate::engine::terraform::source::Source;
use crate::engine::{Checkout, Engine, Lock, Tool};

/// The tool, and the plan files it made in this process: nothing else is ever applied.
pub struct Terraform {
    tool: Tool,
    made: AllMade,
}

impl Terraform {
    /// An engine that made no plan yet.
    pub fn new(tool: Tool) -> Self {
        Self {
            tool,
            made: AllMade::default(),
        }
    }

    async fn plan_one(&self, run: &Run<'_>, source: &Source, lock: Lock) -> Result<Draft, Failure> {
        let lost = run.loses_state()?;
        if let (Lock::Take, Some(why)) = (lock, lost) {
            return Err(Failure::new(format!("Not planned to be applied: {why}")));
        }
        let mut draft = match run.plan(lock).await? {
            None => draft::of(run, source, None)?,
            Some(made) => {
                let draft = draft::of(run, source, Some(run.show(&made).await?))?;
                match lock {
                    Lock::Take => self.made.keep(run.root(), made),
                    Lock::Leave => made.discard(),
                }
                draft
            }
        };
        draft.remarks.extend(lost.map(|why| Remark {
            address: None,
            text: format!("A wave will not apply it: {why}."),
        }));
        Ok(draft)
    }

    async fn apply_one(&self, run: &Run<'_>) -> Result<(), Failure> {
        let made = self.made.take(run.root()).ok_or_else(|| {
            Failure::new("Nothing was applied: this job holds no plan file of this root")
        })?;
        run.apply(&made).await
    }
}

#[async_trait]
impl Engine for Terraform {
    async fn plan(
        &self,
        checkout: &Checkout,
        members: &[Root],
        lock: Lock,
    ) -> anyhow::Result<Vec<Planned>> {
        place::prepare(checkout)?;
        let sources = gather(checkout, members)?;
        let runs: Vec<Run> = members
            .iter()
            .map(|root| Run::new(&self.tool, checkout, root))
            .collect();
        let ready = init_all(checkout, &runs).await;
        let progress = Progress::start(checkout, "planning", members.len());
        let tries = runs
            .iter()
            .zip(&sources)
            .zip(ready)
            .map(|((run, source), ready)| async {
                let result = match ready {
                    Ok(()) => self.plan_one(run, source, lock).await,
                    Err(failure) => Err(failure),
                };
                progress.count(result)
            });
        let width = checkout.parallelism.max(1);
        let results = at_once(width, tries.collect()).await;
        let results = members.iter().cloned().zip(results).collect();
        Ok(deferral::settle(results, &checkout.reads))
    }

    async fn apply(&self, checkout: &Checkout, cleared: &Cleared) -> anyhow::Result<Vec<Applied>> {
        let plans = cleared.plans();
        let progress = Progress::start(checkout, "applying", plans.len());
        let width = checkout.parallelism.max(1);
        let tries = plans.iter().map(|planned| async {
            let run = Run::new(&self.tool, checkout, &planned.root);
            let ended = progress.count(self.apply_one(&run).await);
            Applied {
                root: planned.root.clone(),
                error: ended.err().map(Failure::into_sentence),
            }
        });
        Ok(at_once(width, tries.collect()).await)
    }
}

/// Read before any tool runs: `init` leaves files in a root, and what runs while planning may change others.
fn gather(checkout: &Checkout, members: &[Root]) -> anyhow::Result<Vec<Source>> {
    let sources = members.iter().map(|root| Source::gather(checkout, root));
    sources
        .collect::<io::Result<_>>()
        .context("cannot read what the roots' providers and provisioners refer to")
}

/// One init at a time may write to a cache that others read, and none while a plan uses what it holds.
async fn init_all(checkout: &Checkout, runs: &[Run<'_>]) -> Vec<Result<(), Failure>> {
    let width = if place::has_shared_cache(checkout) {
        1
    } else {
        checkout.parallelism.max(1)
    };
    let progress = Progress::start(checkout, "initialising", runs.len());
    let inits = runs
        .iter()
        .map(|run| async { progress.count(run.init().await) });
    at_once(width, inits.collect()).await
}

/// Carries out work, at most `width` at once; the results stand in the work's order.
async fn at_once<F: Future>(width: usize, work: Vec<F>) -> Vec<F::Output> {
    let numbered: Vec<_> = work
        .into_iter()
        .enumerate()
        .map(|(at, work)| async move { (at, work.await) })
        .collect();
    let mut ended: Vec<_> = futures::stream::iter(numbered)
        .buffer_unordered(width)
        .collect()
        .await;
    ended.sort_by_key(|(at, _)| *at);
    ended.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
