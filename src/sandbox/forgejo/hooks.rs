//! A repository's hooks over Forgejo's API: its administrators see and make them.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;

use crate::sandbox::acts::NewHook;
use crate::sandbox::api::{Answer, Here, Refused, read, repos};
use crate::sandbox::model::hook::Dialect;

/// The events a hook can be told one by one.
const SINGLE: [&str; 8] = [
    "create",
    "delete",
    "fork",
    "push",
    "repository",
    "wiki",
    "release",
    "package",
];

/// What a subscription to `issues` holds.
const OF_ISSUES: [&str; 5] = [
    "issues",
    "issue_assign",
    "issue_label",
    "issue_milestone",
    "issue_comment",
];

/// What a subscription to `pull_request` holds.
const OF_PULLS: [&str; 8] = [
    "pull_request",
    "pull_request_assign",
    "pull_request_label",
    "pull_request_milestone",
    "pull_request_comment",
    "pull_request_review",
    "pull_request_sync",
    "pull_request_review_request",
];

/// Every event that a hook with these subscriptions is told; without any, pushes alone.
pub(crate) fn heard(subscribed: &[&str]) -> Vec<String> {
    let asks = |name: &str| subscribed.iter().any(|it| it.eq_ignore_ascii_case(name));
    let of = |whole: &str, alone: &str, all: &[&'static str]| {
        let is_told = |it: &&&str| asks(whole) || asks(if **it == whole { alone } else { it });
        all.iter().filter(is_told).copied().collect::<Vec<_>>()
    };
    let mut heard: Vec<&str> = SINGLE.into_iter().filter(|it| asks(it)).collect();
    heard.extend(of("issues", "issues_only", &OF_ISSUES));
    heard.extend(of("pull_request", "pull_request_only", &OF_PULLS));
    if subscribed.is_empty() {
        heard.push("push");
    }
    heard.into_iter().map(str::to_owned).collect()
}

async fn admins_only(here: &Here) -> Result<(), Refused> {
    let text = "user should be an owner or a collaborator with admin write of a repository";
    let refused = Refused::plain(StatusCode::FORBIDDEN, text);
    here.require_admin(refused).await
}

pub(crate) async fn list(here: Here) -> Answer {
    admins_only(&here).await?;
    repos::hooks(here).await
}

pub(crate) async fn show(here: Here) -> Answer {
    admins_only(&here).await?;
    repos::hook(&here, here.ask.number("id")?, StatusCode::OK).await
}

#[derive(Deserialize)]
struct HookBody {
    #[serde(rename = "type")]
    kind: String,
    config: BTreeMap<String, String>,
    #[serde(default)]
    events: Vec<String>,
    /// A hook that nobody switches on is told nothing.
    #[serde(default)]
    active: bool,
}

pub(crate) async fn add(here: Here, body: Bytes) -> Answer {
    admins_only(&here).await?;
    let asked: HookBody = read(&body)?;
    if !["forgejo", "gitea", "gogs"].contains(&asked.kind.as_str()) {
        return Err(Refused::invalid(format!(
            "Invalid hook type: {}",
            asked.kind
        )));
    }
    for name in ["url", "content_type"] {
        if !asked.config.contains_key(name) {
            return Err(Refused::invalid(format!("Missing config option: {name}")));
        }
    }
    check_config(&asked.config)?;
    let text = |name: &str| asked.config.get(name).cloned().unwrap_or_default();
    let new = NewHook {
        dialect: Dialect::Forgejo,
        url: text("url"),
        secret: text("secret"),
        is_active: asked.active,
        events: heard_of(&asked.events),
    };
    repos::add_hook(&here, new).await
}

fn heard_of(events: &[String]) -> Vec<String> {
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    heard(&events)
}

fn check_config(config: &BTreeMap<String, String>) -> Result<(), Refused> {
    let is_json = |it: &String| it == "json";
    if !config.get("content_type").is_none_or(is_json) {
        return Err(Refused::invalid("Invalid content type"));
    }
    let is_address = |it: &String| url::Url::parse(it).is_ok();
    if !config.get("url").is_none_or(is_address) {
        return Err(Refused::invalid("Invalid url"));
    }
    Ok(())
}

#[derive(Deserialize)]
struct EditBody {
    #[serde(default)]
    config: BTreeMap<String, String>,
    #[serde(default)]
    events: Vec<String>,
    active: Option<bool>,
}

/// Events that are not named again are lost, and a secret cannot be changed: as on the real server.
pub(crate) async fn edit(here: Here, body: Bytes) -> Answer {
    admins_only(&here).await?;
    let asked: EditBody = read(&body)?;
    check_config(&asked.config)?;
    let id = here.ask.number("id")?;
    let act = here.act();
    act.edit_hook((here.repo, id), |hook| {
        if let Some(url) = asked.config.get("url") {
            hook.url.clone_from(url);
        }
        hook.events = heard_of(&asked.events);
        hook.is_active = asked.active.unwrap_or(hook.is_active);
    })
    .await?;
    repos::hook(&here, id, StatusCode::OK).await
}

pub(crate) async fn delete(here: Here) -> Answer {
    admins_only(&here).await?;
    let id = here.ask.number("id")?;
    here.act().delete_hook(here.repo, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Delivers a push that changes nothing.
pub(crate) async fn test(here: Here) -> Answer {
    admins_only(&here).await?;
    let id = here.ask.number("id")?;
    repos::hook(&here, id, StatusCode::OK).await?;
    here.act().test_hook(here.repo, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

#[cfg(test)]
mod tests {
    use super::heard;

    #[test]
    fn a_subscription_to_pull_requests_holds_their_comments_and_reviews() {
        let heard = heard(&["push", "pull_request"]);
        for event in ["push", "pull_request_comment", "pull_request_review"] {
            assert!(heard.iter().any(|it| it == event), "{heard:?}");
        }
        assert!(!heard.iter().any(|it| it == "issue_comment"), "{heard:?}");
    }

    #[test]
    fn a_subscription_to_pull_requests_alone_holds_no_pushes_to_them() {
        assert_eq!(heard(&["pull_request_only"]), ["pull_request"]);
    }

    #[test]
    fn a_hook_without_subscriptions_is_told_of_pushes() {
        assert_eq!(heard(&[]), ["push"]);
    }
}
