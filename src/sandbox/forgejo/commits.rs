//! Commits, branches and their statuses over Forgejo's API; and which version it says it is.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::json;

use crate::sandbox::api::commits::resolve;
use crate::sandbox::api::statuses::{self, asked};
use crate::sandbox::api::{Answer, Here, Refused};
use crate::sandbox::forgejo::shape::Shape;

/// The release whose dialect this is.
const VERSION: &str = "16.0.0+gitea-1.22.0";

/// Everybody may ask.
pub(crate) async fn version() -> impl IntoResponse {
    Json(json!({ "version": VERSION }))
}

pub(crate) async fn show(here: Here) -> Answer {
    let sha = resolve(&here).await?;
    let commit = here.ask.sandbox.shelf.commit(here.repo, &sha).await?;
    let document = here.ask.sandbox.desk.read().await;
    let shape = Shape::of(&here.ask, &document);
    let commit = shape.commit(document.repo(here.repo), &commit);
    Ok(Json(commit).into_response())
}

pub(crate) async fn branch(here: Here) -> Answer {
    let name = here.ask.param("branch")?;
    let shelf = &here.ask.sandbox.shelf;
    let tip = shelf.tip(here.repo, name).await?;
    let tip = tip.ok_or_else(Refused::missing)?;
    let tip = shelf.commit(here.repo, &tip).await?;
    let document = here.ask.sandbox.desk.read().await;
    let shape = Shape::of(&here.ask, &document);
    let branch = shape.branch(document.repo(here.repo), name, &tip);
    Ok(Json(branch).into_response())
}

/// The one pull request whose merge made a commit; those that only hold it are not found.
pub(crate) async fn pull(here: Here) -> Answer {
    let sha = here.ask.param("sha")?;
    let document = here.ask.sandbox.desk.read().await;
    let mut pulls = document.pulls_of(here.repo);
    let found = pulls.find(|it| {
        let merge = it.merge.as_ref();
        merge.is_some_and(|it| it.commit.as_str() == sha)
    });
    let missing = || {
        let text = "pull request does not exist";
        Refused::plain(StatusCode::NOT_FOUND, text)
    };
    let shape = here.ask.words(&document).pull(found.ok_or_else(missing)?);
    Ok(Json(shape).into_response())
}

pub(crate) async fn set_status(here: Here, body: Bytes) -> Answer {
    statuses::set(&here, asked(&body)?).await
}
