//! Pull requests over Forgejo's API, as such and as the issues they are too.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use jiff::Timestamp;
use serde::Deserialize;

use crate::core::person::Role;
use crate::sandbox::acts::{Denied, MergeMethod, Merging};
use crate::sandbox::api::pulls::{self, has_state};
use crate::sandbox::api::{Answer, Here, Refused, read};
use crate::sandbox::forgejo::shape::Shape;
use crate::sandbox::model::Document;
use crate::sandbox::model::pull::{Pull, PullKey};

/// Newest first unless the query says otherwise.
pub(crate) async fn list(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let pulls = listed(&here, &document);
    let words = here.ask.words(&document);
    Ok(here.ask.page(&pulls, |it| words.listed_pull(it)))
}

fn listed<'d>(here: &Here, document: &'d Document) -> Vec<&'d Pull> {
    let has_poster = |it: &Pull| {
        let login = document.account(it.author).login.as_str();
        let poster = here.ask.query("poster");
        poster.is_none_or(|it| it.eq_ignore_ascii_case(login))
    };
    let pulls = document.pulls_of(here.repo);
    let mut pulls: Vec<&Pull> = pulls
        .filter(|it| has_state(here, it) && has_poster(it))
        .collect();
    match here.ask.query("sort") {
        Some("oldest") => {}
        Some("leastupdate") => pulls.sort_by_key(|it| it.updated_at),
        Some("recentupdate") => {
            pulls.sort_by_key(|it| it.updated_at);
            pulls.reverse();
        }
        _ => pulls.reverse(),
    }
    pulls
}

/// Pull requests as issues; the sandbox has no others.
pub(crate) async fn issues(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let since = match here.ask.query("since") {
        Some(text) => {
            let since = text.parse::<Timestamp>();
            since.map_err(|_| Refused::invalid("since is no time"))?
        }
        None => Timestamp::MIN,
    };
    let mut pulls = match here.ask.query("type") {
        Some("issues") => Vec::new(),
        Some(_) | None => listed(&here, &document),
    };
    pulls.retain(|it| it.updated_at.as_second() >= since.as_second());
    let shape = Shape::of(&here.ask, &document);
    Ok(here.ask.page(&pulls, |it| shape.issue(it)))
}

pub(crate) async fn issue(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let pull = document.pull(here.pull()?).ok_or_else(Refused::missing)?;
    Ok(Json(Shape::of(&here.ask, &document).issue(pull)).into_response())
}

pub(crate) async fn revise(here: Here, body: Bytes) -> Answer {
    pulls::revise(&here, &body, StatusCode::CREATED).await
}

pub(crate) async fn is_merged(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let pull = document.pull(here.pull()?).ok_or_else(Refused::missing)?;
    match &pull.merge {
        Some(_) => Ok(StatusCode::NO_CONTENT.into_response()),
        None => Err(Refused::missing()),
    }
}

#[derive(Deserialize)]
struct MergeBody {
    #[serde(rename = "Do")]
    method: MethodName,
    #[serde(rename = "MergeTitleField", default)]
    title: String,
    #[serde(rename = "MergeMessageField", default)]
    message: String,
    #[serde(default)]
    head_commit_id: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MethodName {
    Merge,
    Squash,
    Rebase,
    RebaseMerge,
    FastForwardOnly,
}

/// Merges, and answers nothing.
pub(crate) async fn merge(here: Here, body: Bytes) -> Answer {
    let asked: MergeBody = read(&body)?;
    let key = here.pull()?;
    let title = may_merge(&here, key).await?;
    let method = match asked.method {
        MethodName::Merge => MergeMethod::Merge,
        MethodName::Squash => MergeMethod::Squash,
        MethodName::Rebase | MethodName::RebaseMerge | MethodName::FastForwardOnly => {
            return Err(not_now(
                "this is not an allowed merge style for this repository",
            ));
        }
    };
    let given = |text: String| Some(text).filter(|it| !it.is_empty());
    let merging = Merging {
        method,
        head: given(asked.head_commit_id),
        title: given(asked.title).or(Some(title)),
        message: Some(asked.message),
    };
    match here.act().merge(key, &merging).await {
        Ok(_) => Ok(StatusCode::OK.into_response()),
        Err(Denied::Stale) => Err(Refused::plain(StatusCode::CONFLICT, "head out of date")),
        Err(Denied::NotMergeable(_)) => Err(not_now("Please try again later")),
        Err(denied) => Err(denied.into()),
    }
}

/// Whether the forge merges it now, and the commit's title when nobody names another. After a push it first has to find
/// out if it can, and whoever asks before that is told to ask again.
async fn may_merge(here: &Here, key: PullKey) -> Result<String, Refused> {
    let found = here.ask.sandbox.desk.change(|document| {
        let pull = document.pull_mut(key).ok_or_else(Refused::missing)?;
        let was_checked = std::mem::replace(&mut pull.is_checked, true);
        Ok::<_, Refused>((pull.clone(), was_checked))
    });
    let (pull, was_checked) = found.await?;
    let document = here.ask.sandbox.desk.read().await;
    if pull.merge.is_some() {
        return Err(not_now("The PR is already merged"));
    }
    if !pull.is_open() {
        return Err(Refused::missing());
    }
    if here.ask.right.role(document.repo(here.repo)) < Role::Write {
        return Err(not_now("User not allowed to merge PR"));
    }
    if !was_checked || !pull.is_mergeable {
        return Err(not_now("Please try again later"));
    }
    let (title, number) = (&pull.title, pull.key.number);
    let (head, base) = (&pull.head.branch, &pull.base.branch);
    Ok(format!(
        "Merge pull request '{title}' (#{number}) from {head} into {base}"
    ))
}

fn not_now(text: &str) -> Refused {
    Refused::plain(StatusCode::METHOD_NOT_ALLOWED, text)
}
