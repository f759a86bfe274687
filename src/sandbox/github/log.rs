//! Writes every request to the API and its answer into the journal.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::sandbox::door::Shared;
use crate::sandbox::github::PREFIX;
use crate::sandbox::journal::RequestLine;

/// The largest body that is taken, in bytes: as much as GitHub's largest payload.
pub(crate) const LARGEST: usize = 25 << 20;

pub(crate) async fn log(State(sandbox): State<Shared>, request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let path = format!("{PREFIX}{}", uri.path());
    let (parts, body) = request.into_parts();
    let Ok(asked) = to_bytes(body, LARGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let request = Request::from_parts(parts, Body::from(asked.clone()));
    let (parts, body) = next.run(request).await.into_parts();
    let Ok(answered) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    sandbox.journal.request(RequestLine {
        method: method.as_str(),
        path: &path,
        query: uri.query().unwrap_or_default(),
        body: value(&asked),
        status: parts.status.as_u16(),
        answer: value(&answered),
    });
    Response::from_parts(parts, Body::from(answered))
}

/// A body as JSON, or as text where it is none.
fn value(bytes: &Bytes) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(bytes).into_owned()))
}
