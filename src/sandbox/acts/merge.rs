//! Merging a pull request.

use crate::core::ids::Sha;
use crate::core::person::Role;
use crate::sandbox::acts::{Act, Denied, pull_mut};
use crate::sandbox::bare::NewCommit;
use crate::sandbox::model::happening::What;
use crate::sandbox::model::pull::{Merge, Pull, PullKey, PullState};

/// A merge to be made.
pub(crate) struct Merging {
    pub(crate) method: MergeMethod,
    /// The head the caller means; none is whatever it is.
    pub(crate) head: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) message: Option<String>,
}

/// How a pull request becomes commits of its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeMethod {
    /// A commit with both as parents.
    Merge,
    /// One commit on top of base.
    Squash,
}

impl Act<'_> {
    /// Merges a pull request and answers the commit that did.
    pub(crate) async fn merge(&self, key: PullKey, merging: &Merging) -> Result<Sha, Denied> {
        let _lock = self.sandbox.lock(key.repo).await;
        let pull = self.mergeable(key, merging).await?;
        let shelf = &self.sandbox.shelf;
        let before = shelf.branches(key.repo).await?;
        let Some(base) = before.get(&pull.base.branch) else {
            return Err(not_mergeable());
        };
        let commit = self.write_merge(&pull, base, merging).await?;
        let branch = format!("refs/heads/{}", pull.base.branch);
        shelf
            .move_ref(key.repo, &branch, (Some(base), &commit))
            .await?;
        self.mark_merged(key, base, &commit).await?;
        self.settle(key.repo, &before).await?;
        Ok(commit)
    }

    async fn mergeable(&self, key: PullKey, merging: &Merging) -> Result<Pull, Denied> {
        let document = self.sandbox.desk.read().await;
        self.require(&document, key.repo, Role::Write)?;
        let pull = self.visible(&document, key)?;
        if !pull.is_open() {
            return Err(not_mergeable());
        }
        if merging
            .head
            .as_ref()
            .is_some_and(|it| it != pull.head.sha.as_str())
        {
            return Err(Denied::Stale);
        }
        Ok(pull.clone())
    }

    async fn write_merge(&self, pull: &Pull, base: &Sha, merging: &Merging) -> Result<Sha, Denied> {
        let (shelf, head) = (&self.sandbox.shelf, &pull.head.sha);
        let tree = shelf.merged_tree(pull.key.repo, base, head).await?;
        let tree = tree.ok_or_else(not_mergeable)?;
        let (name, address, default) = {
            let document = self.sandbox.desk.read().await;
            let account = document.account(self.actor);
            let owner = document.account(document.repo(pull.head.repo).owner);
            let from = format!("{}/{}", owner.login, pull.head.branch);
            let default = match merging.method {
                MergeMethod::Merge => (
                    format!("Merge pull request #{} from {from}", pull.key.number),
                    pull.title.clone(),
                ),
                MergeMethod::Squash => (
                    format!("{} (#{})", pull.title, pull.key.number),
                    pull.body.clone().unwrap_or_default(),
                ),
            };
            (account.login.to_string(), account.address(), default)
        };
        let title = merging.title.as_deref().unwrap_or(&default.0);
        let text = merging.message.as_deref().unwrap_or(&default.1);
        let message = format!("{title}\n\n{text}");
        let both = [base, head];
        let parents = match merging.method {
            MergeMethod::Merge => &both[..],
            MergeMethod::Squash => &both[..1],
        };
        let commit = NewCommit {
            tree: &tree,
            parents,
            name: &name,
            address: &address,
            message: message.trim_end(),
            at: self.now,
        };
        Ok(shelf.write(pull.key.repo, &commit).await?)
    }

    async fn mark_merged(&self, key: PullKey, base: &Sha, commit: &Sha) -> Result<(), Denied> {
        self.sandbox
            .change(self.now, |document, told| {
                let pull = pull_mut(document, key)?;
                pull.base.sha = base.clone();
                self.close_merged(pull, commit);
                told.push(self.happening(key.repo, What::PullClosed { pull: key }));
                Ok(())
            })
            .await
    }

    /// Writes into a pull request that a commit brought it into its base.
    pub(crate) fn close_merged(&self, pull: &mut Pull, commit: &Sha) {
        pull.state = PullState::Closed;
        pull.closed_at = Some(self.now);
        pull.updated_at = self.now;
        pull.merge = Some(Merge {
            commit: commit.clone(),
            by: self.actor,
            at: self.now,
        });
    }
}

fn not_mergeable() -> Denied {
    Denied::NotMergeable("Pull Request is not mergeable".to_owned())
}
