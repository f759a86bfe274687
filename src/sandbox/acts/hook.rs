//! Hooks of a repository: made, changed and taken away by its administrators.

use crate::core::ids::RepoId;
use crate::core::person::Role;
use crate::sandbox::acts::{Act, Denied};
use crate::sandbox::model::happening::What;
use crate::sandbox::model::hook::{Dialect, Hook, Subject};

/// A hook to be made.
pub(crate) struct NewHook {
    pub(crate) dialect: Dialect,
    pub(crate) url: String,
    pub(crate) secret: String,
    pub(crate) is_active: bool,
    /// What it is to be told, in Forgejo's words.
    pub(crate) events: Vec<String>,
}

impl Act<'_> {
    /// Adds a hook to a repository.
    pub(crate) async fn add_hook(&self, repo: RepoId, new: NewHook) -> Result<u64, Denied> {
        self.sandbox
            .change(self.now, |document, told| {
                self.require(document, repo, Role::Admin)?;
                let hook = document.next_id();
                document.hooks.push(Hook {
                    id: hook,
                    of: Subject::Repo(repo),
                    dialect: new.dialect,
                    url: new.url,
                    secret: new.secret,
                    is_greeted: true,
                    is_active: new.is_active,
                    events: new.events,
                    created_at: self.now,
                });
                told.push(self.happening(repo, What::HookMade { hook }));
                Ok(hook)
            })
            .await
    }

    /// Changes a hook of a repository.
    pub(crate) async fn edit_hook(
        &self,
        (repo, hook): (RepoId, u64),
        edit: impl FnOnce(&mut Hook),
    ) -> Result<(), Denied> {
        self.sandbox
            .change(self.now, |document, _| {
                self.require(document, repo, Role::Admin)?;
                let found = document.hook_mut(hook);
                let found = found.filter(|it| it.of == Subject::Repo(repo));
                edit(found.ok_or(Denied::Missing("the hook"))?);
                Ok(())
            })
            .await
    }

    /// Takes a hook of a repository away; what it was not told yet it never is.
    pub(crate) async fn delete_hook(&self, repo: RepoId, hook: u64) -> Result<(), Denied> {
        self.sandbox
            .change(self.now, |document, _| {
                self.require(document, repo, Role::Admin)?;
                let is_it = |it: &Hook| it.id == hook && it.of == Subject::Repo(repo);
                let place = document.hooks.iter().position(is_it);
                document
                    .hooks
                    .remove(place.ok_or(Denied::Missing("the hook"))?);
                document.deliveries.retain(|it| it.hook != hook);
                Ok(())
            })
            .await
    }

    /// Tells one hook of a repository about the newest commit of the default branch, as if it had just been pushed.
    pub(crate) async fn test_hook(&self, repo: RepoId, hook: u64) -> Result<(), Denied> {
        let branch = {
            let document = self.sandbox.desk.read().await;
            document.repo(repo).default_branch.clone()
        };
        let shelf = &self.sandbox.shelf;
        let Some(tip) = shelf.tip(repo, &branch).await? else {
            return Ok(());
        };
        let tip = shelf.commit(repo, &tip).await?;
        self.sandbox
            .change(self.now, |document, told| {
                self.require(document, repo, Role::Admin)?;
                told.push(self.happening(
                    repo,
                    What::HookTested {
                        hook,
                        branch,
                        tip: Box::new(tip),
                    },
                ));
                Ok(())
            })
            .await
    }
}
