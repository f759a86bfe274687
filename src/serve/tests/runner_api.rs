//! What jobs may ask, with which token.

use axum::http::{Method, header};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::*;
use crate::core::job::{JobEnd, Report};
use crate::core::outcome::Outcome;
use crate::core::token;
use crate::git::{Identity, Mirror, NewCommit};

impl Stage {
    /// Calls the API with the token of a job.
    async fn call(&self, job: &JobSpec, (method, path): (Method, &str), body: Value) -> Answer {
        let key = &self.server.token_key;
        let token = token::mint(key, &job.key, Timestamp::now(), token::TIME_TO_LIVE);
        let bearer = format!("Bearer {}", token.expose_secret());
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header(header::AUTHORIZATION, bearer)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()));
        self.ask(request.unwrap()).await
    }

    async fn get(&self, job: &JobSpec, path: &str) -> Answer {
        self.call(job, (Method::GET, path), Value::Null).await
    }

    async fn post(&self, job: &JobSpec, path: &str, body: Value) -> Answer {
        self.call(job, (Method::POST, path), body).await
    }

    /// A repository's mirror with one commit on `main`.
    async fn mirror(&self, id: u64) {
        let folder = Mirror::folder(&self.server.app.mirrors, &repo(id));
        let mirror = Mirror::open(&folder, None).await.unwrap();
        let new = NewCommit {
            parent: None,
            files: &[("main.tf".to_owned(), Vec::new())],
            message: "first",
            by: Identity {
                name: "ada",
                email: "ada@acme.example",
            },
        };
        let commit = mirror.write_commit(new).await.unwrap();
        let heads = folder.join("refs/heads");
        std::fs::create_dir_all(&heads).unwrap();
        std::fs::write(heads.join("main"), format!("{commit}\n")).unwrap();
    }
}

fn report() -> Report {
    Report {
        outcome: Outcome::Done,
        cancelled: false,
        plans: Vec::new(),
        applied: Vec::new(),
        error: None,
        survey: None,
    }
}

const CALLS: [(&str, &str); 5] = [
    ("GET", "/runner/job"),
    ("POST", "/runner/beat"),
    ("POST", "/runner/gate"),
    ("POST", "/runner/end"),
    ("GET", "/runner/git/repo.git/info/refs"),
];

#[tokio::test]
async fn nothing_is_answered_without_a_token_of_ours() {
    let stage = Stage::new().await;
    stage.started(&plan_job(1), Timestamp::now()).await;
    for (method, path) in CALLS {
        for bearer in ["", "Bearer", "Bearer ", "Bearer garbage", "Basic YTpi"] {
            let request = Request::builder().method(method).uri(path);
            let request = request.header(header::AUTHORIZATION, bearer);
            let answer = stage.ask(request.body("{}".into()).unwrap()).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path} {bearer:?}");
        }
        let request = Request::builder().method(method).uri(path);
        let answer = stage.ask(request.body("{}".into()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn the_current_attempt_gets_its_own_spec() {
    let stage = Stage::new().await;
    stage.started(&plan_job(1), Timestamp::now()).await;
    let answer = stage.get(&plan_job(1), "/runner/job").await;
    let spec: JobSpec = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(spec, plan_job(1));
}

#[tokio::test]
async fn an_older_attempt_is_refused_everything() {
    let stage = Stage::new().await;
    stage.started(&plan_job(1), Timestamp::now()).await;
    stage.started(&plan_job(2), Timestamp::now()).await;
    for (method, path) in CALLS {
        let method = method.parse().unwrap();
        let body = serde_json::to_value(report()).unwrap();
        let answer = stage.call(&plan_job(1), (method, path), body).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
    let older = stage.store().jobs.find(&plan_job(1).key).await.unwrap();
    assert_eq!(older.unwrap().ended_at, None);
}

#[tokio::test]
async fn a_job_that_ended_may_only_say_so_again() {
    let stage = Stage::new().await;
    stage.started(&plan_job(1), Timestamp::now()).await;
    let body = serde_json::to_value(report()).unwrap();
    for _ in 0..2 {
        let answer = stage.post(&plan_job(1), "/runner/end", body.clone()).await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
    }
    let events = stage.store().inbox.counts().await.unwrap().queued;
    assert_eq!(events, 1, "its end is one event");
    for path in ["/runner/job", "/runner/git/repo.git/info/refs"] {
        let answer = stage.get(&plan_job(1), path).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn the_end_of_a_job_that_was_given_up_is_refused() {
    let stage = Stage::new().await;
    let (job, now) = (plan_job(1), Timestamp::now());
    stage.started(&job, now).await;
    let lost = JobEnd::Lost {
        why: "It is gone.".to_owned(),
    };
    stage.store().jobs.end(&job.key, &lost, now).await.unwrap();
    let body = serde_json::to_value(report()).unwrap();
    for job in [job, plan_job(7)] {
        let answer = stage.post(&job, "/runner/end", body.clone()).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", job.key);
    }
}

#[tokio::test]
async fn a_job_that_only_plans_has_no_gate() {
    let stage = Stage::new().await;
    stage.started(&plan_job(1), Timestamp::now()).await;
    let body = json!({ "plans": [] });
    let answer = stage.post(&plan_job(1), "/runner/gate", body).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn what_a_job_says_it_is_doing_is_cut() {
    let stage = Stage::new().await;
    stage.started(&plan_job(1), Timestamp::now()).await;
    let body = json!({ "doing": "é".repeat(5000) });
    let answer = stage.post(&plan_job(1), "/runner/beat", body).await;
    assert_eq!(answer.status, StatusCode::OK);
    let job = stage.store().jobs.find(&plan_job(1).key).await.unwrap();
    assert_eq!(job.unwrap().doing.chars().count(), 200);
}

#[tokio::test]
async fn a_job_fetches_from_its_own_repository_alone() {
    let stage = Stage::new().await;
    stage.mirror(7).await;
    stage.mirror(8).await;
    stage.started(&plan_job(1), Timestamp::now()).await;
    let fetch = "info/refs?service=git-upload-pack";
    let own = stage
        .get(&plan_job(1), &format!("/runner/git/repo.git/{fetch}"))
        .await;
    assert_eq!(own.status, StatusCode::OK);
    assert!(own.text.contains("refs/heads/main"), "{}", own.text);
    for other in [
        "8.git",
        "repo.git/../8.git",
        "repo.git/..%2F8.git",
        "repo.git%2F..%2F8.git",
    ] {
        let answer = stage
            .get(&plan_job(1), &format!("/runner/git/{other}/{fetch}"))
            .await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{other}");
    }
}

#[tokio::test]
async fn a_job_cannot_push() {
    let stage = Stage::new().await;
    stage.mirror(7).await;
    stage.started(&plan_job(1), Timestamp::now()).await;
    let asked = "/runner/git/repo.git/info/refs?service=git-receive-pack";
    let answer = stage.get(&plan_job(1), asked).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    let sent = "/runner/git/repo.git/git-receive-pack";
    let answer = stage.post(&plan_job(1), sent, Value::Null).await;
    assert!(answer.status.is_client_error(), "{}", answer.status);
}
