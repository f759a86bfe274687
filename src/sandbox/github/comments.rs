//! Comments and reactions over GitHub's API.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use jiff::Timestamp;
use serde::Deserialize;

use crate::core::ids::CommentId;
use crate::sandbox::acts::Reacted;
use crate::sandbox::github::ask::{Answer, Here, Refused, read};
use crate::sandbox::github::shape::talk::EMOJI;
use crate::sandbox::model::pull::Comment;

/// The longest comment, in characters.
const LONGEST: usize = 65_536;

/// Oldest first.
pub(crate) async fn of_pull(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let key = here.pull()?;
    document.pull(key).ok_or_else(Refused::missing)?;
    let comments = since(&here, document.comments_of(key))?;
    let shape = here.ask.shape(&document);
    Ok(here.ask.page(&comments, |it| shape.comment(it)))
}

/// Of all pull requests, oldest first unless the query says otherwise.
pub(crate) async fn of_repo(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let all = document.comments.iter();
    let all = all.filter(|it| it.pull.repo == here.repo);
    let mut comments = since(&here, all)?;
    let sort = here.ask.query("sort");
    if sort == Some("updated") {
        comments.sort_by_key(|it| (it.updated_at, it.id));
    }
    if sort.is_some() && here.ask.query("direction") == Some("desc") {
        comments.reverse();
    }
    let shape = here.ask.shape(&document);
    Ok(here.ask.page(&comments, |it| shape.comment(it)))
}

/// Those that were written or edited at or after the second that the query names.
fn since<'a>(
    here: &Here,
    comments: impl Iterator<Item = &'a Comment>,
) -> Result<Vec<&'a Comment>, Refused> {
    let since = match here.ask.query("since") {
        Some(text) => Some(
            text.parse::<Timestamp>()
                .map_err(|_| Refused::invalid("since is no time"))?,
        ),
        None => None,
    };
    let is_new =
        |it: &&Comment| since.is_none_or(|since| it.updated_at.as_second() >= since.as_second());
    Ok(comments.filter(is_new).collect())
}

#[derive(Deserialize)]
struct CommentBody {
    body: String,
}

fn text(body: &[u8]) -> Result<String, Refused> {
    let CommentBody { body } = read(body)?;
    if body.chars().count() > LONGEST {
        let text = "Body is too long (maximum is 65536 characters)";
        return Err(Refused::invalid(text));
    }
    Ok(body)
}

pub(crate) async fn add(here: Here, body: Bytes) -> Answer {
    let id = here.act().comment(here.pull()?, text(&body)?).await?;
    answer(&here, id, StatusCode::CREATED).await
}

pub(crate) async fn show(here: Here) -> Answer {
    answer(&here, here.comment()?, StatusCode::OK).await
}

pub(crate) async fn edit(here: Here, body: Bytes) -> Answer {
    let id = here.comment()?;
    let text = text(&body)?;
    here.act().edit_comment((here.repo, id), text).await?;
    answer(&here, id, StatusCode::OK).await
}

pub(crate) async fn delete(here: Here) -> Answer {
    here.act()
        .delete_comment(here.repo, here.comment()?)
        .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn answer(here: &Here, id: CommentId, status: StatusCode) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let comment = document.comment(here.repo, id);
    let comment = comment.ok_or_else(Refused::missing)?;
    let shape = here.ask.shape(&document).comment(comment);
    Ok((status, Json(shape)).into_response())
}

pub(crate) async fn reactions(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let comment = document.comment(here.repo, here.comment()?);
    let comment = comment.ok_or_else(Refused::missing)?;
    let reactions: Vec<_> = document.reactions_of(comment.id).collect();
    let shape = here.ask.shape(&document);
    Ok(here.ask.page(&reactions, |it| shape.reaction(it)))
}

#[derive(Deserialize)]
struct ReactBody {
    content: String,
}

/// 201 for a new reaction, 200 for one that was there.
pub(crate) async fn react(here: Here, body: Bytes) -> Answer {
    let ReactBody { content } = read(&body)?;
    if !EMOJI.contains(&content.as_str()) {
        return Err(Refused::invalid(format!(
            "content {content} is no reaction"
        )));
    }
    let place = (here.repo, here.comment()?);
    let (status, id) = match here.act().react(place, content).await? {
        Reacted::Now(id) => (StatusCode::CREATED, id),
        Reacted::Before(id) => (StatusCode::OK, id),
    };
    let document = here.ask.sandbox.desk.read().await;
    let reaction = document.reactions.iter().find(|it| it.id == id);
    let reaction = reaction.ok_or_else(Refused::missing)?;
    let shape = here.ask.shape(&document).reaction(reaction);
    Ok((status, Json(shape)).into_response())
}
