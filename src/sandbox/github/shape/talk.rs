//! Comments, reactions, reviews and statuses as GitHub shows them.

use serde_json::{Value, json};

use crate::core::person::Verdict;
use crate::sandbox::api::comments::EMOJI;
use crate::sandbox::api::words::{add, time};
use crate::sandbox::github::shape::{Shape, node};
use crate::sandbox::model::pull::{Check, Comment, Pull, Reaction, Review, Status};
use crate::sandbox::model::repo::Repo;

impl Shape<'_> {
    /// An `issue-comment`. The pull request may be gone from the state, never from the address.
    pub(crate) fn comment(&self, comment: &Comment) -> Value {
        let repo = self.document.repo(comment.pull.repo);
        let (id, number) = (comment.id, comment.pull.number);
        let url = self.api(&self.repo_path(repo, &format!("/issues/comments/{id}")));
        let name = self.document.full_name(repo);
        json!({
            "url": url,
            "html_url": self.page(&format!("/{name}/pull/{number}#issuecomment-{id}")),
            "issue_url": self.api(&self.repo_path(repo, &format!("/issues/{number}"))),
            "id": id,
            "node_id": node("IC", id),
            "user": self.account(comment.author),
            "created_at": time(comment.created_at),
            "updated_at": time(comment.updated_at),
            "author_association": self.association(repo, comment.author),
            "body": comment.body,
            "reactions": self.reactions(comment, &url),
            "performed_via_github_app": null,
        })
    }

    fn reactions(&self, comment: &Comment, url: &str) -> Value {
        let mut shape = no_reactions(url);
        let mut total = 0;
        for emoji in EMOJI {
            let given = self.document.reactions_of(comment.id);
            let count = given.filter(|it| it.emoji == emoji).count();
            total += count;
            add(&mut shape, json!({ emoji: count }));
        }
        add(&mut shape, json!({ "total_count": total }));
        shape
    }

    /// A `reaction`.
    pub(crate) fn reaction(&self, reaction: &Reaction) -> Value {
        json!({
            "id": reaction.id,
            "node_id": node("REA", reaction.id),
            "user": self.account(reaction.author),
            "content": reaction.emoji,
            "created_at": time(reaction.at),
        })
    }

    /// A `pull-request-review`.
    pub(crate) fn review(&self, pull: &Pull, review: &Review) -> Value {
        let repo = self.document.repo(pull.key.repo);
        let page = format!("{}#pullrequestreview-{}", self.pull_page(pull), review.id);
        let number = pull.key.number;
        let url = self.api(&self.repo_path(repo, &format!("/pulls/{number}")));
        json!({
            "id": review.id,
            "node_id": node("PRR", review.id),
            "user": self.account(review.author),
            "body": review.body,
            "state": verdict(review.stands()),
            "html_url": page,
            "pull_request_url": url,
            "author_association": self.association(repo, review.author),
            "_links": {
                "html": { "href": page },
                "pull_request": { "href": url },
            },
            "submitted_at": time(review.at),
            "commit_id": review.commit,
        })
    }

    /// A `status`.
    pub(crate) fn status(&self, status: &Status) -> Value {
        let mut shape = self.status_alone(status);
        add(
            &mut shape,
            json!({ "creator": self.account(status.author) }),
        );
        shape
    }

    /// A `simple-commit-status`, which tells nobody who set it.
    fn status_alone(&self, status: &Status) -> Value {
        let repo = self.document.repo(status.repo);
        let url = self.repo_path(repo, &format!("/statuses/{}", status.commit));
        let login = &self.document.account(status.author).login;
        json!({
            "url": self.api(&url),
            "avatar_url": self.page(&format!("/avatars/{login}")),
            "id": status.id,
            "node_id": node("SC", status.id),
            "state": status.state.as_str(),
            "description": status.description,
            "target_url": status.url,
            "context": status.context,
            "created_at": time(status.at),
            "updated_at": time(status.at),
        })
    }

    /// A `combined-commit-status` over the newest status of each context.
    pub(crate) fn combined_status(&self, repo: &Repo, sha: &str, newest: &[&Status]) -> Value {
        let worst = newest.iter().map(|it| it.state).max();
        let state = match worst {
            Some(Check::Success) => "success",
            Some(Check::Failure | Check::Error) => "failure",
            // GitHub calls a commit without statuses pending.
            Some(Check::Pending) | None => "pending",
        };
        let url = self.repo_path(repo, &format!("/commits/{sha}"));
        json!({
            "state": state,
            "statuses": newest.iter().map(|it| self.status_alone(it)).collect::<Value>(),
            "sha": sha,
            "total_count": newest.len(),
            "repository": self.repo(repo),
            "commit_url": self.api(&url),
            "url": format!("{}/status", self.api(&url)),
        })
    }
}

/// The `reaction-rollup` of something nobody reacted to.
pub(crate) fn no_reactions(url: &str) -> Value {
    let mut shape = json!({ "url": format!("{url}/reactions"), "total_count": 0 });
    for emoji in EMOJI {
        add(&mut shape, json!({ emoji: 0 }));
    }
    shape
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "APPROVED",
        Verdict::ChangesRequested => "CHANGES_REQUESTED",
        Verdict::Commented => "COMMENTED",
        Verdict::Dismissed => "DISMISSED",
    }
}
