//! What the server does about an event: gather, decide, act. Never waits for Terraform.
//!
//! A handler reads (forge, git, ledger, store), asks the core, and answers with what to remember and what to do; the
//! worker stores both in the transaction that finishes the delivery, and the outbox acts.

pub mod estates;
pub mod gate;
pub mod ledger;
pub mod lost;

mod comment;
mod desk;
mod job;
mod note;
mod pull;
mod push;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;
use url::Url;

use crate::core::event::Event;
use crate::core::ids::{ForgeHost, Pull, Repo, RolloutId};
use crate::core::key::DerivedKey;
use crate::core::rollout::Rollout;
use crate::core::rollout::planning::Wish;
use crate::forge::Forge;
use crate::handlers::estates::Estates;
use crate::ledger::Ledger;
use crate::store::{Change, Handled, Store};

/// What handlers reach: the store, the forges, the mirrors of their repositories.
#[derive(Clone)]
pub struct App {
    pub store: Store,
    pub forges: Arc<BTreeMap<ForgeHost, Arc<dyn Forge>>>,
    /// Bare mirrors, one folder a repository: `<mirrors>/<host>/<id>.git`.
    pub mirrors: PathBuf,
    /// The roots of the newest commits.
    pub estates: Estates,
    /// The key under which sensitive leaves enter digests.
    pub digest_key: DerivedKey,
    /// Where people open pages.
    pub pages: Url,
}

impl App {
    /// The forge a repository lives on.
    pub fn forge(&self, repo: &Repo) -> anyhow::Result<Arc<dyn Forge>> {
        let forge = self.forges.get(&repo.forge);
        forge.cloned().with_context(|| {
            format!(
                "no forge {} is configured (it holds {})",
                repo.forge, repo.name
            )
        })
    }

    /// The newest rollout that carries a pull request.
    async fn rollout_of(&self, pull: &Pull) -> anyhow::Result<Option<Rollout>> {
        Ok(self
            .store
            .rollouts_of_pull(pull)
            .await?
            .pop()
            .map(|(rollout, _)| rollout))
    }

    /// A rollout that must be stored, and the version to save it at.
    async fn known_rollout(&self, id: &RolloutId) -> anyhow::Result<(Rollout, i64)> {
        let stored = self.store.rollout(id).await?;
        stored.with_context(|| format!("the rollout {id} is not known"))
    }

    /// The page of a rollout.
    fn page_of(&self, rollout: &Rollout) -> String {
        format!("{}rollouts/{}", self.pages, rollout.id)
    }
}

/// Handles one event: reads what it needs, decides, and answers what to remember and do.
pub async fn handle(app: &App, event: &Event, now: Timestamp) -> anyhow::Result<Handled> {
    let mut handled = decide(app, event, now).await?;
    if let Some(repo) = event.told_of()
        && app.store.repo_name(repo).await?.as_ref() != Some(&repo.name)
    {
        handled.changes.push(Change::Repo(repo.clone()));
    }
    Ok(handled)
}

async fn decide(app: &App, event: &Event, now: Timestamp) -> anyhow::Result<Handled> {
    match event {
        Event::PullOpened { pull, .. } | Event::PullRetargeted { pull, .. } => {
            pull::look(app, pull, Wish::Event).await
        }
        Event::PullPushed { pull, actor } => {
            let by = actor.clone();
            pull::look(app, pull, Wish::Pushed { by }).await
        }
        Event::PullClosed { pull, .. } => pull::closed(app, pull).await,
        Event::Commented(said) => comment::said(app, said, now).await,
        // A review changes no decision before `approval: pr-review` is built; the forge shows it beside the note.
        Event::Reviewed { .. } => Ok(Handled::default()),
        Event::BranchPushed { repo, branch, .. } if *branch == Ledger::branch() => {
            ledger::pushed(app, repo, now).await
        }
        Event::BranchPushed {
            repo,
            branch,
            before,
            after,
            actor,
        } => {
            push::pushed(
                app,
                &push::Push {
                    repo,
                    branch,
                    before,
                    after,
                    actor,
                },
                now,
            )
            .await
        }
        Event::JobEnded { job, end, .. } => job::ended(app, job, end, now).await,
        Event::WaveCalled { rollout, wave, .. } => job::called(app, rollout, *wave, now).await,
        Event::NoteStale { pull } => pull::note_stale(app, pull).await,
        Event::Installed { repos } => Ok(remember(repos)),
        // Rows of a repository that was taken away stay: its ledger is the record, and it may come back.
        Event::Removed { .. } => Ok(Handled::default()),
    }
}

fn remember(repos: &[Repo]) -> Handled {
    Handled {
        changes: repos.iter().cloned().map(Change::Repo).collect(),
        effects: Vec::new(),
    }
}
