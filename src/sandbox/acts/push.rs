//! What follows when branches moved: pushes are told, pull requests move, close or count as merged.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::ids::{RepoId, Sha};
use crate::sandbox::acts::open::Look;
use crate::sandbox::acts::revise::see;
use crate::sandbox::acts::{Act, Denied, pull_mut};
use crate::sandbox::model::Document;
use crate::sandbox::model::happening::{Happening, Push, What};
use crate::sandbox::model::pull::{Pull, PullKey, PullState};

/// How many commits of a push are told.
const TOLD_COMMITS: usize = 50;

/// A pull request that a push did something to.
struct Turn {
    key: PullKey,
    to: To,
}

enum To {
    /// Its head moved, and what it changes is what it changed before, or not.
    Moved { look: Box<Look>, is_same: bool },
    /// Its base moved, and it merges, or does not, as it is now.
    Mergeable(bool),
    /// A push brought it into its base.
    Merged(Sha),
    /// Its head or base is gone.
    Closed,
}

impl Act<'_> {
    /// Tells what changed since `before` and carries it to the pull requests. The caller holds the repository's lock.
    pub(crate) async fn settle(
        &self,
        repo: RepoId,
        before: &BTreeMap<String, Sha>,
    ) -> Result<(), Denied> {
        let pushes = self.pushes(repo, before).await?;
        if pushes.is_empty() {
            return Ok(());
        }
        let pulls: Vec<Pull> = {
            let document = self.sandbox.desk.read().await;
            document.open_pulls().cloned().collect()
        };
        let mut turns = Vec::new();
        for pull in &pulls {
            for push in &pushes {
                turns.extend(self.turn(repo, push, pull).await?);
            }
        }
        self.sandbox
            .change(self.now, |document, told| {
                document.repo_mut(repo).pushed_at = self.now;
                for push in pushes {
                    told.push(self.happening(repo, What::Pushed(Box::new(push))));
                }
                for turn in turns {
                    told.extend(self.carry_out(document, turn)?);
                }
                Ok(())
            })
            .await
    }

    async fn pushes(
        &self,
        repo: RepoId,
        before: &BTreeMap<String, Sha>,
    ) -> Result<Vec<Push>, Denied> {
        let after = self.sandbox.shelf.branches(repo).await?;
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let known: Vec<&Sha> = before.values().collect();
        let mut pushes = Vec::new();
        for name in names {
            let (old, new) = (before.get(name), after.get(name));
            if old != new {
                pushes.push(self.push(repo, name, (old, new), &known).await?);
            }
        }
        Ok(pushes)
    }

    async fn push(
        &self,
        repo: RepoId,
        branch: &str,
        (before, after): (Option<&Sha>, Option<&Sha>),
        known: &[&Sha],
    ) -> Result<Push, Denied> {
        let shelf = &self.sandbox.shelf;
        let commits = match (before, after) {
            (Some(old), Some(new)) => {
                shelf
                    .commits_between(repo, (old, new), TOLD_COMMITS)
                    .await?
            }
            (None, Some(new)) => shelf.commits_new(repo, (new, known), TOLD_COMMITS).await?,
            (Some(_) | None, None) => Vec::new(),
        };
        let tip = match after {
            Some(new) => Some(shelf.commit(repo, new).await?),
            None => None,
        };
        let is_forced = match (before, after) {
            (Some(old), Some(new)) => !shelf.is_ancestor(repo, old, new).await?,
            (Some(_), None) | (None, Some(_) | None) => false,
        };
        Ok(Push {
            branch: branch.to_owned(),
            before: before.cloned(),
            tip,
            is_forced,
            commits,
        })
    }

    async fn turn(&self, repo: RepoId, push: &Push, pull: &Pull) -> Result<Option<Turn>, Denied> {
        let is_head = push.is_of(repo, &pull.head);
        let is_base = pull.key.repo == repo && pull.base.branch == push.branch;
        let to = match push.tip.as_ref().map(|it| &it.sha) {
            None if is_head || is_base => To::Closed,
            Some(_) if is_head => {
                let head = (repo, push.branch.as_str());
                match self.look(pull.key, head, &pull.base.branch).await {
                    Ok(look) => self.after_head_moved(pull, look).await?,
                    // The new head shares no history with its base, or the base is gone.
                    Err(Denied::Invalid(_)) => To::Closed,
                    Err(denied) => return Err(denied),
                }
            }
            Some(tip) if is_base => self.after_base_moved(pull, tip).await?,
            None | Some(_) => return Ok(None),
        };
        Ok(Some(Turn { key: pull.key, to }))
    }

    async fn after_head_moved(&self, pull: &Pull, look: Look) -> Result<To, Denied> {
        let (before, after) = ((&pull.base.sha, &pull.head.sha), (&look.base, &look.head));
        let shelf = &self.sandbox.shelf;
        let is_same = shelf.is_same_change(pull.key.repo, before, after).await?;
        Ok(To::Moved {
            look: Box::new(look),
            is_same,
        })
    }

    async fn after_base_moved(&self, pull: &Pull, tip: &Sha) -> Result<To, Denied> {
        let (shelf, repo) = (&self.sandbox.shelf, pull.key.repo);
        if shelf.is_ancestor(repo, &pull.head.sha, tip).await? {
            return Ok(To::Merged(pull.head.sha.clone()));
        }
        let tree = shelf.merged_tree(repo, tip, &pull.head.sha).await?;
        Ok(To::Mergeable(tree.is_some()))
    }

    fn carry_out(&self, document: &mut Document, turn: Turn) -> Result<Option<Happening>, Denied> {
        let key = turn.key;
        let pull = pull_mut(document, key)?;
        // Somebody may have closed it while git was asked.
        if !pull.is_open() {
            return Ok(None);
        }
        let what = match turn.to {
            To::Mergeable(is_mergeable) => {
                pull.is_mergeable = is_mergeable;
                return Ok(None);
            }
            To::Moved { look, is_same } => {
                let before = pull.head.sha.clone();
                let head = look.head.clone();
                see(pull, *look);
                pull.updated_at = self.now;
                age_reviews(document, key, (&head, is_same));
                let what = What::PullPushed { pull: key, before };
                return Ok(Some(self.happening(key.repo, what)));
            }
            To::Merged(commit) => {
                self.close_merged(pull, &commit);
                What::PullClosed { pull: key }
            }
            To::Closed => {
                pull.state = PullState::Closed;
                pull.closed_at = Some(self.now);
                What::PullClosed { pull: key }
            }
        };
        pull.updated_at = self.now;
        Ok(Some(self.happening(key.repo, what)))
    }
}

/// Marks the verdicts on a pull request that are about another change than its new head's.
fn age_reviews(document: &mut Document, key: PullKey, (head, is_same): (&Sha, bool)) {
    let reviews = document.reviews.iter_mut();
    for review in reviews.filter(|it| it.pull == key && it.is_verdict()) {
        review.is_stale |= !is_same;
        if review.commit == *head {
            review.is_stale = false;
        }
    }
}
