//! What jobs may ask: their spec, a longer lease, the gate, and to say how they ended. Each by its own token alone.

mod caller;
mod git;
mod turn;

use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Extension, Json, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, routing::any};
use jiff::Timestamp;
use tower_http::timeout::TimeoutLayer;
use tracing::Instrument;

use crate::core::job::{Answer, Beat, BeatAnswer, JobEnd, JobSpec, Question, Report};
use crate::handlers::gate;
use crate::serve::Server;
use crate::serve::runner_api::caller::{Current, Denied, Ending, NO_GATE, OVER, UNKNOWN};
use crate::serve::runner_api::turn::Turns;
use crate::store::{Beaten, Ended};

/// The largest set of plans a job may send, in bytes.
const LARGEST: usize = 256 << 20;

/// The longest that is kept of what a job says it is doing, in characters.
const DOING: usize = 200;

/// How long a call may take: less than the two minutes after which a job drops it, so that the job hears why.
const LONGEST_CALL: Duration = Duration::from_secs(110);

/// The API below `/runner`. A fetch may take its time; calls may not.
pub(super) fn router(server: Server) -> Router {
    let limit = TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, LONGEST_CALL);
    Router::new()
        .route("/runner/job", get(spec))
        .route("/runner/beat", post(beat))
        .route("/runner/gate", post(ask))
        .route("/runner/end", post(end))
        .layer(limit)
        .route("/runner/git/{*path}", any(git::serve))
        .layer(DefaultBodyLimit::max(LARGEST))
        .layer(Extension(Turns::default()))
        .with_state(server)
}

async fn spec(Current(spec): Current) -> Json<JobSpec> {
    Json(*spec)
}

async fn beat(
    State(server): State<Server>,
    Current(spec): Current,
    Json(beat): Json<Beat>,
) -> Result<Json<BeatAnswer>, Denied> {
    let doing: String = beat.doing.chars().take(DOING).collect();
    let (jobs, now) = (&server.app.store.jobs, Timestamp::now());
    let cancel = match jobs.beat(&spec.key, &doing, now, server.lease()).await? {
        Beaten::Alive => false,
        Beaten::Cancel => true,
        Beaten::Over => return Err(OVER),
    };
    Ok(Json(BeatAnswer {
        cancel,
        lease_seconds: server.lease_seconds,
    }))
}

/// Answers the gate. What was begun is ended even if the job does not wait for it, so that nothing is half recorded.
async fn ask(
    State(server): State<Server>,
    Extension(turns): Extension<Turns>,
    Current(spec): Current,
    Json(question): Json<Question>,
) -> Result<Json<Answer>, Denied> {
    if !spec.work.applies() {
        return Err(NO_GATE);
    }
    let turn = turns.take(&spec.key).ok_or(Denied::Asking)?;
    let deciding = async move {
        let _turn = turn;
        gate::ask(&server.app, &spec, question, Timestamp::now()).await
    };
    let answer = tokio::spawn(deciding.in_current_span()).await??;
    Ok(Json(answer))
}

/// Takes a job's last word; said twice it is the same as once.
async fn end(
    State(server): State<Server>,
    Ending(job): Ending,
    Json(report): Json<Report>,
) -> Result<StatusCode, Denied> {
    let (jobs, end) = (&server.app.store.jobs, JobEnd::Said(report));
    match jobs.end(&job, &end, Timestamp::now()).await? {
        Ended::New | Ended::Known => Ok(StatusCode::NO_CONTENT),
        Ended::Unknown => Err(UNKNOWN),
    }
}
