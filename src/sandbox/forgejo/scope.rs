//! What a token is good for: each call needs a scope of its kind, to read or to write.

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::git::backend::Access;
use crate::sandbox::api::Refused;
use crate::sandbox::door::{Shared, auth};

/// Refuses a call that its token is not good for. Who has no good token at all is refused by the call itself.
pub(crate) async fn check(State(sandbox): State<Shared>, request: Request, next: Next) -> Response {
    let access = match *request.method() {
        Method::GET | Method::HEAD => Access::Read,
        _ => Access::Write,
    };
    let needed = kind(request.uri().path());
    let caller = auth::caller(&sandbox, request.headers()).await.ok();
    match (caller, needed) {
        (Some(caller), Some(kind)) if !caller.has_scope(kind, access) => {
            let level = match access {
                Access::Read => "read",
                Access::Write => "write",
            };
            let text =
                format!("token does not have at least one of required scope(s): [{level}:{kind}]");
            Refused::plain(StatusCode::FORBIDDEN, text).into_response()
        }
        (Some(_) | None, Some(_) | None) => next.run(request).await,
    }
}

/// The kind of scope that a call needs, by its path below the API.
fn kind(path: &str) -> Option<&'static str> {
    let mut parts = path.trim_start_matches('/').split('/');
    match parts.next()? {
        "user" | "users" => Some("user"),
        "orgs" | "teams" => Some("organization"),
        "repos" => match parts.nth(2) {
            Some("issues") => Some("issue"),
            Some(_) | None => Some("repository"),
        },
        _ => None,
    }
}
