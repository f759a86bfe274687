//! Editing, closing and reopening a pull request.

use crate::core::person::Role;
use crate::sandbox::acts::open::Look;
use crate::sandbox::acts::{Act, Denied, pull_mut};
use crate::sandbox::model::happening::{PullText, What};
use crate::sandbox::model::pull::{Pull, PullKey, PullState};

/// What is to change about a pull request; none of what is to stay.
#[derive(Default)]
pub(crate) struct Revision {
    pub(crate) title: Option<String>,
    pub(crate) body: Option<Option<String>>,
    pub(crate) base: Option<String>,
    pub(crate) state: Option<PullState>,
}

impl Act<'_> {
    /// Changes a pull request. Its author may, and whoever may push.
    pub(crate) async fn revise(&self, key: PullKey, revision: Revision) -> Result<(), Denied> {
        let pull = {
            let document = self.sandbox.desk.read().await;
            let pull = self.visible(&document, key)?;
            if pull.author != self.actor {
                self.require(&document, key.repo, Role::Write)?;
            }
            pull.clone()
        };
        let _lock = self.sandbox.lock(pull.head.repo).await;
        self.edit(&pull, &revision).await?;
        match revision.state {
            Some(PullState::Closed) if pull.is_open() => self.close(key).await,
            Some(PullState::Open) if !pull.is_open() => self.reopen(&pull).await,
            Some(PullState::Closed | PullState::Open) | None => Ok(()),
        }
    }

    async fn edit(&self, pull: &Pull, revision: &Revision) -> Result<(), Denied> {
        let new_base = revision
            .base
            .as_deref()
            .filter(|it| *it != pull.base.branch);
        let new_title = revision.title.as_ref().filter(|it| **it != pull.title);
        let new_body = revision.body.as_ref().filter(|it| **it != pull.body);
        if new_title.is_some_and(|it| it.trim().is_empty()) {
            return Err(Denied::Invalid("title can't be blank".to_owned()));
        }
        if new_base.is_none() && new_title.is_none() && new_body.is_none() {
            return Ok(());
        }
        let look = match new_base {
            Some(base) => Some(self.look_again(pull, base).await?),
            None => None,
        };
        let before = PullText {
            title: new_title.map(|_| pull.title.clone()),
            body: new_body.map(|_| pull.body.clone()),
            base: new_base.map(|_| (pull.base.branch.clone(), pull.base.sha.clone())),
        };
        let key = pull.key;
        self.sandbox
            .change(self.now, |document, told| {
                let pull = pull_mut(document, key)?;
                pull.title = new_title.unwrap_or(&pull.title).clone();
                pull.body = new_body.unwrap_or(&pull.body).clone();
                if let (Some(base), Some(look)) = (new_base, look) {
                    base.clone_into(&mut pull.base.branch);
                    see(pull, look);
                }
                pull.updated_at = self.now;
                told.push(self.happening(key.repo, What::PullEdited { pull: key, before }));
                Ok(())
            })
            .await
    }

    async fn close(&self, key: PullKey) -> Result<(), Denied> {
        self.sandbox
            .change(self.now, |document, told| {
                let pull = pull_mut(document, key)?;
                pull.state = PullState::Closed;
                pull.closed_at = Some(self.now);
                pull.updated_at = self.now;
                told.push(self.happening(key.repo, What::PullClosed { pull: key }));
                Ok(())
            })
            .await
    }

    async fn reopen(&self, pull: &Pull) -> Result<(), Denied> {
        if pull.merge.is_some() {
            let text = "state cannot be changed. The pull request is merged.";
            return Err(Denied::Invalid(text.to_owned()));
        }
        let look = self.look_again(pull, &pull.base.branch).await?;
        let key = pull.key;
        self.sandbox
            .change(self.now, |document, told| {
                let pull = pull_mut(document, key)?;
                pull.state = PullState::Open;
                pull.closed_at = None;
                pull.updated_at = self.now;
                see(pull, look);
                told.push(self.happening(key.repo, What::PullReopened { pull: key }));
                Ok(())
            })
            .await
    }

    async fn look_again(&self, pull: &Pull, base: &str) -> Result<Look, Denied> {
        let head = (pull.head.repo, pull.head.branch.as_str());
        self.look(pull.key, head, base).await
    }
}

/// Writes what was seen of head and base into a pull request.
pub(crate) fn see(pull: &mut Pull, look: Look) {
    pull.head.sha = look.head;
    pull.base.sha = look.base;
    pull.size = look.size;
    pull.is_mergeable = look.is_mergeable;
    pull.is_checked = false;
}
