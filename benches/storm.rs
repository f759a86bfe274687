//! A storm of deliveries while jobs plan: what the door answers, what is stored of it, and what memory it takes.
//!
//!     cargo bench --bench storm [-- terraform|tofu]
//!
//! 500 signed deliveries a second, each on its own time however slow the answers are, first while nothing else goes on,
//! then for 20 seconds in which plan jobs of 60 roots follow each other. A delivery is a comment without a command:
//! stored before it is answered, and handled after it. A time counts from the moment the delivery was due.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod measure;
mod stage;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Client;
use sha2::Sha256;
use tidegate::core::key::hex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use measure::{in_seconds, median, print_machine, share};
use stage::plans::{Plans, env, estate, version};
use stage::{SECRET, Stage};

const ROOTS: usize = 60;
const A_SECOND: u32 = 500;
const IDLE: Duration = Duration::from_secs(8);
const STORM: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let tool = given.iter().find(|it| !it.starts_with("--"));
    let tool = tool.map_or("terraform", String::as_str);
    let width = std::thread::available_parallelism().map_or(2, usize::from);
    print_machine(&format!(", {}, {width} at once", version(tool)));

    let scratch = tempfile::tempdir().unwrap();
    let stage = Arc::new(Stage::start(&env(scratch.path())).await);
    let origin = scratch.path().join("origin");
    fs::create_dir(&origin).unwrap();
    let plans = Plans::new(&stage, &origin, &estate(tool, ROOTS), width);
    let target = Target::of(&stage);

    weather(&target, 0, Duration::from_secs(2)).await;
    let fresh = stage.memory();
    let idle = weather(&target, 1_000_000, IDLE).await;
    let after_idle = stage.memory();
    let (planned, over) = (AtomicU32::new(0), AtomicBool::new(false));
    let planning = async {
        while !over.load(Ordering::Relaxed) {
            let round = planned.fetch_add(1, Ordering::Relaxed);
            plans.job(&stage, round).await;
        }
    };
    let storm = async {
        let times = weather(&target, 2_000_000, STORM).await;
        over.store(true, Ordering::Relaxed);
        times
    };
    let (storm, ()) = tokio::join!(storm, planning);
    let after_storm = stage.memory();
    let sent = count(Duration::from_secs(2)) + count(IDLE) + count(STORM);

    for (what, times) in [("nothing else goes on", &idle), ("jobs plan", &storm)] {
        let [middle, late, last] = [0.5, 0.99, 1.0].map(|it| share(times, it) * 1e3);
        println!(
            "{A_SECOND} a second while {what}: p50 {middle:.2} ms, p99 {late:.2} ms, max {last:.1} ms"
        );
    }
    let ratio = share(&storm, 0.99) / share(&idle, 0.99);
    println!(
        "p99 while jobs plan beside p99 idle: {ratio:.1} (median {:.1})",
        median(&storm) / median(&idle)
    );
    let jobs = planned.into_inner();
    println!("jobs of {ROOTS} roots that ended meanwhile: {jobs}");
    let handled = handled(&stage).await;
    println!(
        "deliveries sent {sent}, stored and handled {handled}, lost {}",
        i64::from(sent) - handled
    );
    println!(
        "memory of the server: {fresh} MiB at rest, {after_idle} MiB after the idle part, {after_storm} MiB after the storm"
    );
}

/// Where the letters go, and who carries them.
#[derive(Clone)]
struct Target {
    url: String,
    client: Client,
}

impl Target {
    fn of(stage: &Stage) -> Self {
        Self {
            url: format!("http://{}/webhooks/github", stage.address),
            client: Client::new(),
        }
    }

    /// How long an answer takes, in seconds, from when the delivery was due.
    async fn deliver(self, number: u32, due: Instant) -> f64 {
        let body = body(number);
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex(&mac.finalize().into_bytes()));
        let sent = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .header("x-github-event", "issue_comment")
            .header("x-github-delivery", format!("d-{number}"))
            .header("x-hub-signature-256", signature)
            .body(body)
            .send();
        assert_eq!(sent.await.unwrap().status(), StatusCode::ACCEPTED);
        in_seconds(due.elapsed())
    }
}

/// Sends deliveries at their pace, and answers how long each took.
async fn weather(target: &Target, first: u32, how_long: Duration) -> Vec<f64> {
    let start = Instant::now();
    let mut under_way = JoinSet::new();
    for number in 0..count(how_long) {
        let due = start + Duration::from_secs(1) * number / A_SECOND;
        tokio::time::sleep_until(due).await;
        under_way.spawn(target.clone().deliver(first + number, due));
    }
    under_way.join_all().await
}

fn count(how_long: Duration) -> u32 {
    u32::try_from(how_long.as_secs()).unwrap() * A_SECOND
}

/// A comment that asks for nothing, as large as a forge's payload is; a thousand pull requests have them in turn.
fn body(number: u32) -> String {
    let padding = "harbour ".repeat(1000);
    // The pull requests of the jobs are others: what is said of these waits for no job.
    let pull = number % 1000 + 10_000;
    format!(
        r#"{{"action":"created","issue":{{"number":{pull},"body":"{padding}","pull_request":{{}}}},
        "comment":{{"id":{number},"body":"The tide is high.","created_at":"2026-12-01T06:00:00Z",
        "updated_at":"2026-12-01T06:00:00Z","html_url":"https://git.invalid/acme/infra/pull/{pull}#{number}",
        "user":{{"id":1,"login":"ada"}}}},
        "repository":{{"id":7,"full_name":"acme/infra"}},"sender":{{"id":1,"login":"ada"}}}}"#
    )
}

/// Waits until the server has handled all it took, and counts that.
async fn handled(stage: &Stage) -> i64 {
    let file = stage.home.path().join("data/tidegate.db");
    let pool = sqlx::SqlitePool::connect(&format!("sqlite:{}", file.display())).await;
    let pool = pool.unwrap();
    // The ends of the jobs are deliveries too, and the repository they tell of is nowhere to be read.
    let count = async |state: &str| -> i64 {
        let count = "SELECT count(*) FROM deliveries WHERE state = $1 AND sender <> '(own)'";
        let count = sqlx::query_scalar(count).bind(state);
        count.fetch_one(&pool).await.unwrap()
    };
    while count("queued").await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    count("done").await
}
