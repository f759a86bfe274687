//! Opening a pull request.

use crate::core::ids::{RepoId, Sha};
use crate::core::person::Role;
use crate::sandbox::acts::{Act, Denied};
use crate::sandbox::model::Document;
use crate::sandbox::model::happening::What;
use crate::sandbox::model::pull::{Base, Head, Pull, PullKey, PullState, Size};
use crate::sandbox::model::repo::Repo;

/// A pull request to be opened.
pub(crate) struct NewPull {
    pub(crate) repo: RepoId,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) base: String,
    /// Where the head's branch is: the repository itself or a fork.
    pub(crate) head_repo: RepoId,
    pub(crate) head: String,
}

/// What a head looks like against its base right now.
pub(crate) struct Look {
    pub(crate) head: Sha,
    pub(crate) base: Sha,
    pub(crate) size: Size,
    pub(crate) is_mergeable: bool,
}

impl Act<'_> {
    /// Opens a pull request. Whoever may push the head and read the repository may ask.
    pub(crate) async fn open(&self, new: &NewPull) -> Result<PullKey, Denied> {
        let _lock = self.sandbox.lock(new.head_repo).await;
        self.check_new(&*self.sandbox.desk.read().await, new)?;
        let key = self
            .sandbox
            .desk
            .change(|document| Ok::<_, Denied>(document.next_pull(new.repo)))
            .await?;
        let look = self
            .look(key, (new.head_repo, &new.head), &new.base)
            .await?;
        if look.size.commits == 0 {
            let text = format!("No commits between {} and {}", new.base, new.head);
            return Err(Denied::Invalid(text));
        }
        self.sandbox
            .change(self.now, |document, told| {
                let id = document.next_id();
                document.pulls.push(self.pull(id, key, new, look));
                told.push(self.happening(key.repo, What::PullOpened { pull: key }));
                Ok(key)
            })
            .await
    }

    fn check_new(&self, document: &Document, new: &NewPull) -> Result<(), Denied> {
        self.require(document, new.repo, Role::Read)?;
        self.require(document, new.head_repo, Role::Write)?;
        if new.title.trim().is_empty() {
            return Err(Denied::Invalid("title can't be blank".to_owned()));
        }
        let head_repo = document.repo(new.head_repo);
        if new.head_repo != new.repo && head_repo.parent != Some(new.repo) {
            return Err(Denied::Invalid("head is not a fork of base".to_owned()));
        }
        let is_same = |it: &&Pull| {
            it.key.repo == new.repo
                && it.head.repo == new.head_repo
                && it.head.branch == new.head
                && it.base.branch == new.base
        };
        if document.open_pulls().any(|it| is_same(&it)) {
            let owner = &document.account(head_repo.owner).login;
            let text = format!("A pull request already exists for {owner}:{}.", new.head);
            return Err(Denied::Invalid(text));
        }
        Ok(())
    }

    /// Looks at a head, having brought it into the pull request's repository.
    pub(crate) async fn look(
        &self,
        key: PullKey,
        (head_repo, head): (RepoId, &str),
        base: &str,
    ) -> Result<Look, Denied> {
        let shelf = &self.sandbox.shelf;
        let tip = shelf.tip(head_repo, head).await?;
        let head = tip.ok_or_else(|| Denied::Invalid(format!("head {head} is no branch")))?;
        let tip = shelf.tip(key.repo, base).await?;
        let base = tip.ok_or_else(|| Denied::Invalid(format!("base {base} is no branch")))?;
        shelf
            .bring_head((head_repo, key.repo), &head, key.number)
            .await?;
        let size = shelf.size(key.repo, &base, &head).await;
        let size = size.map_err(|_| Denied::Invalid("head has no history in common".to_owned()))?;
        let tree = shelf.merged_tree(key.repo, &base, &head).await?;
        Ok(Look {
            head,
            base,
            size,
            is_mergeable: tree.is_some(),
        })
    }

    fn pull(&self, id: u64, key: PullKey, new: &NewPull, look: Look) -> Pull {
        Pull {
            id,
            key,
            author: self.actor,
            title: new.title.clone(),
            body: new.body.clone(),
            state: PullState::Open,
            head: Head {
                repo: new.head_repo,
                branch: new.head.clone(),
                sha: look.head,
            },
            base: Base {
                branch: new.base.clone(),
                sha: look.base,
            },
            size: look.size,
            is_mergeable: look.is_mergeable,
            is_checked: false,
            merge: None,
            created_at: self.now,
            updated_at: self.now,
            closed_at: None,
        }
    }
}

/// The repository and branch that `branch`, or `owner:branch` of this repository and its forks, names.
pub(crate) fn find_head(
    document: &Document,
    repo: RepoId,
    head: &str,
) -> Result<(RepoId, String), Denied> {
    let Some((owner, branch)) = head.split_once(':') else {
        return Ok((repo, head.to_owned()));
    };
    let is_owned = |it: &&Repo| {
        let login = document.account(it.owner).login.as_str();
        login.eq_ignore_ascii_case(owner) && (it.id == repo || it.parent == Some(repo))
    };
    let found = document.repos.iter().find(is_owned);
    let found = found.ok_or_else(|| Denied::Invalid(format!("head {head} is not there")))?;
    Ok((found.id, branch.to_owned()))
}
