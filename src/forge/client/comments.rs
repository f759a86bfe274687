//! Our own comments on a pull request: the one note that is kept up to date, and answers that are posted once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::core::effect::Reaction;
use crate::core::ids::{Actor, CommentId, Pull, PullNumber, RepoId, RepoName};
use crate::forge::client::Line;
use crate::forge::wire::{self, incomplete};
use crate::forge::{ForgeError, marker};

/// Which comment is the note of a pull request. Forgetting costs one listing of its comments.
#[derive(Default)]
pub(in crate::forge) struct Notes(Mutex<BTreeMap<(RepoId, PullNumber), CommentId>>);

impl Notes {
    /// Writes the note of a pull request, and answers when it was last changed.
    pub(in crate::forge) async fn upsert(
        &self,
        line: Line<'_>,
        me: &Actor,
        (pull, text): (&Pull, &str),
    ) -> Result<Timestamp, ForgeError> {
        let body = marker::note(text);
        let note = match self.find(line, me, pull).await? {
            Some(note) if is_shown(&note, &body) => note,
            Some(note) => edit(line, pull, &note, &body).await?,
            None => post(line, pull, &body).await?,
        };
        let (id, changed) = (note.id.0, note.updated_at.0.or(note.created_at.0));
        let (Some(id), Some(changed)) = (id, changed) else {
            return Err(incomplete("the note"));
        };
        self.remember(pull, CommentId(id.0));
        Ok(changed.0)
    }

    async fn find(
        &self,
        line: Line<'_>,
        me: &Actor,
        pull: &Pull,
    ) -> Result<Option<wire::Comment>, ForgeError> {
        if let Some(id) = self.remembered(pull) {
            match line.get(&comment_path(&pull.repo.name, id)).await {
                Ok(note) => return Ok(Some(note)),
                Err(ForgeError::NotFound(_)) => self.forget(pull),
                Err(error) => return Err(error),
            }
        }
        let comments = list(line, pull).await?;
        Ok(comments
            .into_iter()
            .find(|it| is_by(it, me) && marker::is_note(text(it))))
    }

    fn remembered(&self, pull: &Pull) -> Option<CommentId> {
        self.locked().get(&key(pull)).copied()
    }

    fn remember(&self, pull: &Pull, id: CommentId) {
        self.locked().insert(key(pull), id);
    }

    fn forget(&self, pull: &Pull) {
        self.locked().remove(&key(pull));
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<(RepoId, PullNumber), CommentId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Posts an answer unless we posted one with this key.
pub(in crate::forge) async fn reply(
    line: Line<'_>,
    me: &Actor,
    pull: &Pull,
    (key, text_of_reply): (&str, &str),
) -> Result<(), ForgeError> {
    let comments = list(line, pull).await?;
    let is_there = comments
        .iter()
        .any(|it| is_by(it, me) && marker::is_reply(text(it), key));
    if !is_there {
        post(line, pull, &marker::reply(key, text_of_reply)).await?;
    }
    Ok(())
}

/// Reacts to a comment; nothing when the comment is gone.
pub(in crate::forge) async fn react(
    line: Line<'_>,
    repo: &RepoName,
    comment: CommentId,
    reaction: Reaction,
) -> Result<(), ForgeError> {
    let content = match reaction {
        Reaction::Eyes => "eyes",
        Reaction::Rocket => "rocket",
        Reaction::Confused => "confused",
    };
    let path = format!("{}/reactions", comment_path(repo, comment));
    let body = json!({ "content": content });
    match line.write::<Value>(Method::POST, &path, &body).await {
        Ok(_) | Err(ForgeError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn list(line: Line<'_>, pull: &Pull) -> Result<Vec<wire::Comment>, ForgeError> {
    let path = comments_path(pull);
    if line.dialect().pages_comments {
        line.list(&path).await
    } else {
        line.list_whole(&path).await
    }
}

async fn post(line: Line<'_>, pull: &Pull, body: &str) -> Result<wire::Comment, ForgeError> {
    let body = json!({ "body": body });
    line.write(Method::POST, &comments_path(pull), &body).await
}

async fn edit(
    line: Line<'_>,
    pull: &Pull,
    note: &wire::Comment,
    body: &str,
) -> Result<wire::Comment, ForgeError> {
    let id = note.id.0.ok_or_else(|| incomplete("the note"))?;
    let path = comment_path(&pull.repo.name, CommentId(id.0));
    line.write(Method::PATCH, &path, &json!({ "body": body }))
        .await
}

fn comments_path(pull: &Pull) -> String {
    format!("/repos/{}/issues/{}/comments", pull.repo.name, pull.number)
}

fn comment_path(repo: &RepoName, id: CommentId) -> String {
    format!("/repos/{repo}/issues/comments/{id}")
}

fn key(pull: &Pull) -> (RepoId, PullNumber) {
    (pull.repo.id, pull.number)
}

fn text(comment: &wire::Comment) -> &str {
    comment.body.0.as_deref().unwrap_or_default()
}

fn is_shown(note: &wire::Comment, body: &str) -> bool {
    marker::is_same(text(note), body)
}

/// By the number: the login may be somebody else's by now.
fn is_by(comment: &wire::Comment, me: &Actor) -> bool {
    let author = comment.user.0.as_ref().and_then(|it| it.id.0);
    author.is_some_and(|it| it.0 == me.id.0)
}
