//! Apps and installations as GitHub shows them.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::core::ids::RepoId;
use crate::sandbox::api::words::time;
use crate::sandbox::github::shape::{Shape, node};
use crate::sandbox::model::account::AccountKind;
use crate::sandbox::model::app::{App, Installation};
use crate::sandbox::model::happening::{InstallationChange, Place};

/// The events that every app of the sandbox hears.
const EVENTS: [&str; 4] = [
    "issue_comment",
    "pull_request",
    "pull_request_review",
    "push",
];

impl Shape<'_> {
    /// An `integration`.
    pub(crate) fn app(&self, app: &App) -> Value {
        let page = self.page(&format!("/apps/{}", app.slug));
        json!({
            "id": app.id,
            "slug": app.slug,
            "node_id": node("A", app.id),
            "client_id": format!("Iv23{}", app.id),
            "owner": self.account(app.owner),
            "name": app.slug,
            "description": null,
            "external_url": page,
            "html_url": page,
            "created_at": time(app.created_at),
            "updated_at": time(app.created_at),
            "permissions": app.permissions,
            "events": EVENTS,
            "installations_count": self.document.installations_of(app.id).count(),
        })
    }

    /// An `installation`.
    pub(crate) fn installation(&self, held: &Installation) -> Value {
        let (id, app) = (held.id, self.document.app(held.app));
        let is_organization = self.document.account(held.account).kind == AccountKind::Organization;
        json!({
            "id": id,
            "account": self.account(held.account),
            "repository_selection": "selected",
            "access_tokens_url": self.api(&format!("/app/installations/{id}/access_tokens")),
            "repositories_url": self.api("/installation/repositories"),
            "html_url": self.page(&format!("/settings/installations/{id}")),
            "app_id": app.id,
            "app_slug": app.slug,
            "target_id": held.account,
            "target_type": if is_organization { "Organization" } else { "User" },
            "permissions": app.permissions,
            "events": EVENTS,
            "created_at": time(held.created_at),
            "updated_at": time(held.created_at),
            "single_file_name": null,
            "has_multiple_single_files": false,
            "single_file_paths": [],
            "suspended_by": held.suspended_at.map(|_| self.account(held.account)),
            "suspended_at": held.suspended_at.map(time),
        })
    }

    /// A `simple-installation`: what stands in other events.
    pub(crate) fn simple_installation(&self, held: &Installation) -> Value {
        json!({ "id": held.id, "node_id": node("I", held.id) })
    }

    /// An `installation-token`.
    pub(crate) fn installation_token(
        &self,
        held: &Installation,
        (secret, expires_at): (&str, Timestamp),
    ) -> Value {
        json!({
            "token": secret,
            "expires_at": time(expires_at),
            "permissions": self.document.app(held.app).permissions,
            "repository_selection": "selected",
        })
    }

    /// What an `installation` event says beside its action.
    pub(crate) fn installation_change(&self, place: Place, change: InstallationChange) -> Value {
        let Some(held) = self.changed(place) else {
            return json!({});
        };
        let mut payload = json!({ "installation": self.installation(held) });
        match change {
            InstallationChange::Created | InstallationChange::Deleted => {
                payload["repositories"] = self.listed(&held.repos);
            }
            InstallationChange::Suspended | InstallationChange::Unsuspended => {}
        }
        payload
    }

    /// What an `installation_repositories` event says beside its action.
    pub(crate) fn installation_repos(
        &self,
        place: Place,
        added: &[RepoId],
        removed: &[RepoId],
    ) -> Value {
        let Some(held) = self.changed(place) else {
            return json!({});
        };
        json!({
            "installation": self.installation(held),
            "repository_selection": "selected",
            "repositories_added": self.listed(added),
            "repositories_removed": self.listed(removed),
            "requester": null,
        })
    }

    /// The installation an event is about; it may be gone by now.
    fn changed(&self, place: Place) -> Option<&Installation> {
        let Place::Installation(id) = place else {
            return None;
        };
        self.document.installations.iter().find(|it| it.id == id)
    }

    fn listed(&self, repos: &[RepoId]) -> Value {
        let repos = repos.iter().map(|it| self.document.repo(*it));
        let shapes = repos.map(|repo| {
            json!({
                "id": repo.id,
                "node_id": node("R", repo.id),
                "name": repo.name,
                "full_name": self.document.full_name(repo),
                "private": !repo.is_public,
            })
        });
        shapes.collect()
    }
}
