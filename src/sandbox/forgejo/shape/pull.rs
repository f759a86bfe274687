//! Pull requests as Forgejo shows them: as such, and as the issue that comments belong to.

use serde_json::{Value, json};

use crate::core::ids::RepoId;
use crate::sandbox::api::words::time;
use crate::sandbox::forgejo::shape::Shape;
use crate::sandbox::model::pull::Pull;

impl Shape<'_> {
    /// A `PullRequest`, the same in lists.
    pub(crate) fn pull(&self, pull: &Pull) -> Value {
        let page = self.pull_page(pull);
        let merge = pull.merge.as_ref();
        json!({
            "id": pull.id,
            "url": page,
            "number": pull.key.number,
            "user": self.account(pull.author),
            "title": pull.title,
            "body": pull.body.as_deref().unwrap_or_default(),
            "labels": [],
            "milestone": null,
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_reviewers_teams": [],
            "state": pull.state.as_str(),
            "draft": false,
            "is_locked": false,
            "comments": self.document.comments_of(pull.key).count(),
            "review_comments": self.document.reviews_of(pull.key).count(),
            "additions": pull.size.additions,
            "deletions": pull.size.deletions,
            "changed_files": pull.size.files,
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "mergeable": pull.is_mergeable,
            "merged": merge.is_some(),
            "merged_at": merge.map(|it| time(it.at)),
            "merge_commit_sha": merge.map(|it| &it.commit),
            "merged_by": merge.map(|it| self.account(it.by)),
            "allow_maintainer_edit": false,
            "base": self.end(pull.key.repo, &pull.base.branch, pull.base.sha.as_str()),
            "head": self.end(pull.head.repo, &pull.head.branch, pull.head.sha.as_str()),
            "merge_base": pull.base.sha,
            "due_date": null,
            "created_at": time(pull.created_at),
            "updated_at": time(pull.updated_at),
            "closed_at": pull.closed_at.map(time),
            "pin_order": 0,
            "flow": 0,
        })
    }

    /// The `Issue` that a pull request is to its comments.
    pub(crate) fn issue(&self, pull: &Pull) -> Value {
        let repo = self.document.repo(pull.key.repo);
        let number = pull.key.number;
        let page = self.pull_page(pull);
        json!({
            "id": pull.id,
            "url": self.api(repo, &format!("/issues/{number}")),
            "html_url": page,
            "number": number,
            "user": self.account(pull.author),
            "original_author": "",
            "original_author_id": 0,
            "title": pull.title,
            "body": pull.body.as_deref().unwrap_or_default(),
            "ref": "",
            "assets": [],
            "labels": [],
            "milestone": null,
            "assignee": null,
            "assignees": null,
            "state": pull.state.as_str(),
            "is_locked": false,
            "comments": self.document.comments_of(pull.key).count(),
            "created_at": time(pull.created_at),
            "updated_at": time(pull.updated_at),
            "closed_at": pull.closed_at.map(time),
            "due_date": null,
            "pull_request": {
                "merged": pull.merge.is_some(),
                "merged_at": pull.merge.as_ref().map(|it| time(it.at)),
                "draft": false,
                "html_url": page,
            },
            "repository": {
                "id": repo.id,
                "name": repo.name,
                "owner": self.document.account(repo.owner).login,
                "full_name": self.document.full_name(repo),
            },
            "pin_order": 0,
        })
    }

    /// A pull request's page.
    pub(crate) fn pull_page(&self, pull: &Pull) -> String {
        let name = self.document.full_name(self.document.repo(pull.key.repo));
        self.page(&format!("/{name}/pulls/{}", pull.key.number))
    }

    fn end(&self, repo: RepoId, branch: &str, sha: &str) -> Value {
        json!({
            "label": branch,
            "ref": branch,
            "sha": sha,
            "repo_id": repo,
            "repo": self.nested_repo(self.document.repo(repo)),
        })
    }
}
