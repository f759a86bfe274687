//! What somebody may do in a repository.
//!
//! The forge says it straight out to administrators of the repository only. To others it lists who may be assigned to
//! its issues: everybody who may write, and in an organization also members of teams that may only read. So there a
//! team that may write must have them among its members, or there must be no team that may less.

use http::StatusCode;

use crate::core::ids::{Actor, Repo};
use crate::core::person::Role;
use crate::forge::ForgeError;
use crate::forge::client::Line;
use crate::forge::forgejo::wire::{Owned, Permission, Team};
use crate::forge::wire::User;

/// Asks what an account may do; none for another account that bears its name by now.
pub(super) async fn of(line: Line<'_>, repo: &Repo, actor: &Actor) -> Result<Role, ForgeError> {
    let path = format!("{}/permission", collaborator(repo, actor));
    match line.get::<Permission>(&path).await {
        Ok(answer) if answer.user.0.as_ref().is_some_and(|it| is(it, actor)) => Ok(answer.role()),
        Ok(_) | Err(ForgeError::NotFound(_)) => Ok(Role::None),
        Err(ForgeError::Forbidden(_)) => seen_from_below(line, repo, actor).await,
        Err(error) => Err(error),
    }
}

/// What may be known of an account's role by those who are no administrators.
async fn seen_from_below(line: Line<'_>, repo: &Repo, actor: &Actor) -> Result<Role, ForgeError> {
    let root = format!("/repos/{}", repo.name);
    let owned: Owned = line.get(&root).await?;
    if owned.owner.0.is_some_and(|it| is(&it, actor)) {
        return Ok(Role::Admin);
    }
    let assignable: Vec<User> = line.list_whole(&format!("{root}/assignees")).await?;
    if !assignable.iter().any(|it| is(it, actor)) {
        return Ok(Role::None);
    }
    match teams(line, repo).await? {
        Some(teams) if teams.iter().any(|it| it.role() < Role::Write) => {
            by_team(line, repo, actor, &teams).await
        }
        Some(_) | None => Ok(Role::Write),
    }
}

/// The teams of a repository; none when it is no organization's.
async fn teams(line: Line<'_>, repo: &Repo) -> Result<Option<Vec<Team>>, ForgeError> {
    let path = format!("/repos/{}/teams", repo.name);
    let answer = line.ask(&path).await?;
    if answer.status == StatusCode::METHOD_NOT_ALLOWED {
        return Ok(None);
    }
    let teams: Option<Vec<Team>> = answer.check(&path)?.parse(&path)?;
    Ok(Some(teams.unwrap_or_default()))
}

/// Looks for the account in the teams that may write.
async fn by_team(
    line: Line<'_>,
    repo: &Repo,
    actor: &Actor,
    teams: &[Team],
) -> Result<Role, ForgeError> {
    let mut found = Role::None;
    for team in teams.iter().filter(|it| it.role() >= Role::Write) {
        let Some(id) = team.id.0 else { continue };
        let path = format!("/teams/{}/members/{}", id.0, actor.login);
        match line.get::<User>(&path).await {
            Ok(member) if is(&member, actor) => found = found.max(team.role()),
            Ok(_) | Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if found >= Role::Write {
        return Ok(found);
    }
    let why = format!(
        "what {} may do in {} is told to its administrators only: give our account the role administrator there",
        actor.login, repo.name
    );
    Err(ForgeError::Forbidden(why))
}

fn collaborator(repo: &Repo, actor: &Actor) -> String {
    format!("/repos/{}/collaborators/{}", repo.name, actor.login)
}

/// By the number: the name may be somebody else's by now.
fn is(user: &User, actor: &Actor) -> bool {
    user.id.0.is_some_and(|it| it.0 == actor.id.0)
}
