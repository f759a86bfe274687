//! Who may do what in a repository, over Forgejo's API.

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::Value;

use crate::core::ids::UserId;
use crate::core::person::Role;
use crate::sandbox::api::{Answer, Ask, Here, Refused};
use crate::sandbox::forgejo::shape::Shape;
use crate::sandbox::model::Document;
use crate::sandbox::model::account::{Account, AccountKind};
use crate::sandbox::model::repo::Team;

/// What somebody may do here, for administrators of the repository or of the server, and of oneself.
pub(crate) async fn permission(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let repo = document.repo(here.repo);
    let caller = document.account(here.ask.caller);
    let login = here.ask.param("user")?;
    let is_self = caller.login.as_str().eq_ignore_ascii_case(login);
    if !caller.is_admin && !is_self && here.ask.right.role(repo) < Role::Admin {
        let text = "Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own";
        return Err(Refused::plain(StatusCode::FORBIDDEN, text));
    }
    let account = known(&document, login, StatusCode::NOT_FOUND)?;
    let shape = Shape::of(&here.ask, &document).permission(repo, account);
    Ok(Json(shape).into_response())
}

fn known<'d>(
    document: &'d Document,
    login: &str,
    status: StatusCode,
) -> Result<&'d Account, Refused> {
    let found = document.account_by_login(login);
    let text = format!("user does not exist [uid: 0, name: {login}]");
    found.ok_or_else(|| Refused::plain(status, text))
}

/// Those with a role of their own; owners and members of teams are not among them.
pub(crate) async fn collaborators(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let repo = document.repo(here.repo);
    let all = repo.collaborators.iter();
    let all: Vec<UserId> = all
        .filter(|(_, role)| **role > Role::None)
        .map(|(id, _)| *id)
        .collect();
    let words = here.ask.words(&document);
    Ok(here.ask.unlinked_page(&all, |it| words.user(*it)))
}

/// Those who may be given a pull request: whoever may write, and every member of a team that may read.
pub(crate) async fn assignees(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let repo = document.repo(here.repo);
    let in_team = |id: UserId| repo.teams.iter().any(|it| it.members.contains(&id));
    let may_write = |id: UserId| repo.role(id) >= Role::Write;
    let is_organization = |it: &Account| it.kind == AccountKind::Organization;
    let all = document.accounts.iter().filter(|it| !is_organization(it));
    let all = all
        .map(|it| it.id)
        .filter(|it| may_write(*it) || in_team(*it));
    let words = here.ask.words(&document);
    let all: Value = all.map(|it| words.user(it)).collect();
    Ok(Json(all).into_response())
}

pub(crate) async fn collaborator(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let login = here.ask.param("user")?;
    let account = known(&document, login, StatusCode::UNPROCESSABLE_ENTITY)?;
    let role = document.repo(here.repo).collaborators.get(&account.id);
    match role {
        Some(role) if *role > Role::None => Ok(StatusCode::NO_CONTENT.into_response()),
        Some(_) | None => Err(Refused::missing()),
    }
}

/// The organization's teams that have the repository.
pub(crate) async fn teams(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let repo = document.repo(here.repo);
    let owner = document.account(repo.owner);
    if owner.kind != AccountKind::Organization {
        let text = "repo is not owned by an organization";
        return Err(Refused::plain(StatusCode::METHOD_NOT_ALLOWED, text));
    }
    let shape = Shape::of(&here.ask, &document);
    let teams = repo.teams.iter();
    let teams: Value = teams.map(|it| shape.team(owner, it)).collect();
    Ok(Json(teams).into_response())
}

/// A team, for its members and for administrators of the server; to other members of the organization it is closed, and
/// to everybody else it is not there.
fn team<'d>(ask: &Ask, document: &'d Document) -> Result<&'d Team, Refused> {
    let id = ask.number("id")?;
    let has_it = |teams: &[Team]| teams.iter().any(|it| it.id == id);
    let repo = document.repos.iter().find(|it| has_it(&it.teams));
    let teams = &repo.ok_or_else(Refused::missing)?.teams;
    let found = teams.iter().find(|it| it.id == id);
    let found = found.ok_or_else(Refused::missing)?;
    let is_in = |team: &Team| team.members.contains(&ask.caller);
    if is_in(found) || document.account(ask.caller).is_admin {
        return Ok(found);
    }
    if teams.iter().any(is_in) {
        let text = "Must be a team member";
        return Err(Refused::plain(StatusCode::FORBIDDEN, text));
    }
    Err(Refused::missing())
}

pub(crate) async fn team_members(ask: Ask) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let team = team(&ask, &document)?;
    let words = ask.words(&document);
    Ok(ask.unlinked_page(&team.members, |it| words.user(*it)))
}

pub(crate) async fn team_member(ask: Ask) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let team = team(&ask, &document)?;
    let account = known(&document, ask.param("user")?, StatusCode::NOT_FOUND)?;
    if !team.members.contains(&account.id) {
        return Err(Refused::missing());
    }
    Ok(Json(ask.words(&document).user(account.id)).into_response())
}
