//! Deliveries that a story sends itself, made from what the forge sent.

use std::fs;

use hmac::{Hmac, KeyInit, Mac};
use http::StatusCode;
use serde_json::{Value, json};
use sha2::Sha256;
use tidegate::core::key::hex;

use crate::world::World;
use crate::world::site::SECRET;

/// A delivery: what it tells of, its bytes, and the forge's id for it.
pub(crate) struct Letter {
    event: String,
    id: String,
    body: Vec<u8>,
}

impl Letter {
    /// A delivery as the forge sent it.
    pub(crate) fn of(event: &str, id: &str, body: Vec<u8>) -> Self {
        Self {
            event: event.to_owned(),
            id: id.to_owned(),
            body,
        }
    }

    /// A newer comment in the same place by the same person, as another delivery.
    pub(crate) fn saying(&self, text: &str) -> Self {
        let mut payload: Value = serde_json::from_slice(&self.body).unwrap();
        let comment = payload["comment"]["id"].as_u64().unwrap();
        payload["comment"]["id"] = json!(comment + 1000);
        payload["comment"]["body"] = json!(text);
        Self {
            event: self.event.clone(),
            id: format!("{}-told", self.id),
            body: serde_json::to_vec(&payload).unwrap(),
        }
    }

    /// The same words, written some days earlier.
    pub(crate) fn written_days_ago(&self, days: i64) -> Self {
        let mut payload: Value = serde_json::from_slice(&self.body).unwrap();
        let at = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * days);
        payload["comment"]["created_at"] = json!(at.to_string());
        Self {
            event: self.event.clone(),
            id: format!("{}-old", self.id),
            body: serde_json::to_vec(&payload).unwrap(),
        }
    }

    /// The same as another delivery.
    pub(crate) fn under_another_id(&self) -> Self {
        Self {
            event: self.event.clone(),
            id: format!("{}-again", self.id),
            body: self.body.clone(),
        }
    }

    /// The signature header under the secret that forge and server share.
    pub(crate) fn true_signature(&self) -> String {
        self.signature_under(SECRET)
    }

    /// The signature header under some secret.
    pub(crate) fn signature_under(&self, secret: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(&self.body);
        format!("sha256={}", hex(&mac.finalize().into_bytes()))
    }
}

impl World {
    /// What the forge sent of the newest comment.
    pub(crate) async fn letter_of_the_newest_comment(&self) -> Letter {
        let all = self.deliveries().await;
        let newest = all.iter().rfind(|it| it["event"] == "issue_comment");
        let id = newest.unwrap()["id"].as_str().unwrap().to_owned();
        let file = self.site.data().join(format!("deliveries/{id}.json"));
        let body = fs::read(file).unwrap();
        Letter::of("issue_comment", &id, body)
    }

    /// Sends a delivery under this signature header or without one, and answers the server's status.
    pub(crate) async fn deliver(&self, letter: &Letter, signature: Option<&str>) -> StatusCode {
        let request = reqwest::Client::new()
            .post(format!("http://{}/webhooks/github", self.place.listen))
            .header("Content-Type", "application/json")
            .header("X-GitHub-Event", &letter.event)
            .header("X-GitHub-Delivery", &letter.id);
        let request = match signature {
            Some(signature) => request.header("X-Hub-Signature-256", signature),
            None => request,
        };
        let answer = request.body(letter.body.clone()).send().await;
        answer.unwrap().status()
    }
}
