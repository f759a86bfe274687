//! Reviews over GitHub's API.

use axum::body::Bytes;
use serde::Deserialize;

use crate::core::ids::Sha;
use crate::core::person::Verdict;
use crate::sandbox::acts::{Denied, NewReview};
use crate::sandbox::api::{Answer, Here, Refused, read, reviews};

#[derive(Deserialize)]
struct ReviewBody {
    event: Option<EventName>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    commit_id: Option<Sha>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum EventName {
    Approve,
    RequestChanges,
    Comment,
}

pub(crate) async fn give(here: Here, body: Bytes) -> Answer {
    let asked: ReviewBody = read(&body)?;
    let Some(event) = asked.event else {
        return Err(Refused::unprocessable(
            "the sandbox keeps no pending reviews: name an event",
        ));
    };
    let new = NewReview {
        verdict: match event {
            EventName::Approve => Verdict::Approved,
            EventName::RequestChanges => Verdict::ChangesRequested,
            EventName::Comment => Verdict::Commented,
        },
        body: asked.body.unwrap_or_default(),
        commit: asked.commit_id,
    };
    let key = here.pull()?;
    let given = here.act().review(key, new).await;
    reviews::answer(&here, key, given.map_err(refused)?).await
}

fn refused(denied: Denied) -> Refused {
    match denied {
        Denied::Invalid(text) => Refused::unprocessable(text),
        Denied::Missing(_)
        | Denied::Forbidden(_)
        | Denied::Stale
        | Denied::NotMergeable(_)
        | Denied::Failed(_) => denied.into(),
    }
}

#[derive(Deserialize)]
struct DismissBody {
    message: String,
}

pub(crate) async fn dismiss(here: Here, body: Bytes) -> Answer {
    let asked: DismissBody = read(&body)?;
    if asked.message.trim().is_empty() {
        return Err(Refused::unprocessable("message can't be blank"));
    }
    let (key, id) = (here.pull()?, here.ask.number("id")?);
    let dismissed = here.act().dismiss(key, id).await;
    dismissed.map_err(refused)?;
    reviews::answer(&here, key, id).await
}
