//! Deliveries: who may send them, what they become, and that none of them does harm.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use http::{HeaderName, HeaderValue};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::core::config::server::{Account, ForgeKind, ForgeOptions};

const SECRET: &str = "tide";
/// The secret of the deliveries that a real Gitea sent.
const CAPTURED: &str = "s3cret";

fn forge() -> ServedForge {
    let options = ForgeOptions {
        kind: ForgeKind::Forgejo,
        url: "https://git.acme.example".parse().unwrap(),
        api_url: "https://git.acme.example/api/v1".parse().unwrap(),
        account: Account::Token {
            file: "token".into(),
        },
        webhook_secret_files: Vec::new(),
        repos: vec!["*/*".to_owned()],
    };
    ServedForge::new(options, vec![CAPTURED.into(), SECRET.into()]).unwrap()
}

fn signed(body: &[u8]) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body);
    hex(&mac.finalize().into_bytes())
}

/// Headers as Forgejo sends them, those of other forges that look alike with them.
fn headers((event, of_type): (&str, &str), body: &[u8]) -> HeaderMap {
    let signature = signed(body);
    let mut headers = HeaderMap::new();
    for brand in ["forgejo", "gitea", "gogs", "github"] {
        for (name, value) in [("event", event), ("event-type", of_type)] {
            insert(&mut headers, &format!("x-{brand}-{name}"), value);
        }
        insert(&mut headers, &format!("x-{brand}-delivery"), "d-1");
        if brand != "github" {
            insert(&mut headers, &format!("x-{brand}-signature"), &signature);
        }
    }
    insert(
        &mut headers,
        "x-hub-signature-256",
        &format!("sha256={signature}"),
    );
    headers
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    let name: HeaderName = name.parse().unwrap();
    headers.insert(name, HeaderValue::from_str(value).unwrap());
}

fn deliver(names: (&str, &str), payload: &Value) -> Result<Delivery, ReadError> {
    // Indented, as both send it.
    let body = serde_json::to_vec_pretty(payload).unwrap();
    ForgeKind::Forgejo.read(&headers(names, &body), &body, &forge())
}

/// What a delivery came to, in a word or two.
fn told(read: Result<Delivery, ReadError>) -> String {
    match read {
        Ok(Delivery {
            event: Ok(event), ..
        }) => event.name().to_owned(),
        Ok(Delivery {
            event: Err(why), ..
        }) => format!("ignored: {why}"),
        Err(error) => format!("refused: {error}"),
    }
}

fn outcome(names: (&str, &str), payload: &Value) -> String {
    told(deliver(names, payload))
}

const COMMENT: (&str, &str) = ("issue_comment", "pull_request_comment");
const PULL: (&str, &str) = ("pull_request", "pull_request");

/// The smallest delivery about a pull request.
fn about_pull(action: &str) -> Value {
    json!({
        "action": action, "number": 12,
        "pull_request": {"number": 12, "merged": false, "updated_at": "2026-11-30T20:15:00Z"},
        "repository": {"id": 7, "full_name": "acme/infra"},
        "sender": {"id": 1, "login": "ada"},
    })
}

fn comment_by(author: u64, sender: u64) -> Value {
    json!({
        "action": "created", "is_pull": true,
        "issue": {"number": 12, "pull_request": {"merged": false}},
        "comment": {
            "id": 99, "body": "/approve wave-1", "created_at": "2026-11-30T20:15:00Z", "issue_url": "",
            "html_url": "https://git.acme.example/acme/infra/pulls/12#issuecomment-99",
            "pull_request_url": "https://git.acme.example/acme/infra/pulls/12",
            "user": {"id": author, "login": "ada"},
        },
        "repository": {"id": 7, "full_name": "acme/infra"},
        "sender": {"id": sender, "login": "ada"},
    })
}

fn spec(name: &str, list: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/spec")
        .join(name);
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    whole[list].as_array().unwrap().clone()
}

static EXAMPLES: LazyLock<Vec<Value>> =
    LazyLock::new(|| spec("forgejo-webhook-examples.json.gz", "examples"));

fn names(example: &Value) -> (&str, &str) {
    let text = |key: &str| example[key].as_str().unwrap();
    (text("event"), text("type"))
}

/// What a published example must become; none when it is nothing we act on.
fn expected(of_type: &str, action: &str, payload: &Value) -> Option<&'static str> {
    match (of_type, action) {
        ("pull_request", "opened" | "reopened") => Some("pull-opened"),
        ("pull_request_sync", "synchronized") => Some("pull-pushed"),
        ("pull_request", "edited") if payload["changes"]["ref"].is_object() => {
            Some("pull-retargeted")
        }
        ("pull_request", "closed") => Some("pull-closed"),
        ("pull_request_comment", "created") => Some("commented"),
        (it, "reviewed") if it.starts_with("pull_request_review_") => Some("reviewed"),
        ("push", "") => Some("branch-pushed"),
        _ => None,
    }
}

#[test]
fn every_published_example_is_its_event_or_ignored_by_name() {
    assert_eq!(EXAMPLES.len(), 27);
    for example in EXAMPLES.iter() {
        let (name, of_type) = names(example);
        let action = example["action"].as_str().unwrap_or_default();
        let payload = &example["payload"];
        // Older servers name the event alone.
        for names in [(name, of_type), (name, "")] {
            let outcome = outcome(names, payload);
            match expected(of_type, action, payload) {
                Some(event) => assert_eq!(outcome, event, "{names:?} {action}"),
                None => assert!(
                    outcome.starts_with("ignored: "),
                    "{names:?} {action}: {outcome}"
                ),
            }
        }
    }
}

#[test]
fn what_a_real_gitea_sent_is_signed_and_read() {
    let told: Vec<String> = spec("gitea-captured.json.gz", "deliveries")
        .iter()
        .map(|it| {
            let sent: BTreeMap<String, String> =
                serde_json::from_value(it["headers"].clone()).unwrap();
            let mut headers = HeaderMap::new();
            for (name, value) in &sent {
                insert(&mut headers, name, value);
            }
            let body = it["body"].as_str().unwrap().as_bytes();
            told(ForgeKind::Forgejo.read(&headers, body, &forge()))
        })
        .collect();
    let expected = [
        "pull-opened",
        "branch-pushed",
        "commented",
        "reviewed",
        "branch-pushed",
        "pull-pushed",
        "pull-closed",
        "branch-pushed",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_delivery_without_a_good_signature_is_unsigned_whatever_else_it_bears() {
    let body = br#"{"action": "opened"}"#;
    let other = signed(b"other bytes");
    for value in ["", "sha256=", &format!("sha256={}", signed(body)), &other] {
        let mut headers = headers(PULL, body);
        for brand in ["forgejo", "gitea"] {
            insert(&mut headers, &format!("x-{brand}-signature"), value);
        }
        let read = ForgeKind::Forgejo.read(&headers, body, &forge());
        assert_eq!(read, Err(ReadError::Unsigned), "{value:?}");
    }
    let mut headers = headers(PULL, body);
    headers.remove("x-forgejo-signature");
    headers.remove("x-gitea-signature");
    let read = ForgeKind::Forgejo.read(&headers, body, &forge());
    assert_eq!(
        read,
        Err(ReadError::Unsigned),
        "signed as GitHub and Gogs do"
    );
}

#[test]
fn either_forges_own_signature_is_enough() {
    let body = br#"{"action": "hibernated"}"#;
    for removed in ["x-forgejo-signature", "x-gitea-signature"] {
        let mut headers = headers(PULL, body);
        headers.remove(removed);
        let read = ForgeKind::Forgejo.read(&headers, body, &forge());
        assert_eq!(told(read), "ignored: pull_request hibernated", "{removed}");
    }
}

#[test]
fn a_body_that_was_written_anew_is_unsigned() {
    let pretty = b"{\n  \"action\": \"opened\"\n}";
    let headers = headers(PULL, pretty);
    let read = ForgeKind::Forgejo.read(&headers, br#"{"action":"opened"}"#, &forge());
    assert_eq!(read, Err(ReadError::Unsigned));
}

#[test]
fn a_delivery_played_back_is_the_same_though_its_own_id_is_new() {
    let body = serde_json::to_vec_pretty(&about_pull("closed")).unwrap();
    let id = |delivery: &str| {
        let mut headers = headers(PULL, &body);
        for brand in ["forgejo", "gitea"] {
            insert(&mut headers, &format!("x-{brand}-delivery"), delivery);
        }
        ForgeKind::Forgejo
            .read(&headers, &body, &forge())
            .unwrap()
            .id
    };
    assert_eq!(id("d-1"), id("d-2"));
}

#[test]
fn what_happened_again_is_another_delivery() {
    let mut ids = BTreeSet::new();
    for (action, second) in [("closed", 1), ("reopened", 2), ("closed", 3), ("closed", 4)] {
        let mut payload = about_pull(action);
        payload["pull_request"]["updated_at"] = json!(format!("2026-11-30T20:15:0{second}Z"));
        ids.insert(deliver(PULL, &payload).unwrap().id);
    }
    let push = |before: &str, after: &str, repo_updated: &str| {
        let payload = json!({"ref": "refs/heads/main", "before": before.repeat(40), "after": after.repeat(40),
            "repository": {"id": 7, "full_name": "acme/infra", "updated_at": repo_updated}});
        deliver(("push", "push"), &payload).unwrap().id
    };
    ids.insert(push("a", "b", "2026-11-30T20:15:00Z"));
    ids.insert(push("b", "a", "2026-11-30T20:15:01Z"));
    ids.insert(push("a", "b", "2026-11-30T20:15:02Z"));
    assert_eq!(ids.len(), 7);
}

#[test]
fn a_form_is_refused_with_what_to_do() {
    let body = b"payload=%7B%7D";
    let mut headers = headers(PULL, body);
    insert(
        &mut headers,
        "content-type",
        "application/x-www-form-urlencoded",
    );
    let refused = ForgeKind::Forgejo
        .read(&headers, body, &forge())
        .unwrap_err();
    assert!(
        refused.to_string().contains("application/json"),
        "{refused}"
    );
}

#[test]
fn what_we_cannot_do_without_is_named_when_it_is_missing() {
    let without = |mut payload: Value, pointer: &str| {
        *payload.pointer_mut(pointer).unwrap() = Value::Null;
        payload
    };
    let cases = [
        (PULL, json!({"action": "opened"}), "a pull request number"),
        (
            PULL,
            without(about_pull("opened"), "/repository/id"),
            "a repository",
        ),
        (COMMENT, without(comment_by(1, 1), "/comment"), "a comment"),
        (
            COMMENT,
            without(comment_by(1, 1), "/comment/id"),
            "a comment id",
        ),
        (("push", "push"), json!({}), "a ref"),
    ];
    for ((name, of_type), payload, missing) in cases {
        let expected =
            format!("refused: the delivery cannot be read: a {of_type} delivery without {missing}");
        assert_eq!(outcome((name, of_type), &payload), expected);
    }
}

#[test]
fn a_gone_fork_and_nulls_everywhere_do_not_lose_a_pull_request() {
    let payload = json!({
        "action": "synchronized", "number": "12", "requested_reviewer": null, "review": null,
        "pull_request": {
            "body": null, "mergeable": null, "user": null, "head": {"repo": null, "sha": ""}, "title": [],
            "labels": null, "due_date": 7,
        },
        "repository": {"id": 7, "full_name": "acme/infra", "owner": null},
        "sender": {"id": -1, "login": "Ghost"},
    });
    let delivery = deliver(("pull_request", "pull_request_sync"), &payload).unwrap();
    let Ok(Event::PullPushed { pull, actor }) = delivery.event else {
        panic!("another event");
    };
    assert_eq!(
        (pull.repo.id.0, pull.number.0, actor.login.as_str()),
        (7, 12, "ghost")
    );
}

#[test]
fn a_comment_never_speaks_for_somebody_else_and_never_again() {
    let acted = |action: &str| {
        let mut payload = comment_by(1, 1);
        payload["action"] = json!(action);
        payload
    };
    let mut issue = comment_by(1, 1);
    issue["is_pull"] = json!(false);
    issue["issue"]["pull_request"] = Value::Null;
    issue["comment"]["pull_request_url"] = json!("");
    let mut by_actions = comment_by(1, 1);
    for who in ["/comment/user", "/sender"] {
        *by_actions.pointer_mut(who).unwrap() = json!({"id": -2, "login": "forgejo-actions"});
    }
    let cases = [
        (comment_by(1, 2), "created: who sent it is not who wrote it"),
        (by_actions, "created: who sent it is not who wrote it"),
        (acted("edited"), "edited: only new comments command"),
        (acted("deleted"), "deleted: only new comments command"),
        (issue, "created: on an issue, not on a pull request"),
    ];
    for (payload, why) in cases {
        let expected = format!("ignored: issue_comment {why}");
        assert_eq!(outcome(COMMENT, &payload), expected);
        assert_eq!(outcome(("issue_comment", ""), &payload), expected);
    }
}

#[test]
fn the_words_of_a_review_command_nothing() {
    let mut payload = about_pull("reviewed");
    payload["review"] = json!({"type": "pull_request_review_comment", "content": "/apply"});
    payload["comment"] = comment_by(1, 1)["comment"].clone();
    for names in [
        ("pull_request_comment", "pull_request_review_comment"),
        ("pull_request_comment", ""),
        ("pull_request_approved", "pull_request_review_approved"),
        ("pull_request_rejected", ""),
    ] {
        assert_eq!(outcome(names, &payload), "reviewed", "{names:?}");
    }
}

#[test]
fn a_new_title_starts_nothing() {
    let mut payload = about_pull("edited");
    payload["changes"] = json!({"title": {"from": "WIP: Deepen"}});
    assert!(outcome(PULL, &payload).starts_with("ignored: pull_request edited"));
}

#[test]
fn what_nobody_told_us_of_is_ignored_by_name() {
    let cases = [
        (PULL, about_pull("hibernated"), "pull_request hibernated"),
        (
            ("pull_request", "pull_request_label"),
            about_pull("label_updated"),
            "pull_request_label label_updated",
        ),
        (("tide_table", "tide_table"), json!({}), "tide_table"),
    ];
    for (names, payload, why) in cases {
        assert_eq!(outcome(names, &payload), format!("ignored: {why}"));
    }
}

proptest! {
    #[test]
    fn no_bytes_do_harm(
        body in proptest::collection::vec(any::<u8>(), 0..300),
        name in prop_oneof![
            Just("push"), Just("pull_request"), Just("pull_request_comment"), Just("issue_comment"), Just("")
        ],
    ) {
        let _ = ForgeKind::Forgejo.read(&headers((name, name), &body), &body, &forge());
    }

    #[test]
    fn no_odd_value_in_a_real_delivery_does_harm(at in 0usize..27, field in 0usize..12, odd in 0usize..6) {
        let example = &EXAMPLES[at];
        let mut payload = example["payload"].clone();
        let odd = [json!(null), json!(-1), json!("x"), json!([]), json!({}), json!(true)][odd].clone();
        if let Some(value) = payload.as_object_mut().unwrap().values_mut().nth(field) {
            *value = odd;
        }
        let _ = deliver(names(example), &payload);
    }
}
