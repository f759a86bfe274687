//! GitHub deliveries: checked over the raw bytes, then read into events.

use http::HeaderMap;
use serde::Deserialize;

use crate::core::event::{Commented, Event};
use crate::core::ids::{
    Actor, Branch, CommentId, DeliveryId, ForgeHost, Pull, PullNumber, Repo, Sha,
};
use crate::forge::github::signature;
use crate::forge::github::wire::{self, Maybe, Number};
use crate::forge::{Delivery, Ignored, ReadError, ServedForge};

/// Checks a delivery's signature and reads it.
pub(in crate::forge) fn read(
    headers: &HeaderMap,
    body: &[u8],
    forge: &ServedForge,
) -> Result<Delivery, ReadError> {
    let signature = headers.get("x-hub-signature-256").map(|it| it.as_bytes());
    if !signature::is_signed(forge.secrets(), signature.unwrap_or_default(), body) {
        return Err(ReadError::Unsigned);
    }
    let id = DeliveryId::try_from(header(headers, "x-github-delivery")?)
        .map_err(|bad| ReadError::Malformed(format!("its X-GitHub-Delivery: {bad}")))?;
    let name = header(headers, "x-github-event")?;
    let payload = parse(headers, body)?;
    let host = forge.options.host();
    match (Reader { host, payload }).event(name) {
        Ok(event) => Ok(Delivery {
            id,
            event: Ok(event),
        }),
        Err(Unread::Ignored(why)) => Ok(Delivery {
            id,
            event: Err(Ignored(why)),
        }),
        Err(Unread::Missing(what)) => Err(ReadError::Malformed(format!(
            "a {name} delivery without {what}"
        ))),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<&'a str, ReadError> {
    headers
        .get(name)
        .and_then(|it| it.to_str().ok())
        .ok_or_else(|| ReadError::Malformed(format!("it has no {name} header")))
}

fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Payload, ReadError> {
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

/// Why a payload is no event.
enum Unread {
    /// It is nothing we act on.
    Ignored(String),
    /// It is something we act on, without what that takes.
    Missing(&'static str),
}

type Read<T> = Result<T, Unread>;

fn ignored<T>(why: impl Into<String>) -> Read<T> {
    Err(Unread::Ignored(why.into()))
}

/// All that we read of any delivery.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload {
    action: Maybe<String>,
    repository: Maybe<wire::Repository>,
    sender: Maybe<wire::User>,
    number: Maybe<Number>,
    pull_request: Maybe<wire::Pull>,
    changes: Maybe<Changes>,
    issue: Maybe<Issue>,
    comment: Maybe<wire::Comment>,
    r#ref: Maybe<String>,
    before: Maybe<Sha>,
    after: Maybe<Sha>,
    deleted: Maybe<bool>,
    repositories: Repositories,
    repositories_added: Repositories,
    repositories_removed: Repositories,
}

type Repositories = Maybe<Vec<Maybe<wire::Repository>>>;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Changes {
    /// There when the target branch changed.
    base: Maybe<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Issue {
    number: Maybe<Number>,
    /// There when the issue is a pull request.
    pull_request: Maybe<serde_json::Map<String, serde_json::Value>>,
}

struct Reader {
    host: ForgeHost,
    payload: Payload,
}

impl Reader {
    fn event(&self, name: &str) -> Read<Event> {
        let action = self.payload.action.0.as_deref().unwrap_or_default();
        match (name, action) {
            ("pull_request", action) => self.pull_event(action),
            ("issue_comment", "created") => self.commented(),
            ("issue_comment", "edited" | "deleted") => {
                ignored(format!("issue_comment {action}: only new comments command"))
            }
            ("pull_request_review", "submitted" | "dismissed") => Ok(Event::Reviewed {
                pull: self.pull()?,
                actor: self.sender(),
            }),
            ("push", _) => self.pushed(),
            ("installation", "created" | "unsuspend" | "new_permissions_accepted") => {
                self.installed(&self.payload.repositories)
            }
            ("installation_repositories", "added") => {
                self.installed(&self.payload.repositories_added)
            }
            ("installation", "deleted" | "suspend") => self.removed(&self.payload.repositories),
            ("installation_repositories", "removed") => {
                self.removed(&self.payload.repositories_removed)
            }
            (name, action) => ignored(label(name, action)),
        }
    }

    fn pull_event(&self, action: &str) -> Read<Event> {
        let moved = |event: fn(Pull, Actor) -> Event| Ok(event(self.pull()?, self.sender()));
        match action {
            "opened" | "reopened" | "ready_for_review" => {
                moved(|pull, actor| Event::PullOpened { pull, actor })
            }
            "synchronize" => moved(|pull, actor| Event::PullPushed { pull, actor }),
            "edited" if self.is_retargeted() => {
                moved(|pull, actor| Event::PullRetargeted { pull, actor })
            }
            "edited" => ignored("pull_request edited: its target branch is the same"),
            "closed" => Ok(Event::PullClosed {
                pull: self.pull()?,
                merged: self.is_merged(),
                actor: self.sender(),
            }),
            action => ignored(label("pull_request", action)),
        }
    }

    fn is_retargeted(&self) -> bool {
        let changes = self.payload.changes.0.as_ref();
        changes.is_some_and(|it| it.base.0.is_some())
    }

    fn is_merged(&self) -> bool {
        let pull = self.payload.pull_request.0.as_ref();
        pull.is_some_and(|it| it.merged.0 == Some(true))
    }

    /// A comment commands in the name of who wrote it, so it must be who sent it.
    fn commented(&self) -> Read<Event> {
        let issue = self
            .payload
            .issue
            .0
            .as_ref()
            .ok_or(Unread::Missing("an issue"))?;
        if issue.pull_request.0.is_none() {
            return ignored("issue_comment created: on an issue, not on a pull request");
        }
        let number = issue.number.0.ok_or(Unread::Missing("an issue number"))?;
        let comment = self
            .payload
            .comment
            .0
            .as_ref()
            .ok_or(Unread::Missing("a comment"))?;
        let author = comment.user.0.as_ref().and_then(wire::User::actor);
        let sender = self.payload.sender.0.as_ref().and_then(wire::User::actor);
        let Some(mut actor) = author.filter(|it| sender.is_some_and(|other| it.id == other.id))
        else {
            return ignored("issue_comment created: who sent it is not who wrote it");
        };
        actor.is_bot |= comment.performed_via_github_app.0.is_some();
        Ok(Event::Commented(Commented {
            pull: self.pull_numbered(number)?,
            comment: CommentId(comment.id.0.ok_or(Unread::Missing("a comment id"))?.0),
            at: comment
                .created_at
                .0
                .ok_or(Unread::Missing("a time of the comment"))?
                .0,
            actor,
            body: comment.body.0.clone().unwrap_or_default(),
            url: comment.html_url.0.clone().unwrap_or_default(),
        }))
    }

    fn pushed(&self) -> Read<Event> {
        let name = self
            .payload
            .r#ref
            .0
            .as_deref()
            .ok_or(Unread::Missing("a ref"))?;
        let Some(branch) = name.strip_prefix("refs/heads/") else {
            return ignored("push: not to a branch");
        };
        let after = self
            .payload
            .after
            .0
            .clone()
            .ok_or(Unread::Missing("a commit after"))?;
        if after.is_zero() || self.payload.deleted.0 == Some(true) {
            return ignored("push: a branch was deleted");
        }
        Ok(Event::BranchPushed {
            repo: self.repo()?,
            branch: Branch::try_from(branch).map_err(|_| Unread::Missing("a branch name"))?,
            before: self
                .payload
                .before
                .0
                .clone()
                .ok_or(Unread::Missing("a commit before"))?,
            after,
            actor: self.sender(),
        })
    }

    fn installed(&self, repositories: &Repositories) -> Read<Event> {
        let repos = self.repos(repositories)?;
        Ok(Event::Installed { repos })
    }

    fn removed(&self, repositories: &Repositories) -> Read<Event> {
        let repos = self.repos(repositories)?;
        Ok(Event::Removed { repos })
    }

    fn repos(&self, repositories: &Repositories) -> Read<Vec<Repo>> {
        let listed = repositories.0.iter().flatten();
        let repos: Vec<_> = listed
            .filter_map(|it| it.0.as_ref()?.repo(&self.host))
            .collect();
        if repos.is_empty() {
            return ignored("an installation that names no repository");
        }
        Ok(repos)
    }

    /// Who did it. An account that is gone is nobody in particular; the event still counts.
    fn sender(&self) -> Actor {
        let sender = self.payload.sender.0.as_ref().and_then(wire::User::actor);
        sender.unwrap_or_else(wire::ghost)
    }

    fn pull(&self) -> Read<Pull> {
        let pull = self.payload.pull_request.0.as_ref();
        let number = pull.and_then(|it| it.number.0).or(self.payload.number.0);
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

/// Names what we do not act on, short enough to count by: the event's name comes from a header.
fn label(name: &str, action: &str) -> String {
    let whole = format!("{name} {action}");
    whole.trim_end().chars().take(80).collect()
}

#[cfg(test)]
mod tests;
