//! Opening, changing and showing a pull request, as every forge takes and answers it.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Deserializer};

use crate::sandbox::acts::{NewPull, Revision, find_head};
use crate::sandbox::api::{Answer, Here, Refused, read};
use crate::sandbox::model::pull::{Pull, PullKey, PullState};

/// Whether a pull request is one that a list's `state` asks for.
pub(crate) fn has_state(here: &Here, pull: &Pull) -> bool {
    match here.ask.query("state").unwrap_or("open") {
        "all" => true,
        "closed" => !pull.is_open(),
        _ => pull.is_open(),
    }
}

pub(crate) async fn show(here: Here) -> Answer {
    let key = here.pull()?;
    answer(&here, key, StatusCode::OK).await
}

async fn answer(here: &Here, key: PullKey, status: StatusCode) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let pull = document.pull(key).ok_or_else(Refused::missing)?;
    let shape = here.ask.words(&document).pull(pull);
    Ok((status, Json(shape)).into_response())
}

#[derive(Deserialize)]
struct OpenBody {
    title: String,
    #[serde(default)]
    body: Option<String>,
    head: String,
    base: String,
}

pub(crate) async fn open(here: Here, body: Bytes) -> Answer {
    let asked: OpenBody = read(&body)?;
    let (head_repo, head) = {
        let document = here.ask.sandbox.desk.read().await;
        find_head(&document, here.repo, &asked.head)?
    };
    let new = NewPull {
        repo: here.repo,
        title: asked.title,
        body: asked.body,
        base: asked.base,
        head_repo,
        head,
    };
    let key = here.act().open(&new).await?;
    answer(&here, key, StatusCode::CREATED).await
}

#[derive(Deserialize)]
struct ReviseBody {
    title: Option<String>,
    #[serde(default, deserialize_with = "given")]
    body: Option<Option<String>>,
    base: Option<String>,
    state: Option<StateName>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StateName {
    Open,
    Closed,
}

/// Tells a body that is null, and empties the text, from one that is not there and leaves it.
fn given<'de, D: Deserializer<'de>>(body: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(body).map(Some)
}

/// Changes the pull request that the path names, and answers it under `status`.
pub(crate) async fn revise(here: &Here, body: &Bytes, status: StatusCode) -> Answer {
    let asked: ReviseBody = read(body)?;
    let key = here.pull()?;
    let revision = Revision {
        title: asked.title,
        body: asked.body,
        base: asked.base,
        state: asked.state.map(|it| match it {
            StateName::Open => PullState::Open,
            StateName::Closed => PullState::Closed,
        }),
    };
    here.act().revise(key, revision).await?;
    answer(here, key, status).await
}
