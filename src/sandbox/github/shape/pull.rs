//! Pull requests as GitHub shows them: as such, in lists, and as the issue that comments belong to.

use serde_json::{Value, json};

use crate::core::ids::RepoId;
use crate::sandbox::api::words::{add, time};
use crate::sandbox::github::shape::talk::no_reactions;
use crate::sandbox::github::shape::{Shape, node};
use crate::sandbox::model::pull::Pull;

impl Shape<'_> {
    /// A `pull-request-simple`, as lists show it.
    pub(crate) fn pull_in_list(&self, pull: &Pull) -> Value {
        let repo = self.document.repo(pull.key.repo);
        let number = pull.key.number;
        let url = self.api(&self.repo_path(repo, &format!("/pulls/{number}")));
        let issue = self.api(&self.repo_path(repo, &format!("/issues/{number}")));
        let page = self.pull_page(pull);
        let comment = self.api(&self.repo_path(repo, "/pulls/comments{/number}"));
        let statuses = format!("/statuses/{}", pull.head.sha);
        let statuses = self.api(&self.repo_path(repo, &statuses));
        let link = |href: &str| json!({ "href": href });
        let sha = pull.merge.as_ref().map(|it| &it.commit);
        json!({
            "url": url,
            "id": pull.id,
            "node_id": node("PR", pull.id),
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "issue_url": issue,
            "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": comment,
            "comments_url": format!("{issue}/comments"),
            "statuses_url": statuses,
            "number": number,
            "state": pull.state.as_str(),
            "locked": false,
            "active_lock_reason": null,
            "title": pull.title,
            "user": self.account(pull.author),
            "body": pull.body,
            "labels": [],
            "milestone": null,
            "created_at": time(pull.created_at),
            "updated_at": time(pull.updated_at),
            "closed_at": pull.closed_at.map(time),
            "merged_at": pull.merge.as_ref().map(|it| time(it.at)),
            "merge_commit_sha": sha,
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "head": self.end(pull.head.repo, &pull.head.branch, pull.head.sha.as_str()),
            "base": self.end(pull.key.repo, &pull.base.branch, pull.base.sha.as_str()),
            "_links": {
                "self": link(&url),
                "html": link(&page),
                "issue": link(&issue),
                "comments": link(&format!("{issue}/comments")),
                "review_comments": link(&format!("{url}/comments")),
                "review_comment": link(&comment),
                "commits": link(&format!("{url}/commits")),
                "statuses": link(&statuses),
            },
            "author_association": self.association(repo, pull.author),
            "auto_merge": null,
            "draft": false,
        })
    }

    /// A `pull-request`.
    pub(crate) fn pull(&self, pull: &Pull) -> Value {
        let mut shape = self.pull_in_list(pull);
        let mergeable_state = match (pull.is_open(), pull.is_mergeable) {
            (true, true) => "clean",
            (true, false) => "dirty",
            (false, _) => "unknown",
        };
        let merged_by = pull.merge.as_ref().map(|it| self.account(it.by));
        let more = json!({
            "merged": pull.merge.is_some(),
            "mergeable": pull.is_open().then_some(pull.is_mergeable),
            "rebaseable": false,
            "mergeable_state": mergeable_state,
            "merged_by": merged_by,
            "comments": self.document.comments_of(pull.key).count(),
            "review_comments": 0,
            "maintainer_can_modify": false,
            "commits": pull.size.commits,
            "additions": pull.size.additions,
            "deletions": pull.size.deletions,
            "changed_files": pull.size.files,
        });
        add(&mut shape, more);
        shape
    }

    /// The `issue` that a pull request is to its comments.
    pub(crate) fn issue(&self, pull: &Pull) -> Value {
        let repo = self.document.repo(pull.key.repo);
        let number = pull.key.number;
        let url = self.api(&self.repo_path(repo, &format!("/issues/{number}")));
        let page = self.pull_page(pull);
        json!({
            "url": url,
            "repository_url": self.api(&self.repo_path(repo, "")),
            "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"),
            "events_url": format!("{url}/events"),
            "timeline_url": format!("{url}/timeline"),
            "html_url": page,
            "id": pull.id,
            "node_id": node("PR", pull.id),
            "number": number,
            "title": pull.title,
            "user": self.account(pull.author),
            "labels": [],
            "state": pull.state.as_str(),
            "state_reason": null,
            "locked": false,
            "active_lock_reason": null,
            "assignee": null,
            "assignees": [],
            "milestone": null,
            "comments": self.document.comments_of(pull.key).count(),
            "created_at": time(pull.created_at),
            "updated_at": time(pull.updated_at),
            "closed_at": pull.closed_at.map(time),
            "author_association": self.association(repo, pull.author),
            "draft": false,
            "pull_request": {
                "url": self.api(&self.repo_path(repo, &format!("/pulls/{number}"))),
                "html_url": page,
                "diff_url": format!("{page}.diff"),
                "patch_url": format!("{page}.patch"),
                "merged_at": pull.merge.as_ref().map(|it| time(it.at)),
            },
            "body": pull.body,
            "reactions": no_reactions(&url),
            "performed_via_github_app": null,
        })
    }

    /// A pull request's page.
    pub(crate) fn pull_page(&self, pull: &Pull) -> String {
        let name = self.document.full_name(self.document.repo(pull.key.repo));
        self.page(&format!("/{name}/pull/{}", pull.key.number))
    }

    fn end(&self, repo: RepoId, branch: &str, sha: &str) -> Value {
        let repo = self.document.repo(repo);
        let owner = &self.document.account(repo.owner).login;
        let mut shape = self.repo(repo);
        let merges = json!({
            "allow_merge_commit": true,
            "allow_squash_merge": true,
            "allow_rebase_merge": false,
            "allow_auto_merge": false,
            "allow_update_branch": false,
            "delete_branch_on_merge": false,
        });
        add(&mut shape, merges);
        json!({
            "label": format!("{owner}:{branch}"),
            "ref": branch,
            "sha": sha,
            "user": self.account(repo.owner),
            "repo": shape,
        })
    }
}
