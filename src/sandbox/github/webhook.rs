//! Webhooks as GitHub sends them: the payload of each thing that happens, and the headers of a delivery.

use serde_json::{Value, json};

use crate::sandbox::api::words::{NO_COMMIT, add};
use crate::sandbox::courier::Letter;
use crate::sandbox::github::shape::Shape;
use crate::sandbox::model::Document;
use crate::sandbox::model::happening::{
    Happening, InstallationChange, Place, PullText, Push, What,
};
use crate::sandbox::model::hook::{Delivery, Hook, Subject};
use crate::sandbox::model::pull::PullKey;

/// What happened, in GitHub's words, from the state as it is afterwards.
pub(crate) fn letter(
    document: &Document,
    address: &str,
    hook: &Hook,
    happening: &Happening,
) -> Letter {
    let shape = Shape { document, address };
    let (event, action, about) = about(shape, hook, happening);
    let mut payload = json!({ "sender": shape.account(happening.actor) });
    if let Some(action) = action {
        add(&mut payload, json!({ "action": action }));
    }
    if let Some(repo) = happening.place.repo() {
        let repo = document.repo(repo);
        add(&mut payload, json!({ "repository": shape.repo(repo) }));
        if let Some(organization) = shape.organization(repo) {
            add(&mut payload, json!({ "organization": organization }));
        }
        if let Subject::App(app) = hook.of
            && let Some(installation) = document.installation_on(app, repo.id)
        {
            let installation = shape.simple_installation(installation);
            add(&mut payload, json!({ "installation": installation }));
        }
    }
    add(&mut payload, about);
    Letter {
        event,
        event_type: None,
        action,
        payload,
    }
}

/// The headers of a delivery; `signature` is the hex HMAC-SHA256 of its bytes.
pub(crate) fn headers(
    hook: &Hook,
    delivery: &Delivery,
    signature: &str,
) -> Vec<(&'static str, String)> {
    let (target, kind) = match hook.of {
        Subject::Repo(repo) => (repo.to_string(), "repository"),
        Subject::App(app) => (app.to_string(), "integration"),
    };
    let mut headers = vec![
        ("User-Agent", "GitHub-Hookshot/sandbox".to_owned()),
        ("X-GitHub-Event", delivery.event.clone()),
        ("X-GitHub-Delivery", delivery.id.clone()),
        ("X-GitHub-Hook-ID", hook.id.to_string()),
        ("X-GitHub-Hook-Installation-Target-ID", target),
        ("X-GitHub-Hook-Installation-Target-Type", kind.to_owned()),
    ];
    // GitHub signs nothing for a hook without a secret.
    if !hook.secret.is_empty() {
        headers.push(("X-Hub-Signature-256", format!("sha256={signature}")));
    }
    headers
}

type About = (&'static str, Option<&'static str>, Value);

fn about(shape: Shape<'_>, hook: &Hook, happening: &Happening) -> About {
    let pull = |action, key: PullKey| ("pull_request", Some(action), of_pull(shape, key));
    match &happening.what {
        What::HookMade { .. } | What::HookTested { .. } => ("ping", None, ping(shape, hook)),
        What::PullOpened { pull: key } => pull("opened", *key),
        What::PullPushed { pull: key, before } => {
            let mut payload = of_pull(shape, *key);
            let after = shape.document.pull(*key).map(|it| &it.head.sha);
            add(&mut payload, json!({ "before": before, "after": after }));
            ("pull_request", Some("synchronize"), payload)
        }
        What::PullReopened { pull: key } => pull("reopened", *key),
        What::PullClosed { pull: key } => pull("closed", *key),
        What::PullEdited { pull: key, before } => {
            let mut payload = of_pull(shape, *key);
            add(&mut payload, json!({ "changes": changes(before) }));
            ("pull_request", Some("edited"), payload)
        }
        What::Commented { comment } => {
            let payload = json!({
                "issue": of_issue(shape, comment.pull),
                "comment": shape.comment(comment),
            });
            ("issue_comment", Some("created"), payload)
        }
        What::CommentEdited { comment, before } => {
            let payload = json!({
                "changes": { "body": { "from": before } },
                "issue": of_issue(shape, comment.pull),
                "comment": shape.comment(comment),
            });
            ("issue_comment", Some("edited"), payload)
        }
        What::CommentDeleted { comment } => {
            let payload = json!({
                "issue": of_issue(shape, comment.pull),
                "comment": shape.comment(comment),
            });
            ("issue_comment", Some("deleted"), payload)
        }
        What::Reviewed { pull: key, review } => {
            let payload = of_review(shape, *key, *review);
            ("pull_request_review", Some("submitted"), payload)
        }
        What::ReviewDismissed { pull: key, review } => {
            let payload = of_review(shape, *key, *review);
            ("pull_request_review", Some("dismissed"), payload)
        }
        What::Pushed(push) => ("push", None, of_push(shape, happening, push)),
        What::Installation(change) => of_installation(shape, happening.place, *change),
        What::InstallationRepos { added, removed } => {
            let payload = shape.installation_repos(happening.place, added, removed);
            let action = if removed.is_empty() {
                "added"
            } else {
                "removed"
            };
            ("installation_repositories", Some(action), payload)
        }
    }
}

fn of_installation(shape: Shape<'_>, place: Place, change: InstallationChange) -> About {
    let action = match change {
        InstallationChange::Created => "created",
        InstallationChange::Suspended => "suspend",
        InstallationChange::Unsuspended => "unsuspend",
        InstallationChange::Deleted => "deleted",
    };
    (
        "installation",
        Some(action),
        shape.installation_change(place, change),
    )
}

fn ping(shape: Shape<'_>, hook: &Hook) -> Value {
    json!({
        "zen": "Speak like the tide: twice a day.",
        "hook_id": hook.id,
        "hook": shape.hook(hook),
    })
}

fn of_pull(shape: Shape<'_>, key: PullKey) -> Value {
    let pull = shape.document.pull(key).map(|it| shape.pull(it));
    json!({ "number": key.number, "pull_request": pull })
}

fn of_issue(shape: Shape<'_>, key: PullKey) -> Option<Value> {
    shape.document.pull(key).map(|it| shape.issue(it))
}

/// A review's payload holds a pull request as lists show it, and its state in small letters.
fn of_review(shape: Shape<'_>, key: PullKey, id: u64) -> Value {
    let pull = shape.document.pull(key);
    let review = shape.document.review(key, id);
    let Some((pull, review)) = pull.zip(review) else {
        return json!({});
    };
    let mut review = shape.review(pull, review);
    let state = review["state"].as_str().unwrap_or_default().to_lowercase();
    review["state"] = Value::from(state);
    json!({ "review": review, "pull_request": shape.pull_in_list(pull) })
}

fn changes(before: &PullText) -> Value {
    let mut changes = json!({});
    if let Some(title) = &before.title {
        add(&mut changes, json!({ "title": { "from": title } }));
    }
    if let Some(body) = &before.body {
        let from = body.as_deref().unwrap_or_default();
        add(&mut changes, json!({ "body": { "from": from } }));
    }
    if let Some((branch, sha)) = &before.base {
        let base = json!({ "ref": { "from": branch }, "sha": { "from": sha } });
        add(&mut changes, json!({ "base": base }));
    }
    changes
}

fn of_push(shape: Shape<'_>, happening: &Happening, push: &Push) -> Value {
    let Some(repo) = happening.place.repo() else {
        return json!({});
    };
    let repo = shape.document.repo(repo);
    let name = shape.document.full_name(repo);
    let pusher = shape.document.account(happening.actor);
    let before = push.before.as_ref().map_or(NO_COMMIT, |it| it.as_str());
    let after = push.tip.as_ref().map_or(NO_COMMIT, |it| it.sha.as_str());
    let commits = push.commits.iter();
    let commits: Vec<Value> = commits.map(|it| shape.pushed_commit(repo, it)).collect();
    let compare = format!("/{name}/compare/{}...{}", &before[..12], &after[..12]);
    json!({
        "ref": format!("refs/heads/{}", push.branch),
        "before": before,
        "after": after,
        "created": push.before.is_none(),
        "deleted": push.tip.is_none(),
        "forced": push.is_forced,
        "base_ref": null,
        "compare": shape.page(&compare),
        "head_commit": push.tip.as_ref().map(|it| shape.pushed_commit(repo, it)),
        "commits": commits,
        "pusher": { "name": pusher.login, "email": pusher.address() },
    })
}
