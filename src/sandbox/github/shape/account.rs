//! Users, bots and organizations as GitHub shows them.

use serde_json::{Value, json};

use crate::core::ids::UserId;
use crate::core::person::Role;
use crate::sandbox::api::words::{add, role_name, time};
use crate::sandbox::github::shape::{Shape, node};
use crate::sandbox::model::account::{Account, AccountKind};
use crate::sandbox::model::repo::Repo;

impl Shape<'_> {
    /// A `simple-user`.
    pub(crate) fn account(&self, id: UserId) -> Value {
        let account = self.document.account(id);
        let login = &account.login;
        let api = self.api(&format!("/users/{login}"));
        json!({
            "login": login,
            "id": account.id,
            "node_id": node("U", account.id),
            "avatar_url": self.page(&format!("/avatars/{login}")),
            "gravatar_id": "",
            "url": api,
            "html_url": self.page(&format!("/{login}")),
            "followers_url": format!("{api}/followers"),
            "following_url": format!("{api}/following{{/other_user}}"),
            "gists_url": format!("{api}/gists{{/gist_id}}"),
            "starred_url": format!("{api}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{api}/subscriptions"),
            "organizations_url": format!("{api}/orgs"),
            "repos_url": format!("{api}/repos"),
            "events_url": format!("{api}/events{{/privacy}}"),
            "received_events_url": format!("{api}/received_events"),
            "type": kind(account),
            "site_admin": false,
        })
    }

    /// A `public-user`: what everybody sees.
    pub(crate) fn public_user(&self, id: UserId) -> Value {
        let account = self.document.account(id);
        let owned = self.document.repos.iter().filter(|it| it.owner == id);
        let public = owned.filter(|it| it.is_public).count();
        let mut user = self.account(id);
        let more = json!({
            "name": account.login,
            "company": null,
            "blog": "",
            "location": null,
            "email": null,
            "hireable": null,
            "bio": null,
            "public_repos": public,
            "public_gists": 0,
            "followers": 0,
            "following": 0,
            "created_at": time(account.created_at),
            "updated_at": time(account.created_at),
        });
        add(&mut user, more);
        user
    }

    /// A `private-user`: what somebody sees of themselves.
    pub(crate) fn myself(&self, id: UserId) -> Value {
        let account = self.document.account(id);
        let owned = self.document.repos.iter().filter(|it| it.owner == id);
        let private = owned.filter(|it| !it.is_public).count();
        let mut user = self.public_user(id);
        let more = json!({
            "email": account.email,
            "private_gists": 0,
            "total_private_repos": private,
            "owned_private_repos": private,
            "disk_usage": 0,
            "collaborators": 0,
            "two_factor_authentication": false,
        });
        add(&mut user, more);
        user
    }

    /// A `repository-collaborator-permission`.
    pub(crate) fn collaborator(&self, repo: &Repo, id: UserId) -> Value {
        let role = repo.role(id);
        let mut user = self.account(id);
        let more = json!({
            "permissions": permissions(role),
            "role_name": role_name(role),
        });
        add(&mut user, more);
        json!({
            "permission": role_name(role),
            "role_name": role_name(role),
            "user": user,
        })
    }

    /// How somebody stands to a repository, as comments and reviews say it.
    pub(crate) fn association(&self, repo: &Repo, id: UserId) -> &'static str {
        let is_collaborator = repo.collaborators.contains_key(&id);
        let has_contributed = self
            .document
            .pulls_of(repo.id)
            .any(|it| it.author == id && it.merge.is_some());
        if repo.owner == id {
            "OWNER"
        } else if is_collaborator {
            "COLLABORATOR"
        } else if has_contributed {
            "CONTRIBUTOR"
        } else {
            "NONE"
        }
    }

    /// An `organization-simple-webhooks`; none when the owner is a person.
    pub(crate) fn organization(&self, repo: &Repo) -> Option<Value> {
        let account = self.document.account(repo.owner);
        if account.kind != AccountKind::Organization {
            return None;
        }
        let api = self.api(&format!("/orgs/{}", account.login));
        Some(json!({
            "login": account.login,
            "id": account.id,
            "node_id": node("O", account.id),
            "url": api,
            "repos_url": format!("{api}/repos"),
            "events_url": format!("{api}/events"),
            "hooks_url": format!("{api}/hooks"),
            "issues_url": format!("{api}/issues"),
            "members_url": format!("{api}/members{{/member}}"),
            "public_members_url": format!("{api}/public_members{{/member}}"),
            "avatar_url": self.page(&format!("/avatars/{}", account.login)),
            "description": null,
        }))
    }
}

/// The five rights GitHub lists.
pub(crate) fn permissions(role: Role) -> Value {
    json!({
        "admin": role >= Role::Admin,
        "maintain": role >= Role::Admin,
        "push": role >= Role::Write,
        "triage": role >= Role::Write,
        "pull": role >= Role::Read,
    })
}

fn kind(account: &Account) -> &'static str {
    match account.kind {
        AccountKind::Person => "User",
        AccountKind::Bot => "Bot",
        AccountKind::Organization => "Organization",
    }
}
