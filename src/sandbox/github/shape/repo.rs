//! Repositories and hooks as GitHub shows them.

use serde_json::{Value, json};

use crate::core::ids::UserId;
use crate::sandbox::api::words::{add, time};
use crate::sandbox::github::shape::account::permissions;
use crate::sandbox::github::shape::{Shape, node};
use crate::sandbox::model::hook::{Hook, Subject};
use crate::sandbox::model::repo::Repo;

/// Addresses below a repository's own in the API, each a field `<name>_url`.
const ADDRESSES: [(&str, &str); 36] = [
    ("archive", "/{archive_format}{/ref}"),
    ("assignees", "/assignees{/user}"),
    ("blobs", "/git/blobs{/sha}"),
    ("branches", "/branches{/branch}"),
    ("collaborators", "/collaborators{/collaborator}"),
    ("comments", "/comments{/number}"),
    ("commits", "/commits{/sha}"),
    ("compare", "/compare/{base}...{head}"),
    ("contents", "/contents/{+path}"),
    ("contributors", "/contributors"),
    ("deployments", "/deployments"),
    ("downloads", "/downloads"),
    ("events", "/events"),
    ("forks", "/forks"),
    ("git_commits", "/git/commits{/sha}"),
    ("git_refs", "/git/refs{/sha}"),
    ("git_tags", "/git/tags{/sha}"),
    ("hooks", "/hooks"),
    ("issue_comment", "/issues/comments{/number}"),
    ("issue_events", "/issues/events{/number}"),
    ("issues", "/issues{/number}"),
    ("keys", "/keys{/key_id}"),
    ("labels", "/labels{/name}"),
    ("languages", "/languages"),
    ("merges", "/merges"),
    ("milestones", "/milestones{/number}"),
    ("notifications", "/notifications{?since,all,participating}"),
    ("pulls", "/pulls{/number}"),
    ("releases", "/releases{/id}"),
    ("stargazers", "/stargazers"),
    ("statuses", "/statuses/{sha}"),
    ("subscribers", "/subscribers"),
    ("subscription", "/subscription"),
    ("tags", "/tags"),
    ("teams", "/teams"),
    ("trees", "/git/trees{/sha}"),
];

impl Shape<'_> {
    /// `/repos/owner/name`, with more behind it.
    pub(crate) fn repo_path(&self, repo: &Repo, rest: &str) -> String {
        format!("/repos/{}{rest}", self.document.full_name(repo))
    }

    /// A `repository`, the same in answers and in webhooks.
    pub(crate) fn repo(&self, repo: &Repo) -> Value {
        let full_name = self.document.full_name(repo);
        let page = self.page(&format!("/{full_name}"));
        let mut shape = json!({
            "id": repo.id,
            "node_id": node("R", repo.id),
            "name": repo.name,
            "full_name": full_name,
            "private": !repo.is_public,
            "owner": self.account(repo.owner),
            "html_url": page,
            "description": null,
            "fork": repo.parent.is_some(),
            "url": self.api(&self.repo_path(repo, "")),
            "created_at": time(repo.created_at),
            "updated_at": time(repo.pushed_at),
            "pushed_at": time(repo.pushed_at),
            "git_url": format!("{page}.git"),
            "ssh_url": format!("{page}.git"),
            "clone_url": format!("{page}.git"),
            "svn_url": page,
            "mirror_url": null,
            "homepage": null,
            "language": null,
            "license": null,
            "topics": [],
            "visibility": if repo.is_public { "public" } else { "private" },
            "default_branch": repo.default_branch,
        });
        for (name, rest) in ADDRESSES {
            let address = self.api(&self.repo_path(repo, rest));
            add(&mut shape, json!({ format!("{name}_url"): address }));
        }
        add(&mut shape, switches());
        add(&mut shape, self.counts(repo));
        shape
    }

    fn counts(&self, repo: &Repo) -> Value {
        let repos = &self.document.repos;
        let forks = repos.iter().filter(|it| it.parent == Some(repo.id)).count();
        let open = self.document.open_pulls();
        let open = open.filter(|it| it.key.repo == repo.id).count();
        json!({
            "size": 0,
            "forks": forks,
            "forks_count": forks,
            "open_issues": open,
            "open_issues_count": open,
            "stargazers_count": 0,
            "watchers": 0,
            "watchers_count": 0,
        })
    }

    /// A `repository` with what the caller may do in it.
    pub(crate) fn repo_for(&self, repo: &Repo, caller: UserId) -> Value {
        let mut shape = self.repo(repo);
        let rights = permissions(repo.role(caller));
        add(&mut shape, json!({ "permissions": rights }));
        shape
    }

    /// A `full-repository`.
    pub(crate) fn full_repo(&self, repo: &Repo, caller: UserId) -> Value {
        let mut shape = self.repo_for(repo, caller);
        let more = json!({
            "allow_merge_commit": true,
            "allow_squash_merge": true,
            "allow_rebase_merge": false,
            "allow_auto_merge": false,
            "delete_branch_on_merge": false,
            "subscribers_count": 0,
            "network_count": 0,
        });
        add(&mut shape, more);
        if let Some(parent) = repo.parent {
            let parent = self.repo(self.document.repo(parent));
            add(&mut shape, json!({ "parent": parent, "source": parent }));
        }
        shape
    }

    /// A `hook`; its secret is not told.
    pub(crate) fn hook(&self, hook: &Hook) -> Value {
        let (kind, url) = match hook.of {
            Subject::Repo(repo) => {
                let repo = self.document.repo(repo);
                let path = self.repo_path(repo, &format!("/hooks/{}", hook.id));
                ("Repository", self.api(&path))
            }
            Subject::App(_) => ("App", self.api("/app/hook")),
        };
        json!({
            "type": kind,
            "id": hook.id,
            "name": "web",
            "active": true,
            "events": ["issue_comment", "pull_request", "pull_request_review", "push"],
            "config": hook_config(hook),
            "created_at": time(hook.created_at),
            "updated_at": time(hook.created_at),
            "url": url,
            "test_url": format!("{url}/test"),
            "ping_url": format!("{url}/pings"),
            "deliveries_url": format!("{url}/deliveries"),
            "last_response": { "code": null, "status": "unused", "message": null },
        })
    }
}

/// How a hook is sent to; its secret is not told.
pub(crate) fn hook_config(hook: &Hook) -> Value {
    json!({
        "url": hook.url,
        "content_type": "json",
        "insecure_ssl": "0",
        "secret": "********",
    })
}

fn switches() -> Value {
    json!({
        "is_template": false,
        "archived": false,
        "disabled": false,
        "allow_forking": true,
        "web_commit_signoff_required": false,
        "has_issues": true,
        "has_projects": false,
        "has_downloads": false,
        "has_wiki": false,
        "has_pages": false,
        "has_discussions": false,
    })
}
