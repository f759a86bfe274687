//! Comments, reactions, reviews and statuses.

use crate::core::ids::{CommentId, RepoId, Sha};
use crate::core::person::{Role, Verdict};
use crate::sandbox::acts::{Act, Denied, pull_mut};
use crate::sandbox::model::Document;
use crate::sandbox::model::happening::What;
use crate::sandbox::model::pull::{Check, Comment, PullKey, Reaction, Review, Status};

/// A review to be given.
pub(crate) struct NewReview {
    pub(crate) verdict: Verdict,
    pub(crate) body: String,
    /// The commit it is about; none is the head.
    pub(crate) commit: Option<Sha>,
}

/// A status to be set.
pub(crate) struct NewStatus {
    pub(crate) state: Check,
    pub(crate) context: String,
    pub(crate) description: Option<String>,
    pub(crate) url: Option<String>,
}

impl Act<'_> {
    /// Comments on a pull request, open or closed; whoever may read it may.
    pub(crate) async fn comment(&self, key: PullKey, body: String) -> Result<CommentId, Denied> {
        if body.trim().is_empty() {
            return Err(Denied::Invalid("body can't be blank".to_owned()));
        }
        self.sandbox
            .change(self.now, |document, told| {
                self.visible(document, key)?;
                let comment = Comment {
                    id: CommentId(document.next_id()),
                    pull: key,
                    author: self.actor,
                    body,
                    created_at: self.now,
                    updated_at: self.now,
                };
                let id = comment.id;
                document.comments.push(comment.clone());
                pull_mut(document, key)?.updated_at = self.now;
                told.push(self.happening(key.repo, What::Commented { comment }));
                Ok(id)
            })
            .await
    }

    /// Replaces a comment's text. Its author may, and whoever may push.
    pub(crate) async fn edit_comment(
        &self,
        (repo, id): (RepoId, CommentId),
        body: String,
    ) -> Result<(), Denied> {
        if body.trim().is_empty() {
            return Err(Denied::Invalid("body can't be blank".to_owned()));
        }
        self.sandbox
            .change(self.now, |document, told| {
                let place = self.own_comment(document, repo, id)?;
                let comment = &mut document.comments[place];
                let before = std::mem::replace(&mut comment.body, body);
                comment.updated_at = self.now;
                let comment = comment.clone();
                told.push(self.happening(repo, What::CommentEdited { comment, before }));
                Ok(())
            })
            .await
    }

    /// Deletes a comment. Its author may, and whoever may push.
    pub(crate) async fn delete_comment(&self, repo: RepoId, id: CommentId) -> Result<(), Denied> {
        self.sandbox
            .change(self.now, |document, told| {
                let place = self.own_comment(document, repo, id)?;
                let comment = document.comments.remove(place);
                document.reactions.retain(|it| it.comment != id);
                told.push(self.happening(repo, What::CommentDeleted { comment }));
                Ok(())
            })
            .await
    }

    fn own_comment(
        &self,
        document: &Document,
        repo: RepoId,
        id: CommentId,
    ) -> Result<usize, Denied> {
        self.require(document, repo, Role::Read)?;
        let is_it = |it: &Comment| it.id == id && it.pull.repo == repo;
        let place = document.comments.iter().position(is_it);
        let place = place.ok_or(Denied::Missing("the comment"))?;
        if document.comments[place].author != self.actor {
            self.require(document, repo, Role::Write)?;
        }
        Ok(place)
    }

    /// Gives a comment an emoji; one of the same kind that is there is answered again.
    pub(crate) async fn react(
        &self,
        (repo, comment): (RepoId, CommentId),
        emoji: String,
    ) -> Result<Reacted, Denied> {
        self.sandbox
            .change(self.now, |document, _| {
                self.require(document, repo, Role::Read)?;
                let found = document.comment(repo, comment);
                found.ok_or(Denied::Missing("the comment"))?;
                let is_same = |it: &&Reaction| it.author == self.actor && it.emoji == emoji;
                let same = document.reactions_of(comment).find(is_same);
                if let Some(same) = same.map(|it| it.id) {
                    return Ok(Reacted::Before(same));
                }
                let reaction = Reaction {
                    id: document.next_id(),
                    comment,
                    author: self.actor,
                    emoji,
                    at: self.now,
                };
                let id = reaction.id;
                document.reactions.push(reaction);
                Ok(Reacted::Now(id))
            })
            .await
    }

    /// Reviews a pull request; whoever may read it may, but nobody approves or refuses their own.
    pub(crate) async fn review(&self, key: PullKey, new: NewReview) -> Result<u64, Denied> {
        self.sandbox
            .change(self.now, |document, told| {
                let pull = self.visible(document, key)?;
                let is_own = pull.author == self.actor;
                match new.verdict {
                    Verdict::Approved if is_own => {
                        let text = "Can not approve your own pull request";
                        return Err(Denied::Invalid(text.to_owned()));
                    }
                    Verdict::ChangesRequested if is_own => {
                        let text = "Can not request changes on your own pull request";
                        return Err(Denied::Invalid(text.to_owned()));
                    }
                    Verdict::ChangesRequested | Verdict::Commented
                        if new.body.trim().is_empty() =>
                    {
                        return Err(Denied::Invalid("body can't be blank".to_owned()));
                    }
                    Verdict::Approved
                    | Verdict::ChangesRequested
                    | Verdict::Commented
                    | Verdict::Dismissed => {}
                }
                let head = pull.head.sha.clone();
                let commit = new.commit.unwrap_or_else(|| head.clone());
                let may_write = document.repo(key.repo).role(self.actor) >= Role::Write;
                let id = document.next_id();
                let mut review = Review {
                    id,
                    pull: key,
                    author: self.actor,
                    body: new.body,
                    verdict: new.verdict,
                    is_dismissed: false,
                    is_official: false,
                    is_stale: commit != head,
                    commit,
                    at: self.now,
                };
                if review.is_verdict() {
                    review.is_official = may_write;
                    self.retire_reviews(document, key);
                }
                document.reviews.push(review);
                pull_mut(document, key)?.updated_at = self.now;
                let what = What::Reviewed {
                    pull: key,
                    review: id,
                };
                told.push(self.happening(key.repo, what));
                Ok(id)
            })
            .await
    }

    /// Lets the actor's earlier reviews of a pull request count no more.
    fn retire_reviews(&self, document: &mut Document, key: PullKey) {
        let earlier = document.reviews.iter_mut();
        let earlier = earlier.filter(|it| it.pull == key && it.author == self.actor);
        earlier.for_each(|it| it.is_official = false);
    }

    /// Takes a verdict back; whoever may push may.
    pub(crate) async fn dismiss(&self, key: PullKey, id: u64) -> Result<(), Denied> {
        self.sandbox
            .change(self.now, |document, told| {
                self.require(document, key.repo, Role::Write)?;
                let mut reviews = document.reviews.iter_mut();
                let review = reviews.find(|it| it.id == id && it.pull == key);
                let review = review.ok_or(Denied::Missing("the review"))?;
                match review.stands() {
                    Verdict::Approved | Verdict::ChangesRequested => {}
                    Verdict::Commented | Verdict::Dismissed => {
                        let text = "Can not dismiss a commented pull request review";
                        return Err(Denied::Invalid(text.to_owned()));
                    }
                }
                review.is_dismissed = true;
                let what = What::ReviewDismissed {
                    pull: key,
                    review: id,
                };
                told.push(self.happening(key.repo, what));
                Ok(())
            })
            .await
    }

    /// Sets a status on a commit; whoever may push may.
    pub(crate) async fn set_status(
        &self,
        repo: RepoId,
        commit: &str,
        new: NewStatus,
    ) -> Result<u64, Denied> {
        self.require(&*self.sandbox.desk.read().await, repo, Role::Write)?;
        let found = self.sandbox.shelf.resolve(repo, commit).await?;
        let missing = || Denied::Invalid(format!("No commit found for SHA: {commit}"));
        let commit = found.ok_or_else(missing)?;
        self.sandbox
            .change(self.now, |document, _| {
                let id = document.next_id();
                document.statuses.push(Status {
                    id,
                    repo,
                    commit,
                    state: new.state,
                    context: new.context,
                    description: new.description,
                    url: new.url,
                    author: self.actor,
                    at: self.now,
                });
                Ok(id)
            })
            .await
    }
}

/// A reaction, and whether it was there before.
pub(crate) enum Reacted {
    Now(u64),
    Before(u64),
}
