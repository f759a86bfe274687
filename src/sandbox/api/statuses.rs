//! Commit statuses, as every forge answers them.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;

use crate::core::ids::Sha;
use crate::sandbox::acts::NewStatus;
use crate::sandbox::api::commits::resolve;
use crate::sandbox::api::{Answer, Here, Refused, read};
use crate::sandbox::model::Document;
use crate::sandbox::model::pull::{Check, Status};

#[derive(Deserialize)]
struct StatusBody {
    state: Check,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    target_url: Option<String>,
}

/// The status that a body asks for.
pub(crate) fn asked(body: &Bytes) -> Result<NewStatus, Refused> {
    let asked: StatusBody = read(body)?;
    Ok(NewStatus {
        state: asked.state,
        context: asked.context.unwrap_or_else(|| "default".to_owned()),
        description: asked.description,
        url: asked.target_url,
    })
}

/// Sets a status on the commit that the path names.
pub(crate) async fn set(here: &Here, new: NewStatus) -> Answer {
    let sha = here.ask.param("sha")?;
    let id = here.act().set_status(here.repo, sha, new).await?;
    let document = here.ask.sandbox.desk.read().await;
    let status = document.statuses.iter().find(|it| it.id == id);
    let status = status.ok_or_else(Refused::missing)?;
    let shape = here.ask.words(&document).status(status);
    Ok((StatusCode::CREATED, Json(shape)).into_response())
}

/// Newest first.
pub(crate) async fn list(here: Here) -> Answer {
    let sha = resolve(&here).await?;
    let document = here.ask.sandbox.desk.read().await;
    let statuses = newest_first(&here, &document, &sha);
    let words = here.ask.words(&document);
    Ok(here.ask.page(&statuses, |it| words.status(it)))
}

/// The newest status of each context, and what they come to.
pub(crate) async fn combined(here: Here) -> Answer {
    let sha = resolve(&here).await?;
    let document = here.ask.sandbox.desk.read().await;
    let mut newest: Vec<&Status> = Vec::new();
    for status in newest_first(&here, &document, &sha) {
        if newest.iter().all(|it| it.context != status.context) {
            newest.push(status);
        }
    }
    let repo = document.repo(here.repo);
    let words = here.ask.words(&document);
    Ok(Json(words.statuses(repo, sha.as_str(), &newest)).into_response())
}

fn newest_first<'a>(here: &Here, document: &'a Document, sha: &Sha) -> Vec<&'a Status> {
    let all = document.statuses.iter().rev();
    all.filter(|it| it.repo == here.repo && it.commit == *sha)
        .collect()
}
