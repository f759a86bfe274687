//! Reviews over Forgejo's API.

use axum::body::Bytes;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::core::ids::Sha;
use crate::core::person::Verdict;
use crate::sandbox::acts::{Denied, NewReview};
use crate::sandbox::api::{Answer, Here, Refused, read, reviews};
use crate::sandbox::model::pull::PullKey;

pub(crate) async fn show(here: Here) -> Answer {
    reviews::answer(&here, here.pull()?, here.ask.number("id")?).await
}

#[derive(Deserialize)]
struct ReviewBody {
    #[serde(default)]
    event: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    commit_id: String,
}

pub(crate) async fn give(here: Here, body: Bytes) -> Answer {
    let asked: ReviewBody = read(&body)?;
    let key = here.pull()?;
    let verdict = match asked.event.as_str() {
        "APPROVED" => Verdict::Approved,
        "REQUEST_CHANGES" => Verdict::ChangesRequested,
        "COMMENT" => Verdict::Commented,
        other => {
            let text = format!("the sandbox keeps no pending reviews: {other:?} is no event");
            return Err(Refused::invalid(text));
        }
    };
    check_open(&here, key).await?;
    let commit = Some(asked.commit_id).filter(|it| !it.is_empty());
    let commit = commit.map(Sha::try_from).transpose();
    let new = NewReview {
        verdict,
        body: asked.body,
        commit: commit.map_err(|_| Refused::invalid("commit_id is no commit"))?,
    };
    let id = here.act().review(key, new).await?;
    reviews::answer(&here, key, id).await
}

async fn check_open(here: &Here, key: PullKey) -> Result<(), Refused> {
    let document = here.ask.sandbox.desk.read().await;
    let pull = document.pull(key).ok_or_else(Refused::missing)?;
    if pull.is_open() {
        return Ok(());
    }
    let text = "can't submit review for a closed or merged PR";
    Err(Refused::invalid(text))
}

/// Takes a verdict back. Nothing is told to hooks.
pub(crate) async fn dismiss(here: Here) -> Answer {
    let admins = Refused::plain(StatusCode::FORBIDDEN, "Must be repo admin");
    here.require_admin(admins).await?;
    let (key, id) = (here.pull()?, here.ask.number("id")?);
    match here.act().dismiss(key, id).await {
        Ok(()) => reviews::answer(&here, key, id).await,
        Err(Denied::Invalid(_)) => {
            let text = "not need to dismiss this review because it's type is not Approve or change request";
            Err(Refused::plain(StatusCode::FORBIDDEN, text))
        }
        Err(denied) => Err(denied.into()),
    }
}
