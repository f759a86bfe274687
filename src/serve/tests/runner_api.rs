//! What jobs may ask, with which token.

use axum::http::{Method, header};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::*;
use crate::core::job::{JobEnd, Report};
use crate::core::key::DerivedKey;
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

    /// Calls the API with whatever stands where a token should.
    async fn show(&self, bearer: Option<&str>, (method, path): (&str, &str)) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header(header::CONTENT_TYPE, "application/json");
        if let Some(bearer) = bearer {
            request = request.header(header::AUTHORIZATION, bearer);
        }
        let request = request.body(Body::from(body(path).to_string()));
        self.ask(request.unwrap()).await
    }

    async fn get(&self, job: &JobSpec, path: &str) -> Answer {
        self.call(job, (Method::GET, path), Value::Null).await
    }

    async fn post(&self, job: &JobSpec, path: &str, body: Value) -> Answer {
        self.call(job, (Method::POST, path), body).await
    }

    /// Every row of every table.
    async fn rows(&self) -> Vec<String> {
        let file = self.home.path().join("tidegate.db");
        let url = format!("sqlite:{}?mode=ro", file.display());
        let mut database = SqliteConnection::connect(&url).await.unwrap();
        const TABLES: &str = "SELECT name, (SELECT group_concat('quote(' || c.name || ')', '|| '' '' ||')
            FROM pragma_table_info(t.name) AS c) FROM sqlite_master AS t WHERE type = 'table' ORDER BY name";
        let tables: Vec<(String, String)> = sqlx::query_as(TABLES)
            .fetch_all(&mut database)
            .await
            .unwrap();
        let mut all = Vec::new();
        for (table, row) in tables {
            let select = format!("SELECT '{table} ' || {row} FROM {table}");
            let rows = sqlx::query_scalar(AssertSqlSafe(select));
            all.extend(rows.fetch_all(&mut database).await.unwrap());
        }
        all
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

/// Every route: how it is called, and whether it may be called again by a job that said its end.
const CALLS: [(&str, &str, StatusCode); 6] = [
    ("GET", "/runner/job", StatusCode::FORBIDDEN),
    ("POST", "/runner/beat", StatusCode::FORBIDDEN),
    ("POST", "/runner/gate", StatusCode::FORBIDDEN),
    ("POST", "/runner/end", StatusCode::NO_CONTENT),
    ("GET", FETCH, StatusCode::FORBIDDEN),
    (
        "POST",
        "/runner/git/repo.git/git-upload-pack",
        StatusCode::FORBIDDEN,
    ),
];

const FETCH: &str = "/runner/git/repo.git/info/refs?service=git-upload-pack";

/// What a route's own job would send.
fn body(path: &str) -> Value {
    match path {
        "/runner/beat" => json!({ "doing": "digging" }),
        "/runner/gate" => json!({ "plans": [] }),
        "/runner/end" => serde_json::to_value(report()).unwrap(),
        _ => Value::Null,
    }
}

fn bearer(key: &DerivedKey, job: &JobSpec, minted: Timestamp) -> Option<String> {
    let token = token::mint(key, &job.key, minted, token::TIME_TO_LIVE);
    Some(format!("Bearer {}", token.expose_secret()))
}

fn of_part(part: &str, attempt: u32) -> JobSpec {
    let mut job = plan_job(attempt);
    part.clone_into(&mut job.key.part);
    job
}

#[test]
fn the_calls_of_these_tests_are_all_routes_there_are() {
    let routes = include_str!("../runner_api/mod.rs");
    let mut routes: Vec<&str> = routes
        .split(".route(\"")
        .skip(1)
        .filter_map(|it| it.split(['"', '{']).next())
        .collect();
    routes.retain(|route| !CALLS.iter().any(|(_, path, _)| path.starts_with(route)));
    assert_eq!(routes, [""; 0]);
}

#[tokio::test]
async fn no_route_answers_who_is_not_a_current_job_and_nothing_changes() {
    let (stage, now) = (Stage::new().await, Timestamp::now());
    stage.mirror(7).await;
    let (ended, lost) = (of_part("ended", 1), of_part("lost", 1));
    let (older, newer) = (of_part("again", 1), of_part("again", 2));
    for job in [&ended, &lost, &older, &newer] {
        stage.started(job, now).await;
    }
    let queued = of_part("queued", 1);
    let jobs = &stage.store().jobs;
    let lane = Lane::of_pull(&pull());
    jobs.add(&queued, &lane, now).await.unwrap();
    jobs.end(&ended.key, &JobEnd::Said(report()), now)
        .await
        .unwrap();
    let why = "It is gone.".to_owned();
    let end = JobEnd::Lost { why };
    jobs.end(&lost.key, &end, now).await.unwrap();

    let ours = &stage.server.token_key;
    let theirs = MasterKey::new([8; 32]).for_tokens();
    let before = stage.rows().await;
    for (who, bearer, status) in [
        ("nobody", None, Some(401)),
        ("nothing", Some(String::new()), Some(401)),
        ("no token", Some("Bearer ".to_owned()), Some(401)),
        ("garbage", Some("Bearer garbage".to_owned()), Some(401)),
        ("a password", Some("Basic YTpi".to_owned()), Some(401)),
        ("another server's", bearer(&theirs, &newer, now), Some(401)),
        (
            "one that ran out",
            bearer(ours, &newer, now - token::TIME_TO_LIVE),
            Some(401),
        ),
        (
            "an unknown job",
            bearer(ours, &of_part("x", 1), now),
            Some(403),
        ),
        (
            "an attempt to come",
            bearer(ours, &of_part("again", 3), now),
            Some(403),
        ),
        ("an older attempt", bearer(ours, &older, now), Some(403)),
        ("a job not started", bearer(ours, &queued, now), Some(403)),
        ("a lost job", bearer(ours, &lost, now), Some(403)),
        ("an ended job", bearer(ours, &ended, now), None),
    ] {
        for (method, path, after_end) in CALLS {
            let answer = stage.show(bearer.as_deref(), (method, path)).await;
            let wanted = status.unwrap_or(after_end.as_u16());
            assert_eq!(answer.status.as_u16(), wanted, "{who} at {path}");
            assert!(!answer.text.contains("acme/infra"), "{who} at {path}");
        }
    }
    assert_eq!(stage.rows().await, before);
}

#[tokio::test]
async fn a_token_speaks_for_its_own_job_alone() {
    let (stage, now) = (Stage::new().await, Timestamp::now());
    stage.mirror(7).await;
    let (mine, other) = (of_part("mine", 1), of_part("other", 1));
    for job in [&mine, &other] {
        stage.started(job, now).await;
    }
    let found = async || stage.store().jobs.find(&other.key).await.unwrap().unwrap();
    let before = format!("{:?}", found().await);
    for (method, path, _) in CALLS {
        let method = method.parse().unwrap();
        stage.call(&mine, (method, path), body(path)).await;
    }
    assert_eq!(format!("{:?}", found().await), before);
    let ended = stage.store().jobs.find(&mine.key).await.unwrap().unwrap();
    assert!(ended.ended_at.is_some());
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
