//! Whether GitHub takes our key, what the app may do and hears, where it delivers, and where it is installed.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::core::finding::Finding;
use crate::forge::ForgeError;
use crate::forge::check::Checkup;
use crate::forge::client::api::{Api, Call};
use crate::forge::github::app::App;
use crate::forge::github::wire;
use crate::forge::wire::{Maybe, User};

/// What we do, in GitHub's words; the manifest asks for the same.
const RIGHTS: [(&str, &str); 5] = [
    ("contents", "write"),
    ("issues", "write"),
    ("metadata", "read"),
    ("pull_requests", "write"),
    ("statuses", "write"),
];
/// What we must hear of.
const EVENTS: [&str; 4] = [
    "issue_comment",
    "pull_request",
    "pull_request_review",
    "push",
];

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct HookConfig {
    url: Maybe<String>,
}

/// Asks who we are, and looks at the repositories; nothing else is asked of a GitHub that does not know us.
pub(in crate::forge::github) async fn check(
    app: &App,
    api: &Api,
    checkup: &Checkup<'_>,
) -> Vec<Finding> {
    let name = checkup.name();
    let ourselves: wire::App = match app.ask(api, Call::get("/app")).await {
        Ok(ourselves) => ourselves,
        Err(error) => return vec![stranger(&name, &error)],
    };
    let slug = ourselves.slug.0.clone().unwrap_or_default();
    let mut findings = vec![Finding::ok(&name, format!("we are the app {slug} there"))];
    findings.extend(abilities(&name, &ourselves));
    findings.push(delivers(app, api, checkup).await);
    let repos = checkup.exact_repos();
    for repo in &repos {
        findings.push(installed(app, api, &name, repo).await);
    }
    if repos.is_empty() {
        findings.push(installations(app, api, &name).await);
    }
    findings
}

fn stranger(name: &str, error: &ForgeError) -> Finding {
    let hint = match error {
        ForgeError::Forbidden(_) | ForgeError::NotFound(_) => {
            "compare `app_id` with the app's settings page, and generate a new private key there"
        }
        ForgeError::Limited { .. } => "wait, and see who else uses this app",
        ForgeError::Other(_) => "see that `api_url` is right and that this machine may reach it",
    };
    Finding::fail(
        name,
        format!("it does not take us for the app: {error}"),
        hint,
    )
}

/// What the app may do and hears, as its owner set it.
fn abilities(name: &str, app: &wire::App) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lacking = lacking(app.permissions.0.as_ref());
    if !lacking.is_empty() {
        let what = format!("the app lacks {lacking}");
        let hint = "add it under Permissions & events on the app's settings page; each owner must accept it";
        findings.push(Finding::fail(name, what, hint));
    }
    let heard = app.events.0.iter().flatten();
    let heard: Vec<&str> = heard.map(String::as_str).collect();
    let missed = EVENTS.into_iter().filter(|it| !heard.contains(it));
    let missed = listed(missed.map(str::to_owned));
    if !missed.is_empty() {
        let what = format!("the app does not hear {missed}");
        let hint = "subscribe to it under Permissions & events on the app's settings page";
        findings.push(Finding::fail(name, what, hint));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(name, "the app may do and hears what we need"));
    }
    findings
}

/// The rights that are missing, as people find them on the settings page.
fn lacking(held: Option<&BTreeMap<String, String>>) -> String {
    let rank = |level: &str| {
        ["read", "write", "admin"]
            .iter()
            .position(|it| *it == level)
    };
    let has = |(right, level): &(&str, &str)| {
        let held = held.and_then(|it| it.get(*right));
        held.is_some_and(|it| rank(it) >= rank(level))
    };
    let missing = RIGHTS.into_iter().filter(|it| !has(it));
    listed(missing.map(|(right, level)| format!("{right}: {level}")))
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.map(|it| format!("`{it}`")).collect();
    names.join(", ")
}

async fn delivers(app: &App, api: &Api, checkup: &Checkup<'_>) -> Finding {
    let name = checkup.name();
    match app
        .ask::<HookConfig>(api, Call::get("/app/hook/config"))
        .await
    {
        Ok(config) => compare(&name, checkup.hook.as_str(), config.url.0.as_deref()),
        Err(error) => {
            let what = format!("it does not say where the app delivers: {error}");
            Finding::warn(name, what, "look at Webhook on the app's settings page")
        }
    }
}

fn compare(name: &str, wanted: &str, found: Option<&str>) -> Finding {
    let hint = format!("set the Webhook URL on the app's settings page to {wanted}");
    match found.map(|it| it.trim_end_matches('/')).unwrap_or_default() {
        found if found == wanted.trim_end_matches('/') => {
            Finding::ok(name, format!("the app delivers to {wanted}"))
        }
        "" => Finding::fail(name, "the app delivers nowhere", hint),
        found => {
            let what = format!("the app delivers to {found}, not to {wanted} below `public_url`");
            Finding::fail(name, what, hint)
        }
    }
}

/// Whether the app is installed on a repository, and may do there what it asks for.
async fn installed(app: &App, api: &Api, name: &str, repo: &str) -> Finding {
    let path = format!("/repos/{repo}/installation");
    match app.ask::<wire::Installation>(api, Call::get(&path)).await {
        Ok(found) => judge(name, repo, &found),
        Err(ForgeError::NotFound(_)) => {
            let what = format!("the app is not installed on {repo}");
            let hint = "add the repository on the installation's page, or take it out of `repos`";
            Finding::fail(name, what, hint)
        }
        Err(error) => {
            let what = format!("cannot see whether the app is installed on {repo}: {error}");
            Finding::fail(name, what, "try again")
        }
    }
}

fn judge(name: &str, place: &str, found: &wire::Installation) -> Finding {
    if found.suspended_at.0.is_some() {
        let what = format!("the app's installation on {place} is suspended");
        return Finding::fail(name, what, "have an owner unsuspend it");
    }
    let lacking = lacking(found.permissions.0.as_ref());
    if !lacking.is_empty() {
        let what = format!("the app's installation on {place} lacks {lacking}");
        let hint = "have an owner accept the app's new permissions on the installation's page";
        return Finding::fail(name, what, hint);
    }
    Finding::ok(name, format!("the app is installed on {place}"))
}

/// Where the app is installed at all; the first that is not as it should be stands for it.
async fn installations(app: &App, api: &Api, name: &str) -> Finding {
    let path = "/app/installations?per_page=100";
    let all: Vec<wire::Installation> = match app.ask(api, Call::get(path)).await {
        Ok(all) => all,
        Err(error) => {
            let what = format!("cannot see where the app is installed: {error}");
            return Finding::fail(name, what, "try again");
        }
    };
    let judged = |it: &wire::Installation| {
        let account = it.account.0.as_ref().and_then(User::actor);
        let account = account.map_or_else(|| "an account".to_owned(), |it| it.login.to_string());
        judge(name, &account, it)
    };
    let worst = all.iter().map(judged).max_by_key(|it| it.level);
    worst.unwrap_or_else(|| {
        let hint = "install it on the account that owns the repositories";
        Finding::fail(name, "the app is installed nowhere", hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::finding::Level;
    use serde_json::json;

    #[test]
    fn what_the_app_lacks_is_named() {
        let app: wire::App = serde_json::from_value(json!({
            "permissions": {"contents": "read", "issues": "write", "metadata": "read", "statuses": "admin"},
            "events": ["push", "pull_request", "issue_comment"],
        }))
        .unwrap();
        let said: Vec<_> = abilities("x", &app).into_iter().map(|it| it.what).collect();
        let expected = [
            "the app lacks `contents: write`, `pull_requests: write`",
            "the app does not hear `pull_request_review`",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_delivery_elsewhere_and_one_nowhere_fail() {
        let wanted = "https://tide.acme.example/webhooks/github";
        let cases = [
            (Some(wanted), Level::Ok),
            (
                Some("https://tide.acme.example/webhooks/github/"),
                Level::Ok,
            ),
            (
                Some("https://old.acme.example/webhooks/github"),
                Level::Fail,
            ),
            (Some(""), Level::Fail),
            (None, Level::Fail),
        ];
        for (found, level) in cases {
            assert_eq!(compare("x", wanted, found).level, level, "{found:?}");
        }
    }

    #[test]
    fn an_installation_that_is_suspended_or_did_not_accept_all_fails() {
        let rights: BTreeMap<_, _> = RIGHTS.into();
        let cases = [
            (json!({"permissions": rights}), "is installed on acme"),
            (
                json!({"permissions": rights, "suspended_at": "2026-11-30T20:15:00Z"}),
                "is suspended",
            ),
            (
                json!({"permissions": {"contents": "write"}}),
                "lacks `issues: write`",
            ),
        ];
        for (answer, expected) in cases {
            let read = serde_json::from_value(answer).unwrap();
            let said = judge("x", "acme", &read).what;
            assert!(said.contains(expected), "{said}");
        }
    }
}
