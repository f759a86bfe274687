//! Webhooks, as a receiver gets them.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::core::key::hex;
use crate::sandbox::tests::{SECRET, World};

/// A receiver that takes everything.
pub(super) struct Receiver {
    pub(super) url: String,
    deliveries: UnboundedReceiver<(HeaderMap, Bytes)>,
}

impl Receiver {
    pub(super) async fn new() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(super) fn on(listener: TcpListener) -> Self {
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (sender, deliveries) = unbounded_channel();
        let app = Router::new().route("/hook", post(take)).with_state(sender);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, deliveries }
    }

    /// The next delivery's headers and bytes.
    pub(super) async fn raw(&mut self) -> (HeaderMap, Bytes) {
        let next = tokio::time::timeout(Duration::from_secs(30), self.deliveries.recv());
        next.await.expect("a delivery is on its way").unwrap()
    }

    /// The next delivery's event, action and payload.
    pub(super) async fn next(&mut self) -> (String, Value) {
        let (headers, bytes) = self.raw().await;
        let payload: Value = serde_json::from_slice(&bytes).unwrap();
        let event = headers["x-github-event"].to_str().unwrap();
        let name = match payload["action"].as_str() {
            Some(action) => format!("{event} {action}"),
            None => event.to_owned(),
        };
        (name, payload)
    }

    /// The next delivery of that event and action; what comes before it is dropped.
    pub(super) async fn wait_for(&mut self, wanted: &str) -> Value {
        loop {
            let (name, payload) = self.next().await;
            if name == wanted {
                return payload;
            }
        }
    }
}

async fn take(
    State(sender): State<UnboundedSender<(HeaderMap, Bytes)>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let _ = sender.send((headers, body));
    StatusCode::ACCEPTED
}

/// The hex signature of a delivery's bytes.
pub(super) fn signed(bytes: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(bytes);
    hex(&mac.finalize().into_bytes())
}

#[tokio::test]
async fn a_delivery_is_signed_over_its_raw_bytes() {
    let mut receiver = Receiver::new().await;
    let _world = World::with_hook(Some(receiver.url.clone())).await;
    let (headers, bytes) = receiver.raw().await;
    let signature = format!("sha256={}", signed(&bytes));
    assert_eq!(headers["x-hub-signature-256"], signature.as_str());
    assert_eq!(headers["x-github-event"], "ping");
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["x-github-delivery"].len(), 36);
}

#[tokio::test]
async fn what_happens_is_told_in_order() {
    let mut receiver = Receiver::new().await;
    let world = World::with_hook(Some(receiver.url.clone())).await;
    let (number, head) = world.pull("feature").await;
    let moved = world.push("feature", "more.txt", "more").await;
    let comments = format!("/issues/{number}/comments");
    world
        .post("grace", &comments, json!({ "body": "good" }))
        .await;
    let merge = format!("/pulls/{number}/merge");
    world
        .call("grace", Method::PUT, &merge, json!({ "sha": moved }))
        .await;
    let mut names = Vec::new();
    while names.last().is_none_or(|it| it != "pull_request closed") {
        let (name, payload) = receiver.next().await;
        if name == "pull_request synchronize" {
            assert_eq!(
                (&payload["before"], &payload["after"]),
                (&json!(head), &json!(moved))
            );
        }
        names.push(name);
    }
    let wanted = [
        "ping",
        "push",
        "push",
        "pull_request opened",
        "push",
        "pull_request synchronize",
        "issue_comment created",
        "pull_request closed",
    ];
    assert_eq!(names, wanted);
    assert_eq!(receiver.next().await.1["ref"], "refs/heads/main");
}

#[tokio::test]
async fn a_deleted_branch_is_told_with_zeros() {
    let mut receiver = Receiver::new().await;
    let world = World::with_hook(Some(receiver.url.clone())).await;
    world.push("main", "main.txt", "first").await;
    world.push("gone", "gone.txt", "gone").await;
    let delete = ["push", "SANDBOX/acme/infra.git", ":gone"];
    world.git("ada", "work", &delete).await;
    loop {
        let push = receiver.wait_for("push").await;
        if push["deleted"] == true {
            assert_eq!(push["after"], "0".repeat(40));
            return;
        }
    }
}

#[tokio::test]
async fn what_could_not_be_delivered_is_delivered_after_a_restart() {
    let reserved = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = reserved.local_addr().unwrap();
    drop(reserved);
    let mut world = World::with_hook(Some(format!("http://{address}/hook"))).await;
    let (number, _) = world.pull("feature").await;
    world.kill().await;
    let mut receiver = Receiver::on(TcpListener::bind(address).await.unwrap());
    let mut names = Vec::new();
    for _ in 0..4 {
        names.push(receiver.next().await.0);
    }
    assert_eq!(names, ["ping", "push", "push", "pull_request opened"]);
    assert_eq!(world.get("ada", "/pulls").await[0]["number"], number);
}

#[tokio::test]
async fn a_delivery_sent_again_has_the_same_id_and_bytes() {
    let mut receiver = Receiver::new().await;
    let world = World::with_hook(Some(receiver.url.clone())).await;
    let (headers, bytes) = receiver.raw().await;
    let id = headers["x-github-delivery"].to_str().unwrap();
    let url = format!("{}/sandbox/deliveries/{id}/redeliver", world.address);
    let answer = world.http.post(url).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 202);
    let (again, same) = receiver.raw().await;
    assert_eq!(again["x-github-delivery"], id);
    assert_eq!(bytes, same);
}
