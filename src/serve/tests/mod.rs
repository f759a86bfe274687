//! The routers as forges, jobs and people meet them, over a real store.

mod health;
mod pages;
mod runner_api;
mod ticker;
mod webhook;
mod worker;

use std::collections::BTreeMap;

use axum::body::{Body, to_bytes};
use axum::http::HeaderMap;
use tempfile::TempDir;
use tower::ServiceExt;

use super::*;
use crate::core::config::server::{Account, ForgeKind, ForgeOptions};
use crate::core::event::Lane;
use crate::core::ids::{Attempt, ForgeHost, Pull, PullNumber, Repo, RepoId, Sha};
use crate::core::job::{JobKey, JobSpec, Work};
use crate::core::key::MasterKey;
use crate::executor::Executor;
use crate::executor::local::{Local, LocalOptions};
use crate::handlers::estates::Estates;
use crate::store::Store;

/// A server with an empty store that serves `acme/*` of two forges, and reaches none of them.
struct Stage {
    home: TempDir,
    server: Server,
    tally: Tally,
    finds: Finds,
    stop: CancellationToken,
}

impl Stage {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let executor = Local::open(LocalOptions {
            program: "tidegate".into(),
            server: "http://127.0.0.1:1".parse().unwrap(),
            folder: home.path().join("jobs"),
            plan_env: Vec::new(),
            apply_env: Vec::new(),
            plan_account: None,
            apply_account: None,
            grace: Duration::from_secs(1),
        });
        Self::with(home, Arc::new(executor.unwrap())).await
    }

    async fn with(home: TempDir, executor: Arc<dyn Executor>) -> Self {
        let url = format!("sqlite:{}", home.path().join("tidegate.db").display());
        let store = Store::open(&url).await.unwrap();
        let (forges, mirrors) = (Arc::new(BTreeMap::new()), home.path().join("mirrors"));
        let key = MasterKey::new([7; 32]);
        let server = Server {
            listen: "127.0.0.1:0".parse().unwrap(),
            listen_pages: "127.0.0.1:0".parse().unwrap(),
            app: App {
                store: store.clone(),
                forges: Arc::clone(&forges),
                mirrors: mirrors.clone(),
                estates: Estates::default(),
                digest_key: key.for_digests(),
                pages: "http://127.0.0.1:1".parse().unwrap(),
            },
            world: World {
                store,
                forges,
                mirrors,
                executor,
            },
            meters: BTreeMap::from([(repo(7).forge, Meter::default())]),
            served: Arc::new(vec![
                served("https://github.com", "tide"),
                served("https://git.acme.example", "ebb"),
            ]),
            token_key: key.for_tokens(),
            parallel: 4,
            lease_seconds: 60,
            name: "server".to_owned(),
        };
        Self {
            home,
            server,
            tally: Tally::default(),
            finds: Finds::default(),
            stop: CancellationToken::new(),
        }
    }

    fn store(&self) -> &Store {
        &self.server.app.store
    }

    /// Sends a request to where forges and jobs reach us.
    async fn ask(&self, request: Request<Body>) -> Answer {
        Answer::to(public(&self.server, &self.tally), request).await
    }

    /// Opens a page.
    async fn open(&self, path: &str) -> Answer {
        let request = Request::get(path).body(Body::empty()).unwrap();
        Answer::to(
            private(&self.server, (&self.tally, &self.finds), &self.stop),
            request,
        )
        .await
    }

    /// A job that was started at `at`.
    async fn started(&self, spec: &JobSpec, at: Timestamp) {
        let (jobs, lane) = (&self.store().jobs, Lane::of_pull(&pull()));
        jobs.add(spec, &lane, at).await.unwrap();
        let started = jobs.start_next(9, at, self.server.lease()).await.unwrap();
        assert_eq!(started.unwrap().spec, *spec);
    }
}

/// What a request was answered with.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    async fn to(router: Router, request: Request<Body>) -> Self {
        let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
        let bytes = to_bytes(body, 1 << 20).await.unwrap();
        Self {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

fn served(url: &str, secret: &str) -> ServedForge {
    let options = ForgeOptions {
        kind: ForgeKind::GitHub,
        url: url.parse().unwrap(),
        api_url: url.parse().unwrap(),
        account: Account::Token {
            file: "token".into(),
        },
        webhook_secret_files: Vec::new(),
        repos: vec!["acme/*".to_owned()],
    };
    ServedForge::new(options, vec![secret.into()]).unwrap()
}

fn repo(id: u64) -> Repo {
    Repo {
        forge: ForgeHost::try_from("github.com").unwrap(),
        id: RepoId(id),
        name: "acme/infra".try_into().unwrap(),
    }
}

fn pull() -> Pull {
    Pull {
        repo: repo(7),
        number: PullNumber(1),
    }
}

fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).unwrap()
}

fn plan_job(attempt: u32) -> JobSpec {
    JobSpec {
        key: JobKey {
            part: "github.com/7#1/aaaa/plan".to_owned(),
            attempt: Attempt(attempt),
        },
        repo: repo(7),
        commit: sha('a'),
        base: sha('b'),
        work: Work::Plan {
            pull: pull(),
            only: Vec::new(),
        },
        parallelism: 1,
    }
}

#[tokio::test]
async fn every_answer_names_its_request() {
    let stage = Stage::new().await;
    assert!(
        stage
            .open("/healthz")
            .await
            .headers
            .contains_key("x-request-id")
    );
}

#[tokio::test]
async fn a_part_that_ends_by_itself_stops_the_server() {
    let stop = CancellationToken::new();
    let mut tasks = Tasks::new();
    tasks.spawn(async { anyhow::bail!("a bug") });
    let stopped = stop.clone();
    tasks.spawn(async move {
        stopped.cancelled().await;
        Ok(())
    });
    assert!(finish(tasks, stop.clone()).await.is_err());
    assert!(stop.is_cancelled());
}
