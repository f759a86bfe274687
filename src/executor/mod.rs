//! Where a job runs: each executor starts this same program as `tidegate job`.

pub mod local;

use async_trait::async_trait;
use jiff::Timestamp;
use secrecy::SecretString;

use crate::core::job::{JobKey, JobSpec};

/// Starts jobs somewhere, and looks after them.
#[async_trait]
pub trait Executor: Send + Sync {
    /// Starts a job; returns once it is on its way. Again with the same key: nothing.
    async fn start(&self, job: &JobSpec, token: &SecretString) -> anyhow::Result<()>;
    /// How a job stands, for the sweep that repairs lost ends.
    async fn look(&self, key: &JobKey) -> anyhow::Result<Seen>;
    /// Interrupts a job, and kills it only after a deadline.
    async fn cancel(&self, key: &JobKey) -> anyhow::Result<()>;
    /// Clears away what is left here of jobs that ended before this moment.
    async fn sweep(&self, before: Timestamp) -> anyhow::Result<()>;
}

/// What an executor sees of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Alive,
    /// It was here and is gone.
    Gone,
    /// It never got as far as doing anything.
    Unstarted,
}
