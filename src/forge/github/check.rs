//! Whether GitHub takes our credentials, and what they let us do in the repositories we serve.

use crate::core::finding::Finding;
use crate::forge::check::Checkup;
use crate::forge::client::standing::{self, Hook, Manner};
use crate::forge::github::GitHub;
use crate::forge::github::app::check as app;

const MANNER: Manner = Manner {
    rights: "the right to read repositories (classic: `repo`)",
    of_repo: |_, _, _| None,
    of_hook: answered,
};

/// Asks who we are, and looks at the repositories; nothing else is asked of a GitHub that does not know us.
pub(in crate::forge) async fn check(github: &GitHub, checkup: &Checkup<'_>) -> Vec<Finding> {
    match &github.app {
        Some(app) => app::check(app, &github.client.api, checkup).await,
        None => standing::check(&github.client, checkup, &MANNER).await,
    }
}

/// How the newest delivery of a hook was answered, when not well.
fn answered(name: &str, repo: &str, hook: &Hook) -> Option<Finding> {
    let code = hook.last_response["code"].as_u64()?;
    if (200..300).contains(&code) {
        return None;
    }
    let what = format!("the last delivery of {repo} was answered {code}");
    let hint = match code {
        401 => "give the webhook a secret that stands in one of `webhook_secret_files`",
        _ => "look at Recent Deliveries under Settings → Webhooks",
    };
    Some(Finding::fail(name, what, hint))
}
