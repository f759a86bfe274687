//! Whether a server lives and is ready, and what it counts.

use sqlx::{Connection, SqliteConnection};

use super::*;
use crate::core::effect::Effect;
use crate::core::event::Event;
use crate::core::ids::DeliveryId;
use crate::forge::{self, Forge, Metered};
use crate::serve::health::INSTALLATION;

#[tokio::test]
async fn a_server_with_a_store_is_alive_and_ready() {
    let stage = Stage::new().await;
    for (path, said) in [("/healthz", "alive\n"), ("/readyz", "ready\n")] {
        let answer = stage.open(path).await;
        assert_eq!(
            (answer.status, answer.text.as_str()),
            (StatusCode::OK, said)
        );
    }
}

#[tokio::test]
async fn a_server_whose_store_does_not_answer_lives_and_is_not_ready() {
    let stage = Stage::new().await;
    let file = format!("sqlite:{}", stage.home.path().join("tidegate.db").display());
    let mut other = SqliteConnection::connect(&file).await.unwrap();
    sqlx::query("DROP TABLE counters")
        .execute(&mut other)
        .await
        .unwrap();
    for (path, status) in [
        ("/healthz", StatusCode::OK),
        ("/readyz", StatusCode::SERVICE_UNAVAILABLE),
    ] {
        assert_eq!(stage.open(path).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn the_public_address_says_which_installation_lives_there() {
    let stage = Stage::new().await;
    let request = Request::get("/healthz").body(Body::empty()).unwrap();
    let answer = stage.ask(request).await;
    assert_eq!(
        answer.headers[INSTALLATION],
        stage.server.app.digest_key.id()
    );
}

#[tokio::test]
async fn a_server_that_was_told_to_stop_is_alive_and_not_ready() {
    let stage = Stage::new().await;
    stage.stop.cancel();
    assert_eq!(stage.open("/healthz").await.status, StatusCode::OK);
    let answer = stage.open("/readyz").await;
    let wanted = (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    assert_eq!((answer.status, answer.text.as_str()), wanted);
}

#[tokio::test]
async fn metrics_count_what_waits() {
    let stage = Stage::new().await;
    let text = stage.open("/metrics").await.text;
    for name in ["deliveries_queued", "lanes_busy", "job_oldest_seconds"] {
        let line = format!("tidegate_{name} 0");
        assert!(text.lines().any(|it| it == line), "{line} in {text}");
    }
    stage.fill().await;
    let text = stage.open("/metrics").await.text;
    for line in [
        "tidegate_deliveries_queued 3",
        "tidegate_deliveries_dead 1",
        "tidegate_lanes_busy 2",
        "tidegate_effects_waiting 4",
        "tidegate_effects_given_up 1",
        "tidegate_jobs_running 1",
        "tidegate_jobs_queued 2",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} in {text}");
    }
    for name in ["delivery", "effect", "job"] {
        let line = format!("tidegate_{name}_oldest_seconds ");
        let age = text.lines().find_map(|it| it.strip_prefix(&line));
        let age: i64 = age.unwrap().parse().unwrap();
        assert!((3600..7200).contains(&age), "{name} {age}");
    }
}

impl Stage {
    /// An hour ago: a delivery was given up with five effects, of which one was given up too; of three more one is of
    /// another lane; of three jobs one was started.
    async fn fill(&self) {
        let (store, then) = (
            self.store(),
            Timestamp::now() - SignedDuration::from_hours(1),
        );
        let lease = SignedDuration::from_secs(1);
        for (id, number) in [("d-1", 1), ("d-2", 1), ("d-3", 1), ("d-4", 2)] {
            let number = PullNumber(number);
            let pull = Pull { number, ..pull() };
            let id = DeliveryId::try_from(id).unwrap();
            let stale = Event::NoteStale { pull };
            store.inbox.file_own(&id, &stale, then).await.unwrap();
        }
        let claimed = store.inbox.claim("worker", then, lease).await.unwrap();
        let reply = |ordinal| Effect::Reply {
            pull: pull(),
            key: format!("r-{ordinal}"),
            text: "No.".to_owned(),
        };
        let effects: Vec<Effect> = (0..5).map(reply).collect();
        let claimed = claimed.unwrap();
        let given_up = store.inbox.give_up(&claimed, "down", &effects, then);
        given_up.await.unwrap();
        let effect = store.outbox.claim("worker", then, lease).await.unwrap();
        let effect = effect.unwrap();
        let given_up = store.outbox.give_up(&effect, "refused", then);
        given_up.await.unwrap();
        self.started(&plan_job(1), then).await;
        for part in ["a", "b"] {
            let mut job = plan_job(1);
            part.clone_into(&mut job.key.part);
            let lane = Lane::of_pull(&pull());
            store.jobs.add(&job, &lane, then).await.unwrap();
        }
    }
}

/// How a forge answered that takes no more requests until then.
async fn limited(until: Timestamp) -> Meter {
    let headers = [
        ("x-ratelimit-remaining", "0".to_owned()),
        ("x-ratelimit-reset", until.as_second().to_string()),
    ];
    let answer = (
        StatusCode::FORBIDDEN,
        headers,
        "{\"message\":\"API rate limit exceeded\"}",
    );
    let router = Router::new().fallback(async || answer);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async { axum::serve(listener, router).await });
    let options = served(&address, "tide").options;
    let connection = forge::Connection {
        secret: "token".into(),
        http: reqwest::Client::new(),
        clock: Arc::new(Timestamp::now),
    };
    let forge = Metered::new(options.kind.connect(&options, connection).unwrap());
    forge.me().await.unwrap_err();
    forge.meter()
}

#[tokio::test]
async fn a_forges_limit_is_told_and_makes_nobody_unready() {
    let stage = Stage::new().await;
    let until = Timestamp::from_second(4_000_000_000).unwrap();
    let mut server = stage.server.clone();
    server.meters = BTreeMap::from([(repo(7).forge, limited(until).await)]);
    let open = async |path: &str| {
        let request = Request::get(path).body(Body::empty()).unwrap();
        Answer::to(
            private(&server, (&stage.tally, &stage.finds), &stage.stop),
            request,
        )
        .await
    };
    let ready = open("/readyz").await;
    assert_eq!(ready.status, StatusCode::OK);
    let wanted = format!("github.com limits our requests until {until}");
    assert!(ready.text.contains(&wanted), "{}", ready.text);
    let text = open("/metrics").await.text;
    for line in [
        "tidegate_forge_limited_until_seconds{forge=\"github.com\"} 4000000000",
        "tidegate_forge_calls_total{forge=\"github.com\",end=\"limited\"} 1",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} in {text}");
    }
}

#[tokio::test]
async fn every_metric_is_documented() {
    let page = include_str!("../../../docs/operating.md");
    let text = Stage::new().await.open("/metrics").await.text;
    let names = text.lines().filter_map(|it| it.strip_prefix("# TYPE "));
    let names: Vec<&str> = names.filter_map(|it| it.split(' ').next()).collect();
    assert!(names.len() >= 13, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("| `{name}")), "{name}");
    }
}

#[tokio::test]
async fn metrics_are_not_where_forges_reach_us() {
    let stage = Stage::new().await;
    for path in ["/metrics", "/", "/rollouts.json"] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        assert_eq!(
            stage.ask(request).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}
