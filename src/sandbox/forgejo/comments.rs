//! Lists of comments and reactions over Forgejo's API.

use axum::Json;
use axum::http::HeaderName;
use axum::response::IntoResponse;
use serde_json::Value;

use crate::sandbox::api::comments::since;
use crate::sandbox::api::{Answer, Here, Refused};

/// Oldest first, all at once: Forgejo does not page these.
pub(crate) async fn of_pull(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let key = here.pull()?;
    document.pull(key).ok_or_else(Refused::missing)?;
    let comments = since(&here, document.comments_of(key))?;
    let words = here.ask.words(&document);
    let all: Value = comments.iter().map(|it| words.comment(it)).collect();
    let count = HeaderName::from_static("x-total-count");
    Ok(([(count, comments.len().to_string())], Json(all)).into_response())
}

/// Of all pull requests, oldest first.
pub(crate) async fn of_repo(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let comments = since(&here, document.comments_in(here.repo))?;
    let words = here.ask.words(&document);
    Ok(here.ask.unlinked_page(&comments, |it| words.comment(it)))
}

/// All at once; null when there are none.
pub(crate) async fn reactions(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let comment = document.comment(here.repo, here.comment()?);
    let comment = comment.ok_or_else(Refused::missing)?;
    let words = here.ask.words(&document);
    let all = document.reactions_of(comment.id);
    let all: Vec<Value> = all.map(|it| words.reaction(it)).collect();
    Ok(Json((!all.is_empty()).then_some(all)).into_response())
}
