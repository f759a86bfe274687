//! A server with one job, as a job sees it: the runner API over a state the test can look at and change.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::{Request, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use url::Url;

use crate::core::ids::{
    Attempt, ForgeHost, Op, Pull, PullNumber, Repo, RepoId, RepoName, RolloutId, Root, Sha,
    WaveNumber,
};
use crate::core::job::{
    Answer, Beat, BeatAnswer, Clearance, ClearedMember, JobKey, JobSpec, Question, Report, Work,
};
use crate::core::plan::digest::subject_sha256;
use crate::core::plan::{PlanResult, Planned};

/// What the server knows of its job, and how it is to behave.
pub(super) struct State {
    repositories: PathBuf,
    spec: JobSpec,
    pub(super) answer: fn(&Question) -> Answer,
    pub(super) ends: Vec<Report>,
    /// How many ends find the server restarting.
    pub(super) ends_refused: usize,
    /// How many requests of git find the server restarting.
    pub(super) fetches_refused: usize,
    pub(super) cancels_apply: bool,
    pub(super) refuses_beats_of_apply: bool,
}

/// The server, and where it listens.
pub(super) struct Server {
    url: Url,
    state: Arc<Mutex<State>>,
}

type App = Shared<Arc<Mutex<State>>>;

impl Server {
    /// Serves a plan job about `repo.git` in this folder.
    pub(super) async fn start(folder: &Path, base: &str, head: &str) -> Self {
        let state = Arc::new(Mutex::new(State {
            repositories: folder.to_owned(),
            spec: spec(base, head),
            answer: wait,
            ends: Vec::new(),
            ends_refused: 0,
            fetches_refused: 0,
            cancels_apply: false,
            refuses_beats_of_apply: false,
        }));
        let router = Router::new()
            .route("/runner/job", get(job))
            .route("/runner/beat", post(beat))
            .route("/runner/gate", post(gate))
            .route("/runner/end", post(end))
            .route("/runner/git/{*path}", any(repository))
            .with_state(state.clone());
        let url = serve(router).await;
        Self { url, state }
    }

    pub(super) fn url(&self) -> Url {
        self.url.clone()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    pub(super) fn work_on_wave(&mut self, members: Vec<Root>) {
        self.spec.work = Work::Wave {
            rollout: RolloutId::try_from("r1").unwrap(),
            op: Op::tf_apply(),
            wave: WaveNumber(1),
            members,
        };
    }

    fn refuses_a_fetch(&mut self) -> bool {
        let is_refused = self.fetches_refused > 0;
        self.fetches_refused = self.fetches_refused.saturating_sub(1);
        is_refused
    }

    pub(super) fn plan_only(&mut self, root: &str) {
        self.spec.work = Work::Plan {
            pull: pull(),
            only: vec![Root::try_from(root).unwrap()],
        };
    }
}

/// A store of states that takes none; its address.
pub(super) async fn start_full_store() -> Url {
    let state = get(async || StatusCode::NOT_FOUND).post(async || StatusCode::INSUFFICIENT_STORAGE);
    serve(Router::new().route("/state", state))
        .await
        .join("state")
        .unwrap()
}

async fn serve(router: Router) -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url.parse().unwrap()
}

/// Somebody has to approve.
pub(super) fn wait(_: &Question) -> Answer {
    Answer::Wait {
        digest: None,
        why: "nobody approved yet".to_owned(),
    }
}

/// A member has no plan.
pub(super) fn fail(question: &Question) -> Answer {
    match &question.plans[0].result {
        PlanResult::Failed { why, .. } => Answer::Fail { why: why.clone() },
        PlanResult::Made(_) | PlanResult::Deferred { .. } => panic!("{question:?}"),
    }
}

/// All of it may be applied.
pub(super) fn clear(question: &Question) -> Answer {
    clear_as(question, |subject| subject)
}

/// Something else may be applied.
pub(super) fn clear_others(question: &Question) -> Answer {
    clear_as(question, |_| "0".repeat(64))
}

fn clear_as(question: &Question, change: fn(String) -> String) -> Answer {
    let member = |planned: &Planned| match &planned.result {
        PlanResult::Made(draft) => ClearedMember {
            root: planned.root.clone(),
            subject_sha256: change(subject_sha256(&draft.subject)),
        },
        PlanResult::Failed { .. } | PlanResult::Deferred { .. } => panic!("{planned:?}"),
    };
    Answer::Apply(Clearance {
        set: format!("jcs1-sha256:{}", "a".repeat(64))
            .try_into()
            .unwrap(),
        use_id: None,
        members: question.plans.iter().map(member).collect(),
        left_alone: Vec::new(),
    })
}

fn pull() -> Pull {
    Pull {
        repo: Repo {
            forge: ForgeHost::try_from("github.com").unwrap(),
            id: RepoId(1),
            name: RepoName::try_from("acme/infra").unwrap(),
        },
        number: PullNumber(7),
    }
}

fn spec(base: &str, head: &str) -> JobSpec {
    JobSpec {
        key: JobKey {
            part: "r1/wave-1".to_owned(),
            attempt: Attempt(1),
        },
        repo: pull().repo,
        commit: Sha::try_from(head).unwrap(),
        base: Sha::try_from(base).unwrap(),
        work: Work::Plan {
            pull: pull(),
            only: Vec::new(),
        },
        parallelism: 1,
    }
}

async fn job(Shared(state): App) -> Json<JobSpec> {
    Json(state.lock().unwrap().spec.clone())
}

async fn beat(Shared(state): App, Json(beat): Json<Beat>) -> Result<Json<BeatAnswer>, StatusCode> {
    let state = state.lock().unwrap();
    let is_applying = beat.doing.starts_with("applying");
    if is_applying && state.refuses_beats_of_apply {
        return Err(StatusCode::CONFLICT);
    }
    Ok(Json(BeatAnswer {
        cancel: is_applying && state.cancels_apply,
        lease_seconds: 60,
    }))
}

async fn gate(Shared(state): App, Json(question): Json<Question>) -> Json<Answer> {
    Json((state.lock().unwrap().answer)(&question))
}

async fn end(Shared(state): App, Json(report): Json<Report>) -> Result<Json<()>, StatusCode> {
    let mut state = state.lock().unwrap();
    if state.ends_refused > 0 {
        state.ends_refused -= 1;
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    state.ends.push(report);
    Ok(Json(()))
}

/// Git's own CGI program answers for the repository, to the job's token alone.
async fn repository(Shared(state): App, request: Request) -> Response {
    if state.lock().unwrap().refuses_a_fetch() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let (head, body) = request.into_parts();
    let header = |name: &str| {
        let value = head.headers.get(name).and_then(|it| it.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    if header("authorization") != "Bearer t0ken" {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let path = head.uri.path().strip_prefix("/runner/git").unwrap();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let mut backend = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &state.lock().unwrap().repositories)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", path)
        .env("QUERY_STRING", head.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    backend.stdin.take().unwrap().write_all(&body).unwrap();
    let said = backend.wait_with_output().unwrap().stdout;
    let at = said.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let mut answer = Response::new(said[at + 4..].to_vec().into());
    for line in String::from_utf8_lossy(&said[..at]).lines() {
        let (name, value) = line.split_once(": ").unwrap();
        let name: axum::http::HeaderName = name.parse().unwrap();
        answer.headers_mut().insert(name, value.parse().unwrap());
    }
    answer
}
