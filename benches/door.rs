//! How soon the webhook door answers, beside what it must do before: verify the signature and store the delivery.
//!
//!     cargo bench --bench door
//!
//! Idle is one delivery after the other. Under load a crowd of clients delivers without a pause while the server works
//! on what it has.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod measure;
mod stage;

use axum::http::{HeaderMap, StatusCode};
use futures::future::join_all;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use reqwest::Client;
use sha2::Sha256;
use tidegate::core::key::hex;
use tidegate::store::{Delivery, Store};

use measure::{median, print_machine, seconds, share};
use stage::{SECRET, Stage};

const IDLE: usize = 1000;
const CROWD: usize = 16;
const OF_EACH: usize = 250;

/// A delivery with its signature, and the number that makes it one of its own.
struct Letter {
    id: String,
    body: String,
    signature: String,
}

#[tokio::main]
async fn main() {
    print_machine("");
    let stage = Stage::start(&[]).await;
    let client = Client::new();
    for number in 0..50 {
        deliver(&stage, &client, &Letter::new(number)).await;
    }
    let (mut alone, mut idle) = (Vec::new(), Vec::new());
    let bare = bare_store(&stage).await;
    for number in 0..IDLE {
        let letter = Letter::new(1_000_000 + number);
        alone.push(seconds(verify_and_store(&stage, &bare, &letter)).await);
        idle.push(seconds(deliver(&stage, &client, &letter)).await);
    }
    let crowd = join_all((0..CROWD).map(|it| one_of_the_crowd(&stage, it))).await;
    let crowd = crowd.concat();
    for (what, times) in [
        ("verify and store alone", &alone),
        ("the door, idle", &idle),
        ("the door, 16 clients at once", &crowd),
    ] {
        let (middle, late) = (median(times) * 1e3, share(times, 0.99) * 1e3);
        println!("{what}: p50 {middle:.2} ms, p99 {late:.2} ms");
    }
    println!(
        "the idle door beside verify and store alone: {:.2}",
        median(&idle) / median(&alone)
    );
}

/// A store like the server's that nobody else uses.
async fn bare_store(stage: &Stage) -> Store {
    let file = stage.home.path().join("alone.db");
    Store::open(&format!("sqlite:{}", file.display()))
        .await
        .unwrap()
}

async fn verify_and_store(stage: &Stage, store: &Store, letter: &Letter) {
    let forge = &stage.forge;
    let read = forge
        .options
        .kind
        .read(&letter.headers(), letter.body.as_bytes(), forge);
    let delivery = read.unwrap();
    let sent = Delivery {
        forge: forge.options.host(),
        id: delivery.id,
    };
    let event = delivery.event.unwrap();
    store
        .inbox
        .file(&sent, &event, Timestamp::now())
        .await
        .unwrap();
}

async fn one_of_the_crowd(stage: &Stage, who: usize) -> Vec<f64> {
    let client = Client::new();
    let mut times = Vec::new();
    for number in 0..OF_EACH {
        let letter = Letter::new(2_000_000 + who * OF_EACH + number);
        times.push(seconds(deliver(stage, &client, &letter)).await);
    }
    times
}

async fn deliver(stage: &Stage, client: &Client, letter: &Letter) {
    let answer = client
        .post(format!("http://{}/webhooks/github", stage.address))
        .headers(letter.headers())
        .body(letter.body.clone())
        .send();
    assert_eq!(answer.await.unwrap().status(), StatusCode::ACCEPTED);
}

impl Letter {
    /// A pull request of its own, as large as a forge's payload is.
    fn new(number: usize) -> Self {
        let padding = "harbour ".repeat(3000);
        let body = format!(
            r#"{{"action":"opened","number":{number},"pull_request":{{"number":{number},"body":"{padding}"}},
            "repository":{{"id":7,"full_name":"acme/infra"}},"sender":{{"id":1,"login":"ada"}}}}"#
        );
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex(&mac.finalize().into_bytes()));
        Self {
            id: format!("d-{number}"),
            body,
            signature,
        }
    }

    fn headers(&self) -> HeaderMap {
        let pairs = [
            ("content-type", "application/json"),
            ("x-github-event", "pull_request"),
            ("x-github-delivery", &self.id),
            ("x-hub-signature-256", &self.signature),
        ];
        let pairs = pairs.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        HeaderMap::from_iter(pairs)
    }
}
