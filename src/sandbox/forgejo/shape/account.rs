//! Users, organizations and teams as Forgejo shows them.

use serde_json::{Value, json};

use crate::core::ids::UserId;
use crate::sandbox::api::words::{add, role_name, time};
use crate::sandbox::forgejo::shape::Shape;
use crate::sandbox::model::account::Account;
use crate::sandbox::model::repo::{Repo, Team};

impl Shape<'_> {
    /// A `User` as others see it. Nothing in it tells a bot from a person.
    pub(crate) fn account(&self, id: UserId) -> Value {
        let account = self.document.account(id);
        let login = &account.login;
        json!({
            "id": id,
            "login": login,
            "login_name": "",
            "source_id": 0,
            "full_name": "",
            "email": format!("{id}+{login}@noreply.sandbox.invalid"),
            "avatar_url": self.page(&format!("/avatars/{login}")),
            "html_url": self.page(&format!("/{login}")),
            "language": "",
            "is_admin": false,
            "last_login": "0001-01-01T00:00:00Z",
            "created": time(account.created_at),
            "restricted": false,
            "active": false,
            "prohibit_login": false,
            "location": "",
            "pronouns": "",
            "website": "",
            "description": "",
            "visibility": "public",
            "followers_count": 0,
            "following_count": 0,
            "starred_repos_count": 0,
            "username": login,
        })
    }

    /// A `User` as they see themselves.
    pub(crate) fn myself(&self, id: UserId) -> Value {
        let account = self.document.account(id);
        let mut user = self.account(id);
        let more = json!({
            "email": account.address(),
            "is_admin": account.is_admin,
            "active": true,
        });
        add(&mut user, more);
        user
    }

    /// A `RepoCollaboratorPermission`.
    pub(crate) fn permission(&self, repo: &Repo, account: &Account) -> Value {
        let is_owner = account.is_admin || repo.owner == account.id;
        let name = if is_owner {
            "owner"
        } else {
            role_name(repo.role(account.id))
        };
        json!({
            "permission": name,
            "role_name": name,
            "user": self.account(account.id),
        })
    }

    /// A `Team`.
    pub(crate) fn team(&self, organization: &Account, team: &Team) -> Value {
        let name = role_name(team.role);
        json!({
            "id": team.id,
            "name": team.name,
            "description": "",
            "organization": self.organization(organization),
            "includes_all_repositories": false,
            "permission": name,
            "units": ["repo.code", "repo.pulls", "repo.issues"],
            "units_map": { "repo.code": name, "repo.pulls": name, "repo.issues": name },
            "can_create_org_repo": false,
        })
    }

    fn organization(&self, account: &Account) -> Value {
        let login = &account.login;
        json!({
            "id": account.id,
            "name": login,
            "full_name": "",
            "email": "",
            "avatar_url": self.page(&format!("/avatars/{login}")),
            "description": "",
            "website": "",
            "location": "",
            "visibility": "public",
            "repo_admin_change_team_access": false,
            "username": login,
        })
    }
}
