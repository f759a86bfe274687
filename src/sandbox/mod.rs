//! A small forge on this machine over real git that speaks the forges' APIs; used by `cli` and tests only.
//!
//! State stands in the middle (`model`, changed by `acts`, kept by `desk`); a dialect per forge (`github`, `forgejo`)
//! puts it into that forge's words at the door and in webhooks; what their APIs share is `api`. Bytes of git are git's (`bare`, `crate::git::backend`).
//!
//! # Why one document
//!
//! A change writes the whole state and the deliveries it causes in one step, so a kill between any two lines leaves
//! the world before or after it. The state of a sandbox is small; what is large (commits, Terraform states, bytes of
//! deliveries) has files of its own, written before the document names them.

mod acts;
mod api;
mod bare;
mod courier;
mod desk;
mod door;
mod forgejo;
mod github;
mod journal;
mod model;
mod pages;
mod seed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

pub use crate::sandbox::model::hook::Dialect;
pub use crate::sandbox::seed::{Seed, SeedApp, SeedHook, SeedRepo, SeedTeam, SeedUser};

use crate::core::ids::RepoId;
use crate::sandbox::acts::Denied;
use crate::sandbox::bare::Shelf;
use crate::sandbox::desk::Desk;
use crate::sandbox::journal::Journal;
use crate::sandbox::model::Document;
use crate::sandbox::model::happening::Happening;

/// How long requests may still be answered once it is told to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// A running sandbox: its state and its tools.
pub(crate) struct Sandbox {
    /// The address people and programs reach it at, such as `http://127.0.0.1:4000`, without a slash at its end.
    pub(crate) address: String,
    pub(crate) dir: PathBuf,
    pub(crate) desk: Desk,
    pub(crate) shelf: Shelf,
    pub(crate) journal: Journal,
    /// Rung when there is something to deliver.
    pub(crate) bell: Notify,
    /// Held while a Terraform state or its lock is read or written.
    pub(crate) states: tokio::sync::Mutex<()>,
    locks: Mutex<BTreeMap<RepoId, Arc<tokio::sync::Mutex<()>>>>,
}

/// Whether a folder holds a sandbox.
pub fn is_created(dir: &Path) -> bool {
    Desk::is_there(dir)
}

/// Makes a sandbox in a folder; refused where one is already.
pub fn create(dir: &Path, seed: &Seed) -> anyhow::Result<()> {
    if is_created(dir) {
        bail!("{} holds a sandbox already", dir.display());
    }
    Desk::create(dir, &seed.document(Timestamp::now())?)
}

/// Serves the sandbox of a folder until it is told to stop. One process a folder.
pub async fn serve(
    dir: &Path,
    listener: TcpListener,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let address = listener
        .local_addr()
        .context("the listener has no address")?;
    let sandbox = Arc::new(Sandbox::open(dir, format!("http://{address}"))?);
    sandbox.prepare().await?;
    let courier = tokio::spawn(courier::run(sandbox.clone(), stop.clone()));
    let serving = axum::serve(listener, door::router(sandbox))
        .with_graceful_shutdown(stop.clone().cancelled_owned())
        .into_future();
    let too_late = async {
        stop.cancelled().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        served = serving => served.context("the sandbox cannot serve")?,
        // A client that keeps its connection open must not keep the process.
        () = too_late => {}
    }
    courier.await.context("the sandbox's courier broke")
}

impl Sandbox {
    fn open(dir: &Path, address: String) -> anyhow::Result<Self> {
        std::fs::create_dir_all(dir.join("deliveries"))?;
        // Git runs in folders of its own, so a path that is relative to ours would name another place there.
        let dir = &dir.canonicalize()?;
        Ok(Self {
            address,
            dir: dir.clone(),
            desk: Desk::open(dir)?,
            shelf: Shelf::new(dir.join("git")),
            journal: Journal::open(dir)?,
            bell: Notify::new(),
            states: tokio::sync::Mutex::new(()),
            locks: Mutex::default(),
        })
    }

    /// Makes the bare repositories that are not there yet and greets new hooks.
    async fn prepare(&self) -> anyhow::Result<()> {
        let repos = self.desk.read().await.repos.clone();
        for repo in repos {
            self.shelf.ensure(repo.id, repo.parent).await?;
        }
        self.change(Timestamp::now(), |document, told| {
            told.extend(courier::greetings(document));
            Ok(())
        })
        .await?;
        Ok(())
    }

    /// Changes the state and files what happened for the hooks, in one write.
    pub(crate) async fn change<T>(
        &self,
        now: Timestamp,
        act: impl FnOnce(&mut Document, &mut Vec<Happening>) -> Result<T, Denied>,
    ) -> Result<T, Denied> {
        let value = self
            .desk
            .change(|document| {
                let mut told = Vec::new();
                let value = act(document, &mut told)?;
                for happening in &told {
                    courier::file(self, document, happening, now)?;
                }
                Ok::<_, Denied>(value)
            })
            .await?;
        self.bell.notify_one();
        Ok(value)
    }

    /// Waits until nobody else moves this repository's refs, and keeps others from it while the answer lives.
    pub(crate) async fn lock(&self, repo: RepoId) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.locks.lock().expect("nothing panics while it is held");
            locks.entry(repo).or_default().clone()
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests;
