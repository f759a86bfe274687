//! GitHub deliveries: checked over the raw bytes, then read into events.

use http::HeaderMap;

use crate::core::event::Event;
use crate::core::ids::{DeliveryId, Repo};
use crate::forge::payload::{
    self, Read, Reader, Repositories, ignored, moved, opened, retargeted, reviewed, unknown,
};
use crate::forge::signature::is_signed;
use crate::forge::{Delivery, ReadError, ServedForge};

/// What stands on the deliveries of a forge that also sends GitHub's headers, for programs that know no other.
const LOOK_ALIKES: [&str; 2] = ["x-forgejo-event", "x-gitea-event"];

/// Checks a delivery's signature and reads it.
pub(in crate::forge) fn read(
    headers: &HeaderMap,
    body: &[u8],
    forge: &ServedForge,
) -> Result<Delivery, ReadError> {
    let signature = headers.get("x-hub-signature-256").map(|it| it.as_bytes());
    let digits = signature.and_then(|it| it.strip_prefix(b"sha256="));
    if !digits.is_some_and(|it| is_signed(forge.secrets(), it, body)) {
        return Err(ReadError::Unsigned);
    }
    if LOOK_ALIKES.iter().any(|it| headers.contains_key(*it)) {
        let what = "Forgejo or Gitea sent it: let its webhook deliver to /webhooks/forgejo";
        return Err(ReadError::Malformed(what.to_owned()));
    }
    let id = DeliveryId::try_from(header(headers, "x-github-delivery")?)
        .map_err(|bad| ReadError::Malformed(format!("its X-GitHub-Delivery: {bad}")))?;
    let name = header(headers, "x-github-event")?;
    let reader = Reader {
        host: forge.options.host(),
        payload: payload::parse(headers, body)?,
    };
    payload::delivery(id, name, event(&reader, name))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<&'a str, ReadError> {
    payload::header(headers, name)
        .ok_or_else(|| ReadError::Malformed(format!("it has no {name} header")))
}

fn event(it: &Reader, name: &str) -> Read<Event> {
    match (name, it.action()) {
        ("pull_request", action) => pull_event(it, action),
        ("issue_comment", "created") => it.commented(),
        ("issue_comment", action @ ("edited" | "deleted")) => {
            ignored(format!("issue_comment {action}: only new comments command"))
        }
        ("pull_request_review", "submitted" | "dismissed") => it.did(reviewed),
        ("push", _) => it.pushed(),
        ("installation", "created" | "unsuspend" | "new_permissions_accepted") => {
            installed(it, &it.payload.repositories)
        }
        ("installation_repositories", "added") => installed(it, &it.payload.repositories_added),
        ("installation", "deleted" | "suspend") => removed(it, &it.payload.repositories),
        ("installation_repositories", "removed") => removed(it, &it.payload.repositories_removed),
        (name, action) => unknown(name, action),
    }
}

fn pull_event(it: &Reader, action: &str) -> Read<Event> {
    match action {
        "opened" | "reopened" | "ready_for_review" => it.did(opened),
        "synchronize" => it.did(moved),
        "edited" if is_retargeted(it) => it.did(retargeted),
        "edited" => ignored("pull_request edited: its target branch is the same"),
        "closed" => it.closed(),
        action => unknown("pull_request", action),
    }
}

fn is_retargeted(it: &Reader) -> bool {
    let changes = it.payload.changes.0.as_ref();
    changes.is_some_and(|it| it.base.0.is_some())
}

fn installed(it: &Reader, repositories: &Repositories) -> Read<Event> {
    let repos = repos(it, repositories)?;
    Ok(Event::Installed { repos })
}

fn removed(it: &Reader, repositories: &Repositories) -> Read<Event> {
    let repos = repos(it, repositories)?;
    Ok(Event::Removed { repos })
}

fn repos(it: &Reader, repositories: &Repositories) -> Read<Vec<Repo>> {
    let listed = repositories.0.iter().flatten();
    let repos: Vec<_> = listed
        .filter_map(|repo| repo.0.as_ref()?.repo(&it.host))
        .collect();
    if repos.is_empty() {
        return ignored("an installation that names no repository");
    }
    Ok(repos)
}

#[cfg(test)]
mod tests;
