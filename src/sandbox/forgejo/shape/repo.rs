//! Repositories and hooks as Forgejo shows them.

use serde_json::{Value, json};

use crate::core::ids::UserId;
use crate::core::person::Role;
use crate::sandbox::api::words::{add, time};
use crate::sandbox::forgejo::shape::Shape;
use crate::sandbox::model::hook::{Hook, Subject};
use crate::sandbox::model::repo::Repo;

impl Shape<'_> {
    /// A `Repository` with what the caller may do in it.
    pub(crate) fn repo_for(&self, repo: &Repo, caller: UserId) -> Value {
        let role = repo.role(caller);
        self.repo_with(repo, role)
    }

    /// A `Repository` inside something else, as nobody in particular sees it.
    pub(crate) fn nested_repo(&self, repo: &Repo) -> Value {
        self.repo_with(repo, Role::None)
    }

    fn repo_with(&self, repo: &Repo, role: Role) -> Value {
        let full_name = self.document.full_name(repo);
        let page = self.page(&format!("/{full_name}"));
        let mut shape = json!({
            "id": repo.id,
            "owner": self.account(repo.owner),
            "name": repo.name,
            "full_name": full_name,
            "description": "",
            "empty": false,
            "private": !repo.is_public,
            "fork": repo.parent.is_some(),
            "template": false,
            "mirror": false,
            "size": 0,
            "language": "",
            "languages_url": self.api(repo, "/languages"),
            "html_url": page,
            "url": self.api(repo, ""),
            "link": "",
            "ssh_url": format!("{page}.git"),
            "clone_url": format!("{page}.git"),
            "original_url": "",
            "website": "",
            "default_branch": repo.default_branch,
            "archived": false,
            "created_at": time(repo.created_at),
            "updated_at": time(repo.pushed_at),
            "archived_at": "1970-01-01T00:00:00Z",
            "permissions": {
                "admin": role >= Role::Admin,
                "push": role >= Role::Write,
                "pull": role >= Role::Read,
            },
            "avatar_url": "",
            "internal": false,
            "mirror_interval": "",
            "object_format_name": "sha1",
            "mirror_updated": "0001-01-01T00:00:00Z",
            "topics": [],
        });
        add(&mut shape, self.counts(repo));
        add(&mut shape, switches());
        if let Some(parent) = repo.parent {
            let parent = self.repo_with(self.document.repo(parent), role);
            add(&mut shape, json!({ "parent": parent }));
        }
        shape
    }

    fn counts(&self, repo: &Repo) -> Value {
        let repos = &self.document.repos;
        let forks = repos.iter().filter(|it| it.parent == Some(repo.id)).count();
        let open = self.document.open_pulls();
        json!({
            "stars_count": 0,
            "forks_count": forks,
            "watchers_count": 0,
            "open_issues_count": 0,
            "open_pr_counter": open.filter(|it| it.key.repo == repo.id).count(),
            "release_counter": 0,
        })
    }

    /// A `Hook`; its secret is not told.
    pub(crate) fn hook(&self, hook: &Hook) -> Value {
        let page = match hook.of {
            Subject::Repo(repo) => {
                let name = self.document.full_name(self.document.repo(repo));
                self.page(&format!("/{name}/settings/hooks/{}", hook.id))
            }
            Subject::App(_) => String::new(),
        };
        json!({
            "id": hook.id,
            "type": "forgejo",
            "branch_filter": "",
            "url": page,
            "config": { "url": hook.url, "content_type": "json" },
            "content_type": "json",
            "events": hook.events,
            "authorization_header": "",
            "metadata": null,
            "active": hook.is_active,
            "created_at": time(hook.created_at),
            "updated_at": time(hook.created_at),
        })
    }
}

fn switches() -> Value {
    json!({
        "has_issues": true,
        "internal_tracker": {
            "enable_time_tracker": true,
            "allow_only_contributors_to_track_time": true,
            "enable_issue_dependencies": true,
        },
        "has_wiki": false,
        "has_pull_requests": true,
        "has_projects": false,
        "has_releases": false,
        "has_packages": false,
        "has_actions": false,
        "ignore_whitespace_conflicts": false,
        "allow_merge_commits": true,
        "allow_rebase": false,
        "allow_rebase_explicit": false,
        "allow_squash_merge": true,
        "allow_fast_forward_only_merge": false,
        "allow_rebase_update": false,
        "default_delete_branch_after_merge": false,
        "default_merge_style": "merge",
        "default_allow_maintainer_edit": false,
    })
}
