//! What jobs may ask: their spec, a longer lease, the gate, and to say how they ended. Each by its own token alone.

use axum::extract::{DefaultBodyLimit, FromRequestParts, Json, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, routing::any};
use jiff::Timestamp;
use secrecy::SecretString;

use crate::core::job::{Answer, Beat, BeatAnswer, JobEnd, JobKey, JobSpec, Question, Report};
use crate::core::token;
use crate::handlers::gate;
use crate::serve::{Server, runner_git};
use crate::store::{Beaten, Ended, Standing};

/// The largest set of plans a job may send, in bytes.
const LARGEST: usize = 256 << 20;

/// The API below `/runner`.
pub(super) fn router(server: Server) -> Router {
    Router::new()
        .route("/runner/job", get(spec))
        .route("/runner/beat", post(beat))
        .route("/runner/gate", post(ask))
        .route("/runner/end", post(end))
        .route("/runner/git/{*path}", any(runner_git::serve))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(server)
}

/// The job whose token came with a request: it runs, and is the newest attempt at its part.
pub(super) struct Current(pub(super) Box<JobSpec>);

/// Whoever showed a token of ours, whether or not their job still runs.
struct Bearer(JobKey);

/// Why a job is not answered.
pub(super) enum Denied {
    /// No token, or not one of ours: 401.
    Unknown(String),
    /// A token of ours, but its job is over or superseded: 403.
    Over(&'static str),
    /// 503: the same call may work later.
    Broken(anyhow::Error),
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        match self {
            Self::Unknown(why) => (StatusCode::UNAUTHORIZED, why + "\n").into_response(),
            Self::Over(why) => (StatusCode::FORBIDDEN, why).into_response(),
            Self::Broken(error) => {
                tracing::error!(error = format!("{error:#}"), "a job could not be answered");
                (
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the server cannot answer now; its log says why\n",
                )
                    .into_response()
            }
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Denied {
    fn from(error: E) -> Self {
        Self::Broken(error.into())
    }
}

impl FromRequestParts<Server> for Bearer {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Denied> {
        let header = parts
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|it| it.to_str().ok());
        let Some(text) = header.and_then(|it| it.strip_prefix("Bearer ")) else {
            return Err(Denied::Unknown("a job token is needed".to_owned()));
        };
        let token = SecretString::from(text.trim());
        let job = token::verify(&server.token_key, &token, Timestamp::now());
        job.map(Self)
            .map_err(|error| Denied::Unknown(error.to_string()))
    }
}

impl FromRequestParts<Server> for Current {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Denied> {
        let Bearer(job) = Bearer::from_request_parts(parts, server).await?;
        match server.app.store.jobs.standing(&job).await? {
            Standing::Current(spec) => Ok(Self(spec)),
            Standing::Older => Err(Denied::Over("a newer attempt took over\n")),
            Standing::Ended | Standing::Over => Err(Denied::Over("this job is over\n")),
            Standing::Unknown => Err(Denied::Over("this job is not known\n")),
        }
    }
}

async fn spec(Current(spec): Current) -> Json<JobSpec> {
    Json(*spec)
}

async fn beat(
    State(server): State<Server>,
    Current(spec): Current,
    Json(beat): Json<Beat>,
) -> Result<Json<BeatAnswer>, Denied> {
    let beaten = server
        .app
        .store
        .jobs
        .beat(&spec.key, &beat.doing, Timestamp::now(), server.lease())
        .await?;
    let cancel = match beaten {
        Beaten::Alive => false,
        Beaten::Cancel => true,
        Beaten::Over => return Err(Denied::Over("this job is over\n")),
    };
    Ok(Json(BeatAnswer {
        cancel,
        lease_seconds: server.lease_seconds,
    }))
}

async fn ask(
    State(server): State<Server>,
    Current(spec): Current,
    Json(question): Json<Question>,
) -> Result<Json<Answer>, Denied> {
    Ok(Json(
        gate::ask(&server.app, &spec, question, Timestamp::now()).await?,
    ))
}

/// Takes a job's last word; said twice it is the same as once.
async fn end(
    State(server): State<Server>,
    Bearer(job): Bearer,
    Json(report): Json<Report>,
) -> Result<StatusCode, Denied> {
    match server
        .app
        .store
        .jobs
        .end(&job, &JobEnd::Said(report), Timestamp::now())
        .await?
    {
        Ended::New | Ended::Known => Ok(StatusCode::NO_CONTENT),
        Ended::Unknown => Err(Denied::Over("this job is not known\n")),
    }
}
