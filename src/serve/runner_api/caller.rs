//! Who calls the runner API, and why a call is not answered.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use secrecy::SecretString;

use crate::core::job::{JobKey, JobSpec};
use crate::core::token;
use crate::serve::Server;
use crate::store::Standing;

const OLDER: Denied = Denied::Over("a newer attempt took over\n");
/// The answer to a job that ended, or was given up as lost.
pub(super) const OVER: Denied = Denied::Over("this job is over\n");
/// The answer to a job that the store does not have.
pub(super) const UNKNOWN: Denied = Denied::Over("this job is not known\n");

/// The answer to a question of a job that changes nothing.
pub(super) const NO_GATE: Denied = Denied::Over("a job that only plans has no gate to ask at\n");

/// The job whose token came with a request: it runs, and is the newest attempt at its part.
pub(super) struct Current(pub(super) Box<JobSpec>);

/// A job that may say its end: one that runs, or one that said it before and did not hear that it arrived.
pub(super) struct Ending(pub(super) JobKey);

/// Why a job is not answered.
pub(super) enum Denied {
    /// No token, or not one of ours: 401.
    Unknown(String),
    /// A token of ours, but its job is over or superseded: 403.
    Over(&'static str),
    /// The same job's question is being decided: 503, the answer is there soon.
    Asking,
    /// 503: the same call may work later.
    Broken(anyhow::Error),
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        match self {
            Self::Unknown(why) => {
                let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
                (StatusCode::UNAUTHORIZED, challenge, why + "\n").into_response()
            }
            Self::Over(why) => (StatusCode::FORBIDDEN, why).into_response(),
            Self::Asking => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the gate is still being decided; ask again\n",
            )
                .into_response(),
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

impl FromRequestParts<Server> for Current {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Denied> {
        let job = proven(server, &parts.headers)?;
        match server.app.store.jobs.standing(&job).await? {
            Standing::Current(spec) => Ok(Self(spec)),
            Standing::Older => Err(OLDER),
            Standing::Ended | Standing::Over => Err(OVER),
            Standing::Unknown => Err(UNKNOWN),
        }
    }
}

impl FromRequestParts<Server> for Ending {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Denied> {
        let job = proven(server, &parts.headers)?;
        match server.app.store.jobs.standing(&job).await? {
            Standing::Current(_) | Standing::Ended => Ok(Self(job)),
            Standing::Older => Err(OLDER),
            Standing::Over => Err(OVER),
            Standing::Unknown => Err(UNKNOWN),
        }
    }
}

/// The job that a request's token was made for.
fn proven(server: &Server, headers: &HeaderMap) -> Result<JobKey, Denied> {
    let header = headers.get(header::AUTHORIZATION);
    let token = header
        .and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "))
        .ok_or_else(|| Denied::Unknown("a job token is needed".to_owned()))?;
    let token = SecretString::from(token.trim());
    token::verify(&server.token_key, &token, Timestamp::now())
        .map_err(|error| Denied::Unknown(error.to_string()))
}
