//! Whether Forgejo takes our access token, what it lets us do in the repositories we serve, and what it delivers.

use crate::core::finding::Finding;
use crate::forge::check::Checkup;
use crate::forge::client::standing::{self, Hook, Manner, Seen};
use crate::forge::forgejo::Forgejo;

/// What we must hear of, each by the names it goes by.
const EVENTS: [&[&str]; 5] = [
    &["pull_request"],
    &["pull_request_comment"],
    &["pull_request_review", "pull_request_review_approved"],
    &["pull_request_sync"],
    &["push"],
];

const MANNER: Manner = Manner {
    rights: "the scopes `write:repository`, `write:issue`, `read:user` and `read:organization`",
    of_repo,
    of_hook,
};

/// Asks who we are, and looks at the repositories; nothing else is asked of a forge that does not know us.
pub(in crate::forge) async fn check(forgejo: &Forgejo, checkup: &Checkup<'_>) -> Vec<Finding> {
    standing::check(&forgejo.client, checkup, &MANNER).await
}

fn of_repo(name: &str, repo: &str, seen: &Seen) -> Option<Finding> {
    if seen.has_pull_requests.0 == Some(false) {
        let what = format!("{repo} takes no pull requests");
        let hint = "turn them on under Settings → Units, or take it out of `repos`";
        return Some(Finding::fail(name, what, hint));
    }
    if seen.is_ours_to_administer() {
        return None;
    }
    let what = format!(
        "we are no administrator of {repo}: the forge does not tell us everybody's role, nor its webhooks"
    );
    let hint = "give our account the role administrator in it; until then people whose role cannot be seen are refused";
    Some(Finding::warn(name, what, hint))
}

fn of_hook(name: &str, repo: &str, hook: &Hook) -> Option<Finding> {
    if hook.config["content_type"].as_str() == Some("form") {
        let what = format!("the webhook of {repo} sends forms, and we read JSON");
        let hint = "set its content type to application/json under Settings → Webhooks";
        return Some(Finding::fail(name, what, hint));
    }
    let heard = hook.events.0.as_deref().unwrap_or_default();
    let is_heard = |names: &&[&str]| heard.iter().any(|it| names.contains(&it.as_str()));
    let missed = EVENTS.iter().filter(|it| !is_heard(it));
    let missed: Vec<String> = missed.map(|it| format!("`{}`", it[0])).collect();
    if missed.is_empty() {
        return None;
    }
    let what = format!("the webhook of {repo} does not send {}", missed.join(", "));
    let hint = "tick them under Custom Events of the webhook under Settings → Webhooks";
    Some(Finding::fail(name, what, hint))
}
