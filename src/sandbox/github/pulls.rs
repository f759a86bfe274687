//! Pull requests over GitHub's API.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::json;

use crate::sandbox::acts::{MergeMethod, Merging};
use crate::sandbox::api::pulls::{self, has_state};
use crate::sandbox::api::{Answer, Here, Refused, read};
use crate::sandbox::model::Document;
use crate::sandbox::model::pull::Pull;

/// Newest first, as GitHub lists them.
pub(crate) async fn list(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
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
        .filter(|it| has_state(&here, it) && has_base(it) && has_head(it))
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
    let words = here.ask.words(&document);
    Ok(here.ask.page(&pulls, |it| words.listed_pull(it)))
}

/// `owner:branch`.
fn label(document: &Document, pull: &Pull) -> String {
    let owner = document.repo(pull.head.repo).owner;
    format!("{}:{}", document.account(owner).login, pull.head.branch)
}

pub(crate) async fn revise(here: Here, body: Bytes) -> Answer {
    pulls::revise(&here, &body, StatusCode::OK).await
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
