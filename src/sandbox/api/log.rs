//! Puts refusals into the forge's form, and writes every request to an API with its answer into the journal.

use axum::Extension;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::sandbox::api::Refused;
use crate::sandbox::door::Shared;
use crate::sandbox::journal::RequestLine;
use crate::sandbox::model::hook::Dialect;

/// The largest body that is taken, in bytes: as much as GitHub's largest payload.
pub(crate) const LARGEST: usize = 25 << 20;

pub(crate) async fn log(
    State(sandbox): State<Shared>,
    Extension(dialect): Extension<Dialect>,
    request: Request,
    next: Next,
) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let path = format!("{}{}", dialect.prefix(), uri.path());
    let (parts, body) = request.into_parts();
    let Ok(asked) = to_bytes(body, LARGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let request = Request::from_parts(parts, Body::from(asked.clone()));
    let (mut parts, body) = next.run(request).await.into_parts();
    let Ok(mut answered) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    if let Some(refused) = parts.extensions.remove::<Refused>() {
        answered = dialect
            .refusal(&refused, &sandbox.address)
            .to_string()
            .into();
        let json = HeaderValue::from_static("application/json");
        parts.headers.insert(header::CONTENT_TYPE, json);
        parts.headers.remove(header::CONTENT_LENGTH);
    }
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
