//! Commits and branches as GitHub shows them.

use serde_json::{Value, json};

use crate::sandbox::api::words::{add, time};
use crate::sandbox::bare::{Change, ChangeKind, Commit, Signature};
use crate::sandbox::github::shape::{Shape, node};
use crate::sandbox::model::account::Account;
use crate::sandbox::model::repo::Repo;

impl Shape<'_> {
    /// A `commit` with its files.
    pub(crate) fn commit(&self, repo: &Repo, commit: &Commit) -> Value {
        let sha = &commit.sha;
        let url = self.api(&self.repo_path(repo, &format!("/commits/{sha}")));
        let name = self.document.full_name(repo);
        let page = self.page(&format!("/{name}/commit/{sha}"));
        let git = self.api(&self.repo_path(repo, "/git"));
        let parents = commit.parents.iter().map(|it| {
            json!({
                "sha": it,
                "url": self.api(&self.repo_path(repo, &format!("/commits/{it}"))),
                "html_url": self.page(&format!("/{name}/commit/{it}")),
            })
        });
        let additions: u64 = commit.changes.iter().map(|it| it.additions).sum();
        let deletions: u64 = commit.changes.iter().map(|it| it.deletions).sum();
        let files = commit
            .changes
            .iter()
            .map(|it| self.file(repo, sha.as_str(), it));
        json!({
            "sha": sha,
            "node_id": node("C", sha),
            "commit": {
                "author": signature(&commit.author),
                "committer": signature(&commit.committer),
                "message": commit.message,
                "tree": { "sha": commit.tree, "url": format!("{git}/trees/{}", commit.tree) },
                "url": format!("{git}/commits/{sha}"),
                "comment_count": 0,
                "verification": {
                    "verified": false,
                    "reason": "unsigned",
                    "signature": null,
                    "payload": null,
                    "verified_at": null,
                },
            },
            "url": url,
            "html_url": page,
            "comments_url": format!("{url}/comments"),
            "author": self.known(&commit.author).map(|it| self.account(it.id)),
            "committer": self.known(&commit.committer).map(|it| self.account(it.id)),
            "parents": parents.collect::<Value>(),
            "stats": {
                "total": additions + deletions,
                "additions": additions,
                "deletions": deletions,
            },
            "files": files.collect::<Value>(),
        })
    }

    fn file(&self, repo: &Repo, sha: &str, change: &Change) -> Value {
        let name = self.document.full_name(repo);
        let path = &change.path;
        let contents = self.repo_path(repo, &format!("/contents/{path}?ref={sha}"));
        json!({
            "sha": change.blob,
            "filename": path,
            "status": match change.kind {
                ChangeKind::Added => "added",
                ChangeKind::Removed => "removed",
                ChangeKind::Modified => "modified",
            },
            "additions": change.additions,
            "deletions": change.deletions,
            "changes": change.additions + change.deletions,
            "blob_url": self.page(&format!("/{name}/blob/{sha}/{path}")),
            "raw_url": self.page(&format!("/{name}/raw/{sha}/{path}")),
            "contents_url": self.api(&contents),
        })
    }

    /// A `branch-with-protection`; nothing is protected here.
    pub(crate) fn branch(&self, repo: &Repo, branch: &str, tip: &Commit) -> Value {
        let url = self.api(&self.repo_path(repo, &format!("/branches/{branch}")));
        let name = self.document.full_name(repo);
        json!({
            "name": branch,
            "commit": self.commit(repo, tip),
            "_links": {
                "self": url,
                "html": self.page(&format!("/{name}/tree/{branch}")),
            },
            "protected": false,
            "protection": {
                "enabled": false,
                "required_status_checks": {
                    "enforcement_level": "off",
                    "contexts": [],
                    "checks": [],
                },
            },
            "protection_url": format!("{url}/protection"),
        })
    }

    /// A commit as a `push` tells it.
    pub(crate) fn pushed_commit(&self, repo: &Repo, commit: &Commit) -> Value {
        let paths = |kind: ChangeKind| {
            let changes = commit.changes.iter().filter(move |it| it.kind == kind);
            changes
                .map(|it| Value::from(it.path.clone()))
                .collect::<Value>()
        };
        let name = self.document.full_name(repo);
        json!({
            "id": commit.sha,
            "tree_id": commit.tree,
            "distinct": true,
            "message": commit.message,
            "timestamp": commit.committer.at,
            "url": self.page(&format!("/{name}/commit/{}", commit.sha)),
            "author": self.pushed_signature(&commit.author),
            "committer": self.pushed_signature(&commit.committer),
            "added": paths(ChangeKind::Added),
            "removed": paths(ChangeKind::Removed),
            "modified": paths(ChangeKind::Modified),
        })
    }

    fn pushed_signature(&self, by: &Signature) -> Value {
        let mut shape = json!({ "name": by.name, "email": by.address });
        if let Some(account) = self.known(by) {
            add(&mut shape, json!({ "username": account.login }));
        }
        shape
    }

    /// Whose address a commit was written under.
    fn known(&self, by: &Signature) -> Option<&Account> {
        self.document.account_by_address(&by.address)
    }
}

fn signature(by: &Signature) -> Value {
    json!({ "name": by.name, "email": by.address, "date": time(by.at) })
}
