//! The line to a server that is away, refuses, or answers late.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;

fn spec() -> Value {
    json!({
        "key": {"part": "r1/wave-1", "attempt": 1},
        "repo": {"forge": "github.com", "id": 1, "name": "acme/infra"},
        "commit": "a".repeat(40),
        "base": "b".repeat(40),
        "work": {"wave": {"rollout": "r1", "op": "tf-apply", "wave": 1, "members": []}},
        "parallelism": 1,
    })
}

/// Hangs up on the first `deaf` callers, then serves. The line to it.
async fn serve(router: Router, deaf: usize) -> Runner {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}/below/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for _ in 0..deaf {
            drop(listener.accept().await.unwrap());
        }
        let below = Router::new().nest("/below", router);
        axum::serve(listener, below).await.unwrap();
    });
    Runner::new(server.parse().unwrap(), "t0ken".into()).unwrap()
}

#[tokio::test]
async fn a_call_is_repeated_until_the_server_is_back() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let job = move || async move {
        match count.fetch_add(1, Ordering::SeqCst) {
            0 => Err(StatusCode::SERVICE_UNAVAILABLE),
            _ => Ok(Json(spec())),
        }
    };
    let runner = serve(Router::new().route("/runner/job", get(job)), 1).await;
    assert_eq!(runner.spec().await.unwrap().key.part, "r1/wave-1");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_refused_call_is_not_repeated() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let job = move || async move {
        count.fetch_add(1, Ordering::SeqCst);
        (StatusCode::CONFLICT, "attempt 2 has begun")
    };
    let runner = serve(Router::new().route("/runner/job", get(job)), 0).await;
    let error = runner.spec().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the server refused runner/job: 409 Conflict attempt 2 has begun"
    );
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn tries_end_before_the_lease_does() {
    let calls = Arc::new(AtomicUsize::new(0));
    let beat = move || async move {
        match calls.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(Json(json!({"cancel": false, "lease_seconds": 1}))),
            _ => Err(StatusCode::BAD_GATEWAY),
        }
    };
    let runner = serve(Router::new().route("/runner/beat", post(beat)), 0).await;
    runner.beat("planning").await.unwrap();
    assert!(runner.patience() < Instant::now() + Duration::from_millis(900));
    let error = runner.beat("planning").await.unwrap_err().to_string();
    assert!(error.contains("502 Bad Gateway"), "{error}");
}

#[tokio::test]
async fn every_call_and_every_fetch_shows_the_jobs_token() {
    let job = |headers: HeaderMap| async move {
        match headers.get("authorization") {
            Some(it) if it == "Bearer t0ken" => Ok(Json(spec())),
            Some(_) | None => Err(StatusCode::UNAUTHORIZED),
        }
    };
    let runner = serve(Router::new().route("/runner/job", get(job)), 0).await;
    runner.spec().await.unwrap();
    let remote = runner.remote().unwrap();
    assert!(
        remote.url.ends_with("/below/runner/git/repo.git"),
        "{}",
        remote.url
    );
    let authorization = remote.authorization.unwrap();
    assert_eq!(authorization.expose_secret(), "Bearer t0ken");
}
