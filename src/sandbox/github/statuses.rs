//! Setting commit statuses over GitHub's API, within its limits.

use axum::body::Bytes;

use crate::sandbox::acts::NewStatus;
use crate::sandbox::api::statuses::{self, asked};
use crate::sandbox::api::{Answer, Here, Refused};
use crate::sandbox::model::Document;

/// The longest description, in characters.
const LONGEST: usize = 140;
/// How many statuses a commit may have of one context.
const MOST: usize = 1000;

pub(crate) async fn set(here: Here, body: Bytes) -> Answer {
    let new = asked(&body)?;
    let description = new.description.as_deref().unwrap_or_default();
    if description.chars().count() > LONGEST {
        let text = "description is too long (maximum is 140 characters)";
        return Err(Refused::invalid(text));
    }
    let sha = here.ask.param("sha")?;
    check_count(&*here.ask.sandbox.desk.read().await, sha, &new)?;
    statuses::set(&here, new).await
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
