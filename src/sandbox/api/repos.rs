//! Users, repositories, forks and hooks, as every forge answers them.

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use crate::core::ids::RepoId;
use crate::core::person::Role;
use crate::sandbox::acts::NewHook;
use crate::sandbox::api::{Answer, Ask, Here, Refused};
use crate::sandbox::model::hook::{Hook, Subject};
use crate::sandbox::model::repo::Repo;

pub(crate) async fn myself(ask: Ask) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let shape = ask.words(&document).myself(ask.caller);
    Ok(Json(shape).into_response())
}

/// Anybody, by their login.
pub(crate) async fn user(ask: Ask) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let account = document.account_by_login(ask.param("user")?);
    let id = account.ok_or_else(Refused::missing)?.id;
    let shape = ask.words(&document).user(id);
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
    let words = ask.words(&document);
    Ok(ask.page(&repos, |it| words.listed_repo(it, ask.caller)))
}

pub(crate) async fn show(here: Here) -> Answer {
    answer(&here.ask, here.repo, StatusCode::OK).await
}

pub(crate) async fn fork(here: Here) -> Answer {
    let fork = here.act().fork(here.repo).await?;
    answer(&here.ask, fork, StatusCode::ACCEPTED).await
}

async fn answer(ask: &Ask, repo: RepoId, status: StatusCode) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let shape = ask.words(&document).repo(document.repo(repo), ask.caller);
    Ok((status, Json(shape)).into_response())
}

/// Every hook of the repository that speaks as the forge that is asked.
pub(crate) async fn hooks(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let of_repo = document.hooks.iter().filter(|it| is_here(&here, it));
    let hooks: Vec<_> = of_repo.collect();
    let words = here.ask.words(&document);
    Ok(here.ask.unlinked_page(&hooks, |it| words.hook(it)))
}

/// Whether a hook is one that the call can see.
pub(crate) fn is_here(here: &Here, hook: &Hook) -> bool {
    hook.of == Subject::Repo(here.repo) && hook.dialect == here.ask.dialect
}

pub(crate) async fn add_hook(here: &Here, new: NewHook) -> Answer {
    let id = here.act().add_hook(here.repo, new).await?;
    hook(here, id, StatusCode::CREATED).await
}

/// One hook, by its number.
pub(crate) async fn hook(here: &Here, id: u64, status: StatusCode) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let found = document.hook(id).filter(|it| is_here(here, it));
    let found = found.ok_or_else(Refused::missing)?;
    let shape = here.ask.words(&document).hook(found);
    Ok((status, Json(shape)).into_response())
}
