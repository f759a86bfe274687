//! What plans and applies the runs of a wave. A new engine is a file here and an arm in each match of this file.

pub mod terraform;

use std::path::PathBuf;

use async_trait::async_trait;

use crate::core::gate::decide::Cleared;
use crate::core::ids::Root;
use crate::core::job::Applied;
use crate::core::plan::Planned;

/// A commit's files on this machine, and where an engine may keep its own beside them.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// The repository's root directory. Always the same path for one repository, so that `path.cwd` does not move.
    pub dir: PathBuf,
    /// Private to this job (0700), outside the checkout: plan files and tool data.
    pub scratch: PathBuf,
    /// Names and values that the tool's processes get beside a short list of safe ones.
    pub env: Vec<(String, String)>,
    /// Runs planned or applied at once.
    pub parallelism: usize,
}

/// Something that plans and applies. Plan files never leave the job that made them.
#[async_trait]
pub trait Engine: Send + Sync {
    /// Plans `members`. A member that fails to plan is a [`Planned`] that says why; an error means none could be tried.
    /// `lock` is whether the plans will be applied, and so hold the state's lock while they are made.
    async fn plan(
        &self,
        checkout: &Checkout,
        members: &[Root],
        lock: Lock,
    ) -> anyhow::Result<Vec<Planned>>;

    /// Applies exactly what was cleared, from the plan files this process made. A failure lets the others finish.
    async fn apply(&self, checkout: &Checkout, cleared: &Cleared) -> anyhow::Result<Vec<Applied>>;
}

/// Whether a plan takes the state's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// It will be applied by this process.
    Take,
    /// A preview: it must not hold up an apply.
    Leave,
}
