//! Lists of comments and reactions over GitHub's API.

use crate::sandbox::api::comments::since;
use crate::sandbox::api::{Answer, Here, Refused};

/// Oldest first.
pub(crate) async fn of_pull(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let key = here.pull()?;
    document.pull(key).ok_or_else(Refused::missing)?;
    let comments = since(&here, document.comments_of(key))?;
    let words = here.ask.words(&document);
    Ok(here.ask.page(&comments, |it| words.comment(it)))
}

/// Of all pull requests, oldest first unless the query says otherwise.
pub(crate) async fn of_repo(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let mut comments = since(&here, document.comments_in(here.repo))?;
    let sort = here.ask.query("sort");
    if sort == Some("updated") {
        comments.sort_by_key(|it| (it.updated_at, it.id));
    }
    if sort.is_some() && here.ask.query("direction") == Some("desc") {
        comments.reverse();
    }
    let words = here.ask.words(&document);
    Ok(here.ask.page(&comments, |it| words.comment(it)))
}

pub(crate) async fn reactions(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let comment = document.comment(here.repo, here.comment()?);
    let comment = comment.ok_or_else(Refused::missing)?;
    let reactions: Vec<_> = document.reactions_of(comment.id).collect();
    let words = here.ask.words(&document);
    Ok(here.ask.page(&reactions, |it| words.reaction(it)))
}
