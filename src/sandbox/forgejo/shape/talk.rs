//! Comments, reactions, reviews and statuses as Forgejo shows them.

use serde_json::{Value, json};

use crate::core::person::Verdict;
use crate::sandbox::api::words::time;
use crate::sandbox::forgejo::shape::Shape;
use crate::sandbox::model::pull::{Check, Comment, Pull, Reaction, Review, Status};
use crate::sandbox::model::repo::Repo;

impl Shape<'_> {
    /// A `Comment`. The pull request may be gone from the state, never from the address.
    pub(crate) fn comment(&self, comment: &Comment) -> Value {
        let name = self
            .document
            .full_name(self.document.repo(comment.pull.repo));
        let (id, number) = (comment.id, comment.pull.number);
        let page = self.page(&format!("/{name}/pulls/{number}"));
        json!({
            "id": id,
            "html_url": format!("{page}#issuecomment-{id}"),
            "pull_request_url": page,
            "issue_url": "",
            "user": self.account(comment.author),
            "original_author": "",
            "original_author_id": 0,
            "body": comment.body,
            "assets": [],
            "created_at": time(comment.created_at),
            "updated_at": time(comment.updated_at),
        })
    }

    /// A `Reaction`, which has no number.
    pub(crate) fn reaction(&self, reaction: &Reaction) -> Value {
        json!({
            "user": self.account(reaction.author),
            "content": reaction.emoji,
            "created_at": time(reaction.at),
        })
    }

    /// A `PullReview`. One that was taken back keeps its state.
    pub(crate) fn review(&self, pull: &Pull, review: &Review) -> Value {
        let page = self.pull_page(pull);
        let state = match review.verdict {
            Verdict::Approved => "APPROVED",
            Verdict::ChangesRequested => "REQUEST_CHANGES",
            Verdict::Commented | Verdict::Dismissed => "COMMENT",
        };
        json!({
            "id": review.id,
            "user": self.account(review.author),
            "team": null,
            "state": state,
            "body": review.body,
            "commit_id": review.commit,
            "stale": review.is_stale,
            "official": review.is_official,
            "dismissed": review.is_dismissed,
            "comments_count": 0,
            "submitted_at": time(review.at),
            "updated_at": time(review.at),
            "html_url": format!("{page}#issuecomment-{}", review.id),
            "pull_request_url": page,
        })
    }

    /// A `CommitStatus`: what a request calls `state` is `status` here.
    pub(crate) fn status(&self, status: &Status) -> Value {
        let repo = self.document.repo(status.repo);
        json!({
            "id": status.id,
            "status": status.state.as_str(),
            "target_url": status.url.as_deref().unwrap_or_default(),
            "description": status.description.as_deref().unwrap_or_default(),
            "url": self.api(repo, &format!("/statuses/{}", status.commit)),
            "context": status.context,
            "creator": self.account(status.author),
            "created_at": time(status.at),
            "updated_at": time(status.at),
        })
    }

    /// A `CombinedStatus` over the newest status of each context.
    pub(crate) fn statuses(&self, repo: &Repo, sha: &str, newest: &[&Status]) -> Value {
        let worst = newest.iter().map(|it| it.state).max();
        let all: Vec<Value> = newest.iter().map(|it| self.status(it)).collect();
        let commit = self.api(repo, &format!("/commits/{sha}"));
        json!({
            "state": worst.unwrap_or(Check::Pending).as_str(),
            "sha": sha,
            "total_count": newest.len(),
            "statuses": (!all.is_empty()).then_some(all),
            "repository": self.nested_repo(repo),
            "commit_url": commit,
            "url": format!("{commit}/status"),
        })
    }
}
