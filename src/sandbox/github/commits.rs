//! Commits and branches over GitHub's API.

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::Value;

use crate::sandbox::api::commits::resolve;
use crate::sandbox::api::{Answer, Here, Refused};
use crate::sandbox::github::shape::Shape;
use crate::sandbox::model::pull::Pull;

pub(crate) async fn show(here: Here) -> Answer {
    let sha = resolve(&here).await?;
    let commit = here.ask.sandbox.shelf.commit(here.repo, &sha).await?;
    let document = here.ask.sandbox.desk.read().await;
    let repo = document.repo(here.repo);
    let shape = Shape::of(&here.ask, &document).commit(repo, &commit);
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
    let shape = Shape::of(&here.ask, &document).branch(repo, name, &tip);
    Ok(Json(shape).into_response())
}

/// The pull requests that hold or brought a commit: merged ones alone once it is in the default branch.
pub(crate) async fn pulls(here: Here) -> Answer {
    let sha = resolve(&here).await?;
    let found = here.act().pulls_with(here.repo, &sha).await?;
    let document = here.ask.sandbox.desk.read().await;
    let words = here.ask.words(&document);
    let show = |it: &Pull| -> Value { words.listed_pull(it) };
    Ok(here.ask.page(&found, show))
}
