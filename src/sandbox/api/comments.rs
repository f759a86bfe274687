//! Comments and reactions, as every forge takes and answers them.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use jiff::Timestamp;
use serde::Deserialize;

use crate::core::ids::CommentId;
use crate::sandbox::acts::Reacted;
use crate::sandbox::api::{Answer, Here, Refused, read};
use crate::sandbox::model::hook::Dialect;
use crate::sandbox::model::pull::Comment;

/// The emoji that forges know, by the names of their APIs.
pub(crate) const EMOJI: [&str; 8] = [
    "+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes",
];

impl Dialect {
    /// The longest comment, in characters.
    fn longest_comment(self) -> Option<usize> {
        match self {
            Self::GitHub => Some(65_536),
            Self::Forgejo => None,
        }
    }

    fn no_reaction(self, content: &str) -> Refused {
        match self {
            Self::GitHub => Refused::invalid(format!("content {content} is no reaction")),
            Self::Forgejo => {
                let text = format!("'{content}' is not an allowed reaction");
                Refused::plain(StatusCode::FORBIDDEN, text)
            }
        }
    }
}

/// Those that were written or edited at or after the second that the query names.
pub(crate) fn since<'a>(
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

fn text(here: &Here, body: &[u8]) -> Result<String, Refused> {
    let CommentBody { body } = read(body)?;
    let length = body.chars().count();
    match here.ask.dialect.longest_comment() {
        Some(longest) if length > longest => {
            let text = format!("Body is too long (maximum is {longest} characters)");
            Err(Refused::invalid(text))
        }
        Some(_) | None => Ok(body),
    }
}

pub(crate) async fn add(here: Here, body: Bytes) -> Answer {
    let id = here
        .act()
        .comment(here.pull()?, text(&here, &body)?)
        .await?;
    answer(&here, id, StatusCode::CREATED).await
}

pub(crate) async fn show(here: Here) -> Answer {
    answer(&here, here.comment()?, StatusCode::OK).await
}

pub(crate) async fn edit(here: Here, body: Bytes) -> Answer {
    let id = here.comment()?;
    let text = text(&here, &body)?;
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
    let shape = here.ask.words(&document).comment(comment);
    Ok((status, Json(shape)).into_response())
}

#[derive(Deserialize)]
struct ReactBody {
    content: String,
}

/// 201 for a new reaction, 200 for one that was there.
pub(crate) async fn react(here: Here, body: Bytes) -> Answer {
    let ReactBody { content } = read(&body)?;
    if !EMOJI.contains(&content.as_str()) {
        return Err(here.ask.dialect.no_reaction(&content));
    }
    let place = (here.repo, here.comment()?);
    let (status, id) = match here.act().react(place, content).await? {
        Reacted::Now(id) => (StatusCode::CREATED, id),
        Reacted::Before(id) => (StatusCode::OK, id),
    };
    let document = here.ask.sandbox.desk.read().await;
    let reaction = document.reactions.iter().find(|it| it.id == id);
    let reaction = reaction.ok_or_else(Refused::missing)?;
    let shape = here.ask.words(&document).reaction(reaction);
    Ok((status, Json(shape)).into_response())
}
