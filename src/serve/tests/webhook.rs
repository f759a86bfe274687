//! Deliveries at the door.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::*;
use crate::core::key::hex;

const OPENED: &str = r#"{"action":"opened","number":1,"pull_request":{"number":1},
    "repository":{"id":7,"full_name":"acme/infra"},"sender":{"id":1,"login":"ada"}}"#;

fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

/// A delivery that says it is signed so; without a signature, one that says nothing.
fn delivery(path: &str, signature: Option<&str>, body: impl Into<Body>) -> Request<Body> {
    let mut request = Request::post(path)
        .header("content-type", "application/json")
        .header("x-github-event", "pull_request")
        .header("x-github-delivery", "d-1");
    if let Some(signature) = signature {
        request = request.header("x-hub-signature-256", signature);
    }
    request.body(body.into()).unwrap()
}

fn signed(path: &str, secret: &str) -> Request<Body> {
    let signature = signature(secret, OPENED.as_bytes());
    delivery(path, Some(&signature), OPENED)
}

impl Stage {
    async fn filed(&self) -> i64 {
        self.store().inbox.counts().await.unwrap().queued
    }
}

#[tokio::test]
async fn what_is_not_signed_with_our_secret_is_refused_and_not_stored() {
    let stage = Stage::new().await;
    let of_another_body = signature("tide", b"{}");
    let of_another_secret = signature("tidal", OPENED.as_bytes());
    let of_no_secret = signature("", OPENED.as_bytes());
    for claimed in [
        None,
        Some(""),
        Some("sha256="),
        Some(of_another_body.as_str()),
        Some(&of_another_secret),
        Some(&of_no_secret),
    ] {
        let answer = stage
            .ask(delivery("/webhooks/github", claimed, OPENED))
            .await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{claimed:?}");
    }
    assert_eq!(stage.filed().await, 0);
}

#[tokio::test]
async fn a_delivery_is_stored_once() {
    let stage = Stage::new().await;
    for said in ["filed\n", "known already\n"] {
        let answer = stage.ask(signed("/webhooks/github", "tide")).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED);
        assert_eq!(answer.text, said);
    }
    assert_eq!(stage.filed().await, 1);
    let text = stage.open("/metrics").await.text;
    for outcome in ["filed", "known"] {
        let line = format!("tidegate_deliveries_received_total{{outcome=\"{outcome}\"}} 1");
        assert!(text.contains(&line), "{text}");
    }
}

#[tokio::test]
async fn a_delivery_belongs_to_the_forge_whose_secret_signed_it() {
    let stage = Stage::new().await;
    stage.ask(signed("/webhooks/github", "ebb")).await;
    let inbox = &stage.store().inbox;
    let lease = SignedDuration::from_secs(30);
    let claimed = inbox
        .claim("worker", Timestamp::now(), lease)
        .await
        .unwrap();
    let lane = claimed.unwrap().event.lane();
    assert_eq!(lane.as_str(), "git.acme.example/7#1");
}

#[tokio::test]
async fn an_address_with_a_host_is_that_forges_alone() {
    let stage = Stage::new().await;
    let path = "/webhooks/github/git.acme.example";
    let answer = stage.ask(signed(path, "tide")).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert_eq!(stage.filed().await, 0);
    let answer = stage.ask(signed(path, "ebb")).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    assert_eq!(stage.filed().await, 1);
}

#[tokio::test]
async fn an_address_that_names_no_forge_of_ours_is_not_found() {
    let stage = Stage::new().await;
    for path in ["/webhooks/subversion", "/webhooks/github/else.example"] {
        let answer = stage.ask(signed(path, "tide")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let stage = Stage::new().await;
    let body = vec![b' '; (25 << 20) + 1];
    let signature = signature("tide", &body);
    let answer = stage
        .ask(delivery("/webhooks/github", Some(&signature), body))
        .await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
}
