//! Commit statuses over GitHub's API.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;

use crate::core::ids::Sha;
use crate::sandbox::acts::NewStatus;
use crate::sandbox::github::ask::{Answer, Here, Refused, read};
use crate::sandbox::github::commits::resolve;
use crate::sandbox::model::Document;
use crate::sandbox::model::pull::{Check, Status};

/// The longest description, in characters.
const LONGEST: usize = 140;
/// How many statuses a commit may have of one context.
const MOST: usize = 1000;

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

pub(crate) async fn set(here: Here, body: Bytes) -> Answer {
    let asked: StatusBody = read(&body)?;
    let length = asked
        .description
        .as_ref()
        .map_or(0, |it| it.chars().count());
    if length > LONGEST {
        let text = "description is too long (maximum is 140 characters)";
        return Err(Refused::invalid(text));
    }
    let context = asked.context.unwrap_or_else(|| "default".to_owned());
    let sha = here.ask.param("sha")?;
    let new = NewStatus {
        state: asked.state,
        context,
        description: asked.description,
        url: asked.target_url,
    };
    check_count(&*here.ask.sandbox.desk.read().await, sha, &new)?;
    let id = here.act().set_status(here.repo, sha, new).await?;
    let document = here.ask.sandbox.desk.read().await;
    let status = document.statuses.iter().find(|it| it.id == id);
    let status = status.ok_or_else(Refused::missing)?;
    let shape = here.ask.shape(&document).status(status);
    Ok((StatusCode::CREATED, Json(shape)).into_response())
}

fn check_count(document: &Document, sha: &str, new: &NewStatus) -> Result<(), Refused> {
    let same = document.statuses.iter();
    let same = same.filter(|it| it.commit.as_str() == sha && it.context == new.context);
    if same.count() < MOST {
        return Ok(());
    }
    let text = "This SHA and context has reached the maximum number of statuses.";
    Err(Refused::invalid(text))
}

/// Newest first.
pub(crate) async fn list(here: Here) -> Answer {
    let sha = resolve(&here).await?;
    let document = here.ask.sandbox.desk.read().await;
    let statuses = newest_first(&here, &document, &sha);
    let shape = here.ask.shape(&document);
    Ok(here.ask.page(&statuses, |it| shape.status(it)))
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
    let shape = here.ask.shape(&document);
    Ok(Json(shape.combined_status(repo, sha.as_str(), &newest)).into_response())
}

fn newest_first<'a>(here: &Here, document: &'a Document, sha: &Sha) -> Vec<&'a Status> {
    let all = document.statuses.iter().rev();
    all.filter(|it| it.repo == here.repo && it.commit == *sha)
        .collect()
}
