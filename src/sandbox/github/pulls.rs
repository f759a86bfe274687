//! Pull requests over GitHub's API.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::sandbox::acts::{MergeMethod, Merging, NewPull, Revision, find_head};
use crate::sandbox::github::ask::{Answer, Here, Refused, read};
use crate::sandbox::model::Document;
use crate::sandbox::model::pull::{Pull, PullKey, PullState};

/// Newest first, as GitHub lists them.
pub(crate) async fn list(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let state = here.ask.query("state").unwrap_or("open");
    let has_state = |it: &Pull| match state {
        "all" => true,
        "closed" => !it.is_open(),
        _ => it.is_open(),
    };
    let has_base = |it: &Pull| {
        here.ask
            .query("base")
            .is_none_or(|base| it.base.branch == base)
    };
    let has_head = |it: &Pull| {
        let label = label(&document, it);
        here.ask.query("head").is_none_or(|head| label == head)
    };
    let mut pulls: Vec<&Pull> = document
        .pulls_of(here.repo)
        .filter(|it| has_state(it) && has_base(it) && has_head(it))
        .collect();
    match here.ask.query("sort") {
        Some("updated") => pulls.sort_by_key(|it| (it.updated_at, it.key.number)),
        _ => pulls.sort_by_key(|it| it.key.number),
    }
    // GitHub turns "created" around when nobody asks for a direction, and "updated" not.
    let is_rising = match (here.ask.query("direction"), here.ask.query("sort")) {
        (Some(direction), _) => direction == "asc",
        (None, sort) => sort.is_some_and(|it| it != "created"),
    };
    if !is_rising {
        pulls.reverse();
    }
    let shape = here.ask.shape(&document);
    Ok(here.ask.page(&pulls, |it| shape.pull_in_list(it)))
}

/// `owner:branch`.
fn label(document: &Document, pull: &Pull) -> String {
    let owner = document.repo(pull.head.repo).owner;
    format!("{}:{}", document.account(owner).login, pull.head.branch)
}

pub(crate) async fn show(here: Here) -> Answer {
    let key = here.pull()?;
    answer(&here, key, StatusCode::OK).await
}

async fn answer(here: &Here, key: PullKey, status: StatusCode) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let pull = document.pull(key).ok_or_else(Refused::missing)?;
    let shape = here.ask.shape(&document).pull(pull);
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

pub(crate) async fn revise(here: Here, body: Bytes) -> Answer {
    let asked: ReviseBody = read(&body)?;
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
    answer(&here, key, StatusCode::OK).await
}

#[derive(Deserialize)]
struct MergeBody {
    commit_title: Option<String>,
    commit_message: Option<String>,
    sha: Option<String>,
    #[serde(default)]
    merge_method: MethodName,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MethodName {
    #[default]
    Merge,
    Squash,
    Rebase,
}

pub(crate) async fn merge(here: Here, body: Bytes) -> Answer {
    let asked: MergeBody = read(&body)?;
    let method = match asked.merge_method {
        MethodName::Merge => MergeMethod::Merge,
        MethodName::Squash => MergeMethod::Squash,
        MethodName::Rebase => {
            let text = "Rebase merges are not allowed on this repository.";
            return Err(Refused::plain(StatusCode::METHOD_NOT_ALLOWED, text));
        }
    };
    let merging = Merging {
        method,
        head: asked.sha,
        title: asked.commit_title,
        message: asked.commit_message,
    };
    let commit = here.act().merge(here.pull()?, &merging).await?;
    let body = json!({
        "sha": commit,
        "merged": true,
        "message": "Pull Request successfully merged",
    });
    Ok(Json(body).into_response())
}
