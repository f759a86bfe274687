//! What forges' deliveries hold, read so that a null, a missing or an odd value never loses an event.

use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::core::event::{Commented, Event};
use crate::core::ids::{
    Actor, Branch, CommentId, DeliveryId, ForgeHost, Pull, PullNumber, Repo, Sha,
};
use crate::forge::wire::{self, Maybe, Number};
use crate::forge::{Delivery, Ignored, ReadError};

/// Why a payload is no event.
pub(super) enum Unread {
    /// It is nothing we act on.
    Ignored(String),
    /// It is something we act on, without what that takes.
    Missing(&'static str),
}

pub(super) type Read<T> = Result<T, Unread>;

/// Says why something is nothing we act on.
pub(super) fn ignored<T>(why: impl Into<String>) -> Read<T> {
    Err(Unread::Ignored(why.into()))
}

/// Names what we do not act on, short enough to count by: the event's name comes from a header.
pub(super) fn unknown<T>(name: &str, action: &str) -> Read<T> {
    let whole = format!("{name} {action}");
    ignored(whole.trim_end().chars().take(80).collect::<String>())
}

/// A delivery of this event, as it was read.
pub(super) fn delivery(
    id: DeliveryId,
    name: &str,
    event: Read<Event>,
) -> Result<Delivery, ReadError> {
    let event = match event {
        Ok(event) => Ok(event),
        Err(Unread::Ignored(why)) => Err(Ignored(why)),
        Err(Unread::Missing(what)) => {
            let why = format!("a {name} delivery without {what}");
            return Err(ReadError::Malformed(why));
        }
    };
    Ok(Delivery { id, event })
}

/// A header's text.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// All that we read of any delivery.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload {
    action: Maybe<String>,
    repository: Maybe<wire::Repository>,
    sender: Maybe<wire::User>,
    number: Maybe<Number>,
    pull_request: Maybe<wire::Pull>,
    pub(super) changes: Maybe<Changes>,
    issue: Maybe<Issue>,
    /// Whether the issue is a pull request; Forgejo alone tells.
    is_pull: Maybe<bool>,
    comment: Maybe<wire::Comment>,
    r#ref: Maybe<String>,
    before: Maybe<Sha>,
    after: Maybe<Sha>,
    deleted: Maybe<bool>,
    pub(super) repositories: Repositories,
    pub(super) repositories_added: Repositories,
    pub(super) repositories_removed: Repositories,
}

/// Several repositories.
pub(super) type Repositories = Maybe<Vec<Maybe<wire::Repository>>>;

/// What an edit changed.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Changes {
    /// The target branch, on GitHub.
    pub(super) base: Maybe<Map<String, Value>>,
    /// The target branch, on Forgejo.
    pub(super) r#ref: Maybe<Map<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Issue {
    number: Maybe<Number>,
    /// There when the issue is a pull request.
    pull_request: Maybe<Map<String, Value>>,
}

/// Reads a body. A form is refused, with what to do.
pub(super) fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Payload, ReadError> {
    let content = headers.get(http::header::CONTENT_TYPE);
    if content.is_some_and(|it| {
        it.as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    }) {
        return Err(ReadError::Malformed(
            "it is a form; set the webhook's content type to application/json".to_owned(),
        ));
    }
    serde_json::from_slice(body).map_err(|error| ReadError::Malformed(error.to_string()))
}

/// A payload, and the forge that sent it.
pub(super) struct Reader {
    pub(super) host: ForgeHost,
    pub(super) payload: Payload,
}

impl Reader {
    /// What was done; empty when the payload does not say.
    pub(super) fn action(&self) -> &str {
        self.payload.action.0.as_deref().unwrap_or_default()
    }

    /// A comment commands in the name of who wrote it, so it must be who sent it.
    pub(super) fn commented(&self) -> Read<Event> {
        let issue = self.payload.issue.0.as_ref();
        let issue = issue.ok_or(Unread::Missing("an issue"))?;
        let comment = self.payload.comment.0.as_ref();
        let comment = comment.ok_or(Unread::Missing("a comment"))?;
        if !self.is_on_pull(issue, comment) {
            return ignored("issue_comment created: on an issue, not on a pull request");
        }
        let number = issue.number.0.ok_or(Unread::Missing("an issue number"))?;
        let id = comment.id.0.ok_or(Unread::Missing("a comment id"))?;
        let at = comment.created_at.0;
        let at = at.ok_or(Unread::Missing("a time of the comment"))?;
        Ok(Event::Commented(Commented {
            pull: self.pull_numbered(number)?,
            comment: CommentId(id.0),
            at: at.0,
            actor: self.author_who_sent(comment)?,
            body: comment.body.0.clone().unwrap_or_default(),
            url: comment.html_url.0.clone().unwrap_or_default(),
            found_at: None,
        }))
    }

    /// Whoever wrote a comment, when they also sent it.
    fn author_who_sent(&self, comment: &wire::Comment) -> Read<Actor> {
        let author = comment.user.0.as_ref().and_then(wire::User::actor);
        let sender = self.payload.sender.0.as_ref().and_then(wire::User::actor);
        let Some(mut actor) = author.filter(|it| sender.is_some_and(|other| it.id == other.id))
        else {
            return ignored("issue_comment created: who sent it is not who wrote it");
        };
        actor.is_bot |= comment.performed_via_github_app.0.is_some();
        Ok(actor)
    }

    fn is_on_pull(&self, issue: &Issue, comment: &wire::Comment) -> bool {
        let page = comment.pull_request_url.0.as_deref().unwrap_or_default();
        self.payload.is_pull.0 == Some(true) || issue.pull_request.0.is_some() || !page.is_empty()
    }

    /// A branch that is there was pushed.
    pub(super) fn pushed(&self) -> Read<Event> {
        let name = self.payload.r#ref.0.as_deref();
        let name = name.ok_or(Unread::Missing("a ref"))?;
        let Some(branch) = name.strip_prefix("refs/heads/") else {
            return ignored("push: not to a branch");
        };
        let after = self.payload.after.0.clone();
        let after = after.ok_or(Unread::Missing("a commit after"))?;
        if after.is_zero() || self.payload.deleted.0 == Some(true) {
            return ignored("push: a branch was deleted");
        }
        let before = self.payload.before.0.clone();
        Ok(Event::BranchPushed {
            repo: self.repo()?,
            branch: Branch::try_from(branch).map_err(|_| Unread::Missing("a branch name"))?,
            before: before.ok_or(Unread::Missing("a commit before"))?,
            after,
            actor: self.sender(),
        })
    }

    /// A pull request was closed, by a merge or without.
    pub(super) fn closed(&self) -> Read<Event> {
        Ok(Event::PullClosed {
            pull: self.pull()?,
            merged: self.details().is_some_and(|it| it.merged.0 == Some(true)),
            actor: self.sender(),
        })
    }

    /// Somebody did something to a pull request.
    pub(super) fn did(&self, event: fn(Pull, Actor) -> Event) -> Read<Event> {
        Ok(event(self.pull()?, self.sender()))
    }

    fn details(&self) -> Option<&wire::Pull> {
        self.payload.pull_request.0.as_ref()
    }

    /// Who did it. An account that is gone is nobody in particular; the event still counts.
    fn sender(&self) -> Actor {
        let sender = self.payload.sender.0.as_ref().and_then(wire::User::actor);
        sender.unwrap_or_else(wire::ghost)
    }

    fn pull(&self) -> Read<Pull> {
        let number = self.details().and_then(|it| it.number.0);
        let number = number.or(self.payload.number.0);
        self.pull_numbered(number.ok_or(Unread::Missing("a pull request number"))?)
    }

    fn pull_numbered(&self, number: Number) -> Read<Pull> {
        Ok(Pull {
            repo: self.repo()?,
            number: PullNumber(number.0),
        })
    }

    fn repo(&self) -> Read<Repo> {
        let repository = self.payload.repository.0.as_ref();
        repository
            .and_then(|it| it.repo(&self.host))
            .ok_or(Unread::Missing("a repository"))
    }
}

/// Somebody opened a pull request, or made it ready again.
pub(super) fn opened(pull: Pull, actor: Actor) -> Event {
    Event::PullOpened { pull, actor }
}

/// Somebody moved a pull request's head.
pub(super) fn moved(pull: Pull, actor: Actor) -> Event {
    Event::PullPushed { pull, actor }
}

/// Somebody gave a pull request another target branch.
pub(super) fn retargeted(pull: Pull, actor: Actor) -> Event {
    Event::PullRetargeted { pull, actor }
}

/// Somebody reviewed a pull request.
pub(super) fn reviewed(pull: Pull, actor: Actor) -> Event {
    Event::Reviewed { pull, actor }
}
