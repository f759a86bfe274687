//! Commits and branches as Forgejo shows them.

use serde_json::{Value, json};

use crate::sandbox::api::words::time;
use crate::sandbox::bare::{ChangeKind, Commit, Signature};
use crate::sandbox::forgejo::shape::Shape;
use crate::sandbox::model::account::Account;
use crate::sandbox::model::repo::Repo;

impl Shape<'_> {
    /// A `Commit`.
    pub(crate) fn commit(&self, repo: &Repo, commit: &Commit) -> Value {
        let sha = &commit.sha;
        let name = self.document.full_name(repo);
        let url = self.api(repo, &format!("/git/commits/{sha}"));
        let parents = commit.parents.iter().map(|it| {
            let url = self.api(repo, &format!("/git/commits/{it}"));
            json!({ "sha": it, "url": url, "created": "0001-01-01T00:00:00Z" })
        });
        let tree = self.api(repo, &format!("/git/trees/{}", commit.tree));
        let at = time(commit.committer.at);
        json!({
            "url": url,
            "sha": sha,
            "created": at,
            "html_url": self.page(&format!("/{name}/commit/{sha}")),
            "commit": {
                "url": url,
                "author": signature(&commit.author),
                "committer": signature(&commit.committer),
                "message": commit.message,
                "tree": { "url": tree, "sha": commit.tree, "created": at },
                "verification": null,
            },
            "author": self.known(&commit.author).map(|it| self.account(it.id)),
            "committer": self.known(&commit.committer).map(|it| self.account(it.id)),
            "parents": parents.collect::<Value>(),
            "files": commit.changes.iter().map(|it| json!({ "filename": it.path })).collect::<Value>(),
        })
    }

    /// A `Branch`; nothing is protected here.
    pub(crate) fn branch(&self, repo: &Repo, branch: &str, tip: &Commit) -> Value {
        json!({
            "name": branch,
            "commit": self.pushed_commit(repo, tip),
            "protected": false,
            "required_approvals": 0,
            "enable_status_check": false,
            "status_check_contexts": [],
            "user_can_push": true,
            "user_can_merge": true,
            "effective_branch_protection_name": "",
        })
    }

    /// A `PayloadCommit`.
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
            "message": format!("{}\n", commit.message.trim_end()),
            "url": self.page(&format!("/{name}/commit/{}", commit.sha)),
            "author": self.pushed_signature(&commit.author),
            "committer": self.pushed_signature(&commit.committer),
            "verification": null,
            "timestamp": time(commit.committer.at),
            "added": paths(ChangeKind::Added),
            "removed": paths(ChangeKind::Removed),
            "modified": paths(ChangeKind::Modified),
        })
    }

    fn pushed_signature(&self, by: &Signature) -> Value {
        let login = self.known(by).map(|it| it.login.as_str());
        json!({ "name": by.name, "email": by.address, "username": login.unwrap_or_default() })
    }

    /// Whose address a commit was written under.
    fn known(&self, by: &Signature) -> Option<&Account> {
        self.document.account_by_address(&by.address)
    }
}

fn signature(by: &Signature) -> Value {
    json!({ "name": by.name, "email": by.address, "date": time(by.at) })
}
