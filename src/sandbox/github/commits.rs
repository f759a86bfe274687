//! Commits and branches over GitHub's API.

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::Value;

use crate::core::ids::Sha;
use crate::sandbox::github::ask::{Answer, Here, Refused};
use crate::sandbox::model::pull::Pull;

/// The commit that the path names by its id, a branch or a full ref.
pub(crate) async fn resolve(here: &Here) -> Result<Sha, Refused> {
    let name = here.ask.param("sha")?;
    let shelf = &here.ask.sandbox.shelf;
    let found = match shelf.tip(here.repo, name).await? {
        Some(tip) => Some(tip),
        None => shelf.resolve(here.repo, name).await?,
    };
    let text = format!("No commit found for SHA: {name}");
    found.ok_or_else(|| Refused::plain(StatusCode::UNPROCESSABLE_ENTITY, text))
}

pub(crate) async fn show(here: Here) -> Answer {
    let sha = resolve(&here).await?;
    let commit = here.ask.sandbox.shelf.commit(here.repo, &sha).await?;
    let document = here.ask.sandbox.desk.read().await;
    let repo = document.repo(here.repo);
    let shape = here.ask.shape(&document).commit(repo, &commit);
    Ok(Json(shape).into_response())
}

pub(crate) async fn branch(here: Here) -> Answer {
    let name = here.ask.param("branch")?;
    let shelf = &here.ask.sandbox.shelf;
    let Some(tip) = shelf.tip(here.repo, name).await? else {
        return Err(Refused::plain(StatusCode::NOT_FOUND, "Branch not found"));
    };
    let tip = shelf.commit(here.repo, &tip).await?;
    let document = here.ask.sandbox.desk.read().await;
    let repo = document.repo(here.repo);
    let shape = here.ask.shape(&document).branch(repo, name, &tip);
    Ok(Json(shape).into_response())
}

/// The pull requests that hold or brought a commit: merged ones alone once it is in the default branch.
pub(crate) async fn pulls(here: Here) -> Answer {
    let sha = resolve(&here).await?;
    let found = here.act().pulls_with(here.repo, &sha).await?;
    let document = here.ask.sandbox.desk.read().await;
    let shape = here.ask.shape(&document);
    let show = |it: &Pull| -> Value { shape.pull_in_list(it) };
    Ok(here.ask.page(&found, show))
}
