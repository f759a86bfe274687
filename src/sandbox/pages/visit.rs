//! Who opens a page and as whom they act; and that a form was sent from a page of the sandbox.

use std::net::IpAddr;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;

use crate::core::ids::{PullNumber, RepoId, UserId};
use crate::sandbox::acts::{Act, Denied};
use crate::sandbox::door::Shared;
use crate::sandbox::model::Document;
use crate::sandbox::model::pull::PullKey;

/// The cookie that says as whom somebody acts. It proves nothing: here everybody may act as anybody.
pub(super) const COOKIE: &str = "sandbox_login";

/// One visit of a page.
pub(super) struct Visit {
    pub(super) sandbox: Shared,
    pub(super) actor: Option<UserId>,
    pub(super) path: String,
    params: Vec<(String, String)>,
}

/// A visit that brings a form from a page of the sandbox.
pub(super) struct Posted(pub(super) Visit);

impl FromRequestParts<Shared> for Visit {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, sandbox: &Shared) -> Result<Self, StatusCode> {
        let params = RawPathParams::from_request_parts(parts, sandbox).await;
        let params = params.map_err(|_| StatusCode::NOT_FOUND)?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let params = params.iter().map(owned).collect();
        let actor = match login(&parts.headers) {
            Some(login) => {
                let document = sandbox.desk.read().await;
                document.account_by_login(login).map(|it| it.id)
            }
            None => None,
        };
        Ok(Self {
            sandbox: sandbox.clone(),
            actor,
            path: parts.uri.path().to_owned(),
            params,
        })
    }
}

impl FromRequestParts<Shared> for Posted {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, sandbox: &Shared) -> Result<Self, Response> {
        if !is_from_here(&parts.headers) {
            let text = "this form was not sent from a page of the sandbox\n";
            return Err((StatusCode::FORBIDDEN, text).into_response());
        }
        let visit = Visit::from_request_parts(parts, sandbox).await;
        visit.map(Self).map_err(IntoResponse::into_response)
    }
}

impl Visit {
    /// The repository the path names.
    pub(super) fn repo(&self, document: &Document) -> Result<RepoId, Denied> {
        let found = document.repo_by_name(self.param("owner"), self.param("repo"));
        found
            .map(|it| it.id)
            .ok_or(Denied::Missing("the repository"))
    }

    /// The pull request the path names.
    pub(super) fn pull(&self, document: &Document) -> Result<PullKey, Denied> {
        let repo = self.repo(document)?;
        let number = self.param("number").parse().map(PullNumber);
        let missing = Denied::Missing("the pull request");
        let Ok(number) = number else {
            return Err(missing);
        };
        let key = PullKey { repo, number };
        document.pull(key).map(|it| it.key).ok_or(missing)
    }

    /// The visitor, about to do something.
    pub(super) fn act(&self) -> Result<Act<'_>, Denied> {
        let nobody = || Denied::Forbidden("Pick who you act as first.".to_owned());
        Ok(Act {
            sandbox: &self.sandbox,
            actor: self.actor.ok_or_else(nobody)?,
            now: Timestamp::now(),
        })
    }

    fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

fn login(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get(header::COOKIE)?.to_str().ok()?;
    let mut pairs = cookies
        .split(';')
        .filter_map(|it| it.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value)
}

/// Whether a form's page is one of ours: its origin is the address it is sent to, and that is no name which somebody
/// else could point at this machine.
fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|it| it.to_str().ok());
    let (Some(origin), Some(host)) = (text(header::ORIGIN), text(header::HOST)) else {
        return false;
    };
    origin.strip_prefix("http://") == Some(host) && is_unmovable(host)
}

fn is_unmovable(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_counts_only_from_a_page_of_the_same_unmovable_address() {
        let cases = [
            (Some("http://127.0.0.1:80"), "127.0.0.1:80", true),
            (Some("http://localhost:4000"), "localhost:4000", true),
            (Some("http://[::1]:4000"), "[::1]:4000", true),
            (Some("http://evil.example"), "127.0.0.1:80", false),
            (Some("http://evil.example:80"), "evil.example:80", false),
            (Some("http://127.0.0.1:81"), "127.0.0.1:80", false),
            (Some("null"), "127.0.0.1:80", false),
            (None, "127.0.0.1:80", false),
        ];
        for (origin, host, counts) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(is_from_here(&headers), counts, "{origin:?} to {host}");
        }
    }
}
