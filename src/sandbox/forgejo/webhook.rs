//! Webhooks as Forgejo sends them: the payloads of each thing that happens, and the headers of a delivery.
//!
//! What is not told at all: that a hook was made, that a review was taken back, that a branch is gone.

use serde_json::{Value, json};

use crate::core::person::Verdict;
use crate::sandbox::api::words::{NO_COMMIT, add};
use crate::sandbox::bare::Commit;
use crate::sandbox::courier::Letter;
use crate::sandbox::forgejo::shape::Shape;
use crate::sandbox::model::Document;
use crate::sandbox::model::happening::{Happening, PullText, Push, What};
use crate::sandbox::model::hook::{Delivery, Hook};
use crate::sandbox::model::pull::{Comment, PullKey};

/// How many commits of a push are told.
const TOLD_COMMITS: usize = 15;

/// What an event is called: by its header, by its finer header, and by its action.
struct Name {
    event: &'static str,
    event_type: &'static str,
    action: Option<&'static str>,
}

impl Name {
    fn of_pull(event_type: &'static str, action: &'static str) -> Self {
        Self {
            event: "pull_request",
            event_type,
            action: Some(action),
        }
    }

    /// The subscription under which a hook hears it.
    fn subscription(&self) -> &'static str {
        if self.event_type.starts_with("pull_request_review_") {
            "pull_request_review"
        } else {
            self.event_type
        }
    }
}

/// What a hook is told about something, in Forgejo's words, from the state as it is afterwards.
pub(crate) fn letters(
    document: &Document,
    address: &str,
    hook: &Hook,
    happening: &Happening,
) -> Vec<Letter> {
    let shape = Shape { document, address };
    let is_test = matches!(happening.what, What::HookTested { .. });
    let is_heard = |name: &Name| {
        let name = name.subscription();
        (hook.is_active || is_test) && hook.events.iter().any(|it| it == name)
    };
    let told = about(shape, happening).into_iter();
    told.filter(|(name, _)| is_heard(name))
        .map(|(name, about)| letter(shape, happening, name, about))
        .collect()
}

fn letter(shape: Shape<'_>, happening: &Happening, name: Name, about: Value) -> Letter {
    let mut payload = json!({ "sender": shape.account(happening.actor) });
    if let Some(action) = name.action {
        add(&mut payload, json!({ "action": action }));
    }
    if let Some(repo) = happening.place.repo() {
        let repo = shape.nested_repo(shape.document.repo(repo));
        add(&mut payload, json!({ "repository": repo }));
    }
    add(&mut payload, about);
    Letter {
        event: name.event,
        event_type: Some(name.event_type),
        action: name.action,
        payload,
    }
}

/// The headers of a delivery, under the names of the forges that Forgejo descends from and of GitHub; `signature` is the
/// hex HMAC-SHA256 of its bytes.
pub(crate) fn headers(
    hook: &Hook,
    delivery: &Delivery,
    signature: &str,
) -> Vec<(&'static str, String)> {
    let kind = delivery.event_type.as_ref().unwrap_or(&delivery.event);
    // Without a secret the headers are there and empty.
    let signature = if hook.secret.is_empty() {
        ""
    } else {
        signature
    };
    let (id, event) = (&delivery.id, &delivery.event);
    vec![
        ("User-Agent", "Go-http-client/1.1".to_owned()),
        ("X-Forgejo-Delivery", id.clone()),
        ("X-Forgejo-Event", event.clone()),
        ("X-Forgejo-Event-Type", kind.clone()),
        ("X-Forgejo-Signature", signature.to_owned()),
        ("X-Gitea-Delivery", id.clone()),
        ("X-Gitea-Event", event.clone()),
        ("X-Gitea-Event-Type", kind.clone()),
        ("X-Gitea-Signature", signature.to_owned()),
        ("X-Gogs-Delivery", id.clone()),
        ("X-Gogs-Event", event.clone()),
        ("X-Gogs-Event-Type", kind.clone()),
        ("X-Gogs-Signature", signature.to_owned()),
        ("X-Hub-Signature-256", format!("sha256={signature}")),
        ("X-GitHub-Delivery", id.clone()),
        ("X-GitHub-Event", event.clone()),
        ("X-GitHub-Event-Type", kind.clone()),
    ]
}

fn about(shape: Shape<'_>, happening: &Happening) -> Vec<(Name, Value)> {
    let pull = |event_type, action, key: &PullKey| {
        vec![(Name::of_pull(event_type, action), of_pull(shape, *key))]
    };
    match &happening.what {
        What::PullOpened { pull: key } => pull("pull_request", "opened", key),
        What::PullPushed { pull: key, .. } => pull("pull_request_sync", "synchronized", key),
        What::PullReopened { pull: key } => pull("pull_request", "reopened", key),
        What::PullClosed { pull: key } => pull("pull_request", "closed", key),
        What::PullEdited { pull: key, before } => edits(shape, *key, before),
        What::Commented { comment } => vec![of_comment(shape, "created", comment, None)],
        What::CommentEdited { comment, before } => {
            vec![of_comment(shape, "edited", comment, Some(before))]
        }
        What::CommentDeleted { comment } => vec![of_comment(shape, "deleted", comment, None)],
        What::Reviewed { pull: key, review } => of_review(shape, *key, *review),
        What::Pushed(push) => of_push(shape, happening, push),
        What::HookTested { branch, tip, .. } => {
            let branch = format!("refs/heads/{branch}");
            let moved = (tip.sha.as_str(), tip.as_ref());
            let told = std::slice::from_ref(tip.as_ref());
            vec![pushed(shape, happening, (&branch, moved, told))]
        }
        What::HookMade { .. }
        | What::ReviewDismissed { .. }
        | What::Installation(_)
        | What::InstallationRepos { .. } => vec![],
    }
}

fn of_pull(shape: Shape<'_>, key: PullKey) -> Value {
    json!({
        "number": key.number,
        "pull_request": shape.document.pull(key).map(|it| shape.pull(it)),
        "requested_reviewer": null,
        "commit_id": "",
        "review": null,
    })
}

/// One for each thing that was edited.
fn edits(shape: Shape<'_>, key: PullKey, before: &PullText) -> Vec<(Name, Value)> {
    let title = before.title.as_ref().map(|it| ("title", it.as_str()));
    let body = before.body.as_ref();
    let body = body.map(|it| ("body", it.as_deref().unwrap_or_default()));
    let base = before
        .base
        .as_ref()
        .map(|(branch, _)| ("ref", branch.as_str()));
    let edit = |(what, from): (&str, &str)| {
        let mut payload = of_pull(shape, key);
        let changes = json!({ what: { "from": from } });
        add(&mut payload, json!({ "changes": changes }));
        (Name::of_pull("pull_request", "edited"), payload)
    };
    [title, body, base]
        .into_iter()
        .flatten()
        .map(edit)
        .collect()
}

fn of_comment(
    shape: Shape<'_>,
    action: &'static str,
    comment: &Comment,
    before: Option<&String>,
) -> (Name, Value) {
    let name = Name {
        event: "issue_comment",
        event_type: "pull_request_comment",
        action: Some(action),
    };
    let pull = shape.document.pull(comment.pull);
    let mut payload = json!({
        "issue": pull.map(|it| shape.issue(it)),
        "pull_request": pull.map(|it| shape.pull(it)),
        "comment": shape.comment(comment),
        "is_pull": true,
    });
    if let Some(before) = before {
        let changes = json!({ "body": { "from": before } });
        add(&mut payload, json!({ "changes": changes }));
    }
    (name, payload)
}

/// Says that there is a review and what it says, and neither its number nor its commit.
fn of_review(shape: Shape<'_>, key: PullKey, id: u64) -> Vec<(Name, Value)> {
    let Some(review) = shape.document.review(key, id) else {
        return vec![];
    };
    let (event, event_type) = match review.verdict {
        Verdict::Approved => ("pull_request_approved", "pull_request_review_approved"),
        Verdict::ChangesRequested => ("pull_request_rejected", "pull_request_review_rejected"),
        Verdict::Commented => ("pull_request_comment", "pull_request_review_comment"),
        Verdict::Dismissed => return vec![],
    };
    let name = Name {
        event,
        event_type,
        action: Some("reviewed"),
    };
    let mut payload = of_pull(shape, key);
    let more = json!({
        "requested_reviewer": shape.account(review.author),
        "review": { "type": event_type, "content": review.body },
    });
    add(&mut payload, more);
    vec![(name, payload)]
}

fn of_push(shape: Shape<'_>, happening: &Happening, push: &Push) -> Vec<(Name, Value)> {
    let Some(tip) = &push.tip else {
        return vec![];
    };
    let before = push.before.as_ref().map_or(NO_COMMIT, |it| it.as_str());
    let branch = format!("refs/heads/{}", push.branch);
    vec![pushed(
        shape,
        happening,
        (&branch, (before, tip), &push.commits),
    )]
}

/// A push of `commits`, oldest first; they are told newest first.
fn pushed(
    shape: Shape<'_>,
    happening: &Happening,
    (branch, (before, tip), commits): (&str, (&str, &Commit), &[Commit]),
) -> (Name, Value) {
    let name = Name {
        event: "push",
        event_type: "push",
        action: None,
    };
    let Some(repo) = happening.place.repo() else {
        return (name, json!({}));
    };
    let repo = shape.document.repo(repo);
    let full_name = shape.document.full_name(repo);
    let told = commits.iter().rev().take(TOLD_COMMITS);
    let told: Value = told.map(|it| shape.pushed_commit(repo, it)).collect();
    let compare = format!("/{full_name}/compare/{before}...{}", tip.sha);
    let payload = json!({
        "ref": branch,
        "before": before,
        "after": tip.sha,
        "compare_url": shape.page(&compare),
        "commits": told,
        "total_commits": commits.len(),
        "head_commit": shape.pushed_commit(repo, tip),
        "pusher": shape.account(happening.actor),
    });
    (name, payload)
}
