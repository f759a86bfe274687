//! Users, repositories, forks, hooks and permissions over GitHub's API.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;

use crate::core::person::Role;
use crate::sandbox::github::ask::{Answer, Ask, Here, Refused, read};
use crate::sandbox::model::hook::Subject;
use crate::sandbox::model::repo::Repo;

pub(crate) async fn myself(ask: Ask) -> Answer {
    if ask.right.only().is_some() {
        let text = "Resource not accessible by integration";
        return Err(Refused::plain(StatusCode::FORBIDDEN, text));
    }
    let document = ask.sandbox.desk.read().await;
    let shape = ask.shape(&document).myself(ask.caller);
    Ok(Json(shape).into_response())
}

/// Anybody, by their login.
pub(crate) async fn user(ask: Ask) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let account = document.account_by_login(ask.param("user")?);
    let id = account.ok_or_else(Refused::missing)?.id;
    let shape = ask.shape(&document).public_user(id);
    Ok(Json(shape).into_response())
}

/// The repositories the caller has a role in of their own, by name.
pub(crate) async fn mine(ask: Ask) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let is_mine = |it: &&Repo| {
        it.owner == ask.caller || it.collaborators.get(&ask.caller) >= Some(&Role::Read)
    };
    let mut repos: Vec<&Repo> = document.repos.iter().filter(is_mine).collect();
    repos.sort_by_key(|it| document.full_name(it));
    let shape = ask.shape(&document);
    Ok(ask.page(&repos, |it| shape.repo_for(it, ask.caller)))
}

pub(crate) async fn show(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let repo = document.repo(here.repo);
    let shape = here.ask.shape(&document);
    Ok(Json(shape.full_repo(repo, here.ask.caller)).into_response())
}

pub(crate) async fn fork(here: Here) -> Answer {
    let fork = here.act().fork(here.repo).await?;
    let document = here.ask.sandbox.desk.read().await;
    let shape = here.ask.shape(&document);
    let fork = shape.full_repo(document.repo(fork), here.ask.caller);
    Ok((StatusCode::ACCEPTED, Json(fork)).into_response())
}

/// What somebody may do here. Who may do nothing is not there, as a user nobody knows.
pub(crate) async fn permission(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let login = here.ask.param("user")?;
    let Some(account) = document.account_by_login(login) else {
        let text = format!("{login} is not a user");
        return Err(Refused::plain(StatusCode::NOT_FOUND, text));
    };
    let repo = document.repo(here.repo);
    if repo.role(account.id) == Role::None {
        return Err(Refused::missing());
    }
    let shape = here.ask.shape(&document).collaborator(repo, account.id);
    Ok(Json(shape).into_response())
}

pub(crate) async fn hooks(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    if document.repo(here.repo).role(here.ask.caller) < Role::Admin {
        return Err(Refused::missing());
    }
    let of_repo = document
        .hooks
        .iter()
        .filter(|it| it.of == Subject::Repo(here.repo));
    let hooks: Vec<_> = of_repo.collect();
    let shape = here.ask.shape(&document);
    Ok(here.ask.page(&hooks, |it| shape.hook(it)))
}

#[derive(Deserialize)]
struct NewHook {
    config: HookConfig,
}

#[derive(Deserialize)]
struct HookConfig {
    url: String,
    #[serde(default)]
    secret: String,
}

/// Adds a hook for every event there is.
pub(crate) async fn add_hook(here: Here, body: Bytes) -> Answer {
    let NewHook { config } = read(&body)?;
    let hook = (config.url, config.secret);
    let id = here.act().add_hook(here.repo, hook).await?;
    let document = here.ask.sandbox.desk.read().await;
    let hook = document.hook(id).ok_or_else(Refused::missing)?;
    let shape = here.ask.shape(&document).hook(hook);
    Ok((StatusCode::CREATED, Json(shape)).into_response())
}
