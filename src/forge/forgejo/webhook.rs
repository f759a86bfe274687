//! Deliveries of Forgejo and Gitea: checked over the raw bytes, then read into events.
//!
//! # Why the content is a delivery's id
//!
//! Both send each delivery once. Somebody who plays one back gives it a new id of its own, and the same bytes. Two
//! things that really happened differ in the times their bytes hold.

use http::HeaderMap;
use sha2::{Digest, Sha256};

use crate::core::event::Event;
use crate::core::ids::DeliveryId;
use crate::core::key::hex;
use crate::forge::payload::{
    self, Read, Reader, ignored, moved, opened, retargeted, reviewed, unknown,
};
use crate::forge::signature::is_signed;
use crate::forge::{Delivery, ReadError, ServedForge};

/// Signatures of the raw bytes. (Both also send those of GitHub and of Gogs, which decide nothing.)
const SIGNATURES: [&str; 2] = ["x-forgejo-signature", "x-gitea-signature"];

/// What happened, most exact first: one event may be of several types.
const NAMES: [&str; 4] = [
    "x-forgejo-event-type",
    "x-gitea-event-type",
    "x-forgejo-event",
    "x-gitea-event",
];

/// Checks a delivery's signature and reads it.
pub(in crate::forge) fn read(
    headers: &HeaderMap,
    body: &[u8],
    forge: &ServedForge,
) -> Result<Delivery, ReadError> {
    let signatures = SIGNATURES.iter().filter_map(|it| headers.get(*it));
    let mut signatures = signatures.map(|it| it.as_bytes());
    if !signatures.any(|it| is_signed(forge.secrets(), it, body)) {
        return Err(ReadError::Unsigned);
    }
    let mut names = NAMES.iter().filter_map(|it| payload::header(headers, it));
    let name = names.find(|it| !it.is_empty()).ok_or_else(|| {
        ReadError::Malformed("it has no X-Forgejo-Event or X-Gitea-Event header".to_owned())
    })?;
    let reader = Reader {
        host: forge.options.host(),
        payload: payload::parse(headers, body)?,
    };
    payload::delivery(id_of(body), name, event(&reader, name))
}

fn id_of(body: &[u8]) -> DeliveryId {
    let id = format!("sha256:{}", hex(&Sha256::digest(body)));
    DeliveryId::try_from(id).expect("digits are a delivery id")
}

/// `name` is an event's or a type's: what is both is told apart by the action.
fn event(it: &Reader, name: &str) -> Read<Event> {
    match (name, it.action()) {
        (
            "pull_request_review_approved"
            | "pull_request_review_rejected"
            | "pull_request_review_comment"
            | "pull_request_approved"
            | "pull_request_rejected"
            | "pull_request_comment",
            "reviewed",
        ) => it.did(reviewed),
        ("issue_comment" | "pull_request_comment", "created") => it.commented(),
        ("issue_comment" | "pull_request_comment", action @ ("edited" | "deleted")) => {
            ignored(format!("issue_comment {action}: only new comments command"))
        }
        ("pull_request" | "pull_request_sync", action) => pull_event(it, action),
        ("push", _) => it.pushed(),
        (name, action) => unknown(name, action),
    }
}

fn pull_event(it: &Reader, action: &str) -> Read<Event> {
    match action {
        "opened" | "reopened" => it.did(opened),
        "synchronized" => it.did(moved),
        "edited" if is_retargeted(it) => it.did(retargeted),
        "edited" => ignored("pull_request edited: its target branch is the same"),
        "closed" => it.closed(),
        action => unknown("pull_request", action),
    }
}

fn is_retargeted(it: &Reader) -> bool {
    let changes = it.payload.changes.0.as_ref();
    changes.is_some_and(|it| it.r#ref.0.is_some())
}

#[cfg(test)]
mod tests;
