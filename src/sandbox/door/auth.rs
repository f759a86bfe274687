//! Who is asking: a token in one of the ways that git, Terraform and API clients send it.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::core::ids::UserId;
use crate::sandbox::Sandbox;

/// The account whose token a request carries: `Bearer`, `token`, or a password of `Basic` under any user name.
pub(crate) async fn caller(sandbox: &Sandbox, headers: &HeaderMap) -> Option<UserId> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    let secret = match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "token" => rest.trim().to_owned(),
        "basic" => password(rest.trim())?,
        _ => return None,
    };
    let document = sandbox.desk.read().await;
    document.account_by_token(&secret).map(|it| it.id)
}

fn password(encoded: &str) -> Option<String> {
    let pair = String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
    pair.split_once(':').map(|(_, it)| it.to_owned())
}

/// Asks for a token in the way git and Terraform understand.
pub(crate) fn unauthorized() -> Response {
    let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"sandbox\"")];
    (StatusCode::UNAUTHORIZED, ask, "a token is needed\n").into_response()
}
