//! Who is asking: a token in one of the ways that git, Terraform and API clients send it.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;

use crate::core::ids::{RepoId, UserId};
use crate::core::person::Role;
use crate::git::backend::Access;
use crate::sandbox::Sandbox;
use crate::sandbox::model::Document;
use crate::sandbox::model::app::InstallationToken;
use crate::sandbox::model::repo::Repo;

/// Whoever has a good token.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) user: UserId,
    /// The repositories an app's token is for; a person's is for all.
    only: Option<Vec<RepoId>>,
    /// What the token is good for, in Forgejo's words; empty is everything.
    scopes: Vec<String>,
}

impl Caller {
    /// What they may do in a repository by this token.
    pub(crate) fn role(&self, repo: &Repo) -> Role {
        match &self.only {
            Some(only) if !only.contains(&repo.id) => Role::None,
            Some(_) | None => repo.role(self.user),
        }
    }

    /// Whether the token may read, or else write, what Forgejo counts to that kind.
    pub(crate) fn has_scope(&self, kind: &str, access: Access) -> bool {
        let is_enough = |scope: &String| match scope.split_once(':') {
            Some(("write", it)) => it == kind,
            Some(("read", it)) => it == kind && access == Access::Read,
            _ => scope == "all",
        };
        self.scopes.is_empty() || self.scopes.iter().any(is_enough)
    }

    /// The repositories of an app's token; none for a person's.
    pub(crate) fn only(&self) -> Option<&[RepoId]> {
        self.only.as_deref()
    }
}

/// Why a token lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shut {
    /// None, or one that nobody has, or that has run out.
    Unknown,
    /// It is of an installation that an owner has suspended.
    Suspended,
}

/// The account whose token a request carries: `Bearer`, `token`, or a password of `Basic` under any user name.
pub(crate) async fn caller(sandbox: &Sandbox, headers: &HeaderMap) -> Result<Caller, Shut> {
    let secret = secret(headers).ok_or(Shut::Unknown)?;
    let document = sandbox.desk.read().await;
    if let Some(account) = document.account_by_token(&secret) {
        return Ok(Caller {
            user: account.id,
            only: None,
            scopes: account.scopes.clone(),
        });
    }
    let token = document.installation_token(&secret).ok_or(Shut::Unknown)?;
    app_caller(&document, token, Timestamp::now())
}

fn app_caller(
    document: &Document,
    token: &InstallationToken,
    now: Timestamp,
) -> Result<Caller, Shut> {
    let installation = document.installation(token.installation);
    let installation = installation.filter(|_| token.expires_at > now);
    let installation = installation.ok_or(Shut::Unknown)?;
    if installation.suspended_at.is_some() {
        return Err(Shut::Suspended);
    }
    let all = &installation.repos;
    let only = match &token.repos {
        Some(repos) => repos
            .iter()
            .filter(|it| all.contains(it))
            .copied()
            .collect(),
        None => all.clone(),
    };
    Ok(Caller {
        user: document.app(installation.app).bot,
        only: Some(only),
        scopes: Vec::new(),
    })
}

/// What stands in a request's `Authorization`, whatever the scheme.
pub(crate) fn secret(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "token" => Some(rest.trim().to_owned()),
        "basic" => password(rest.trim()),
        _ => None,
    }
}

fn password(encoded: &str) -> Option<String> {
    let pair = String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
    pair.split_once(':').map(|(_, it)| it.to_owned())
}

/// Lets nobody in, in the way git and Terraform understand.
pub(crate) fn refuse(why: Shut) -> Response {
    match why {
        Shut::Unknown => {
            let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"sandbox\"")];
            (StatusCode::UNAUTHORIZED, ask, "a token is needed\n").into_response()
        }
        Shut::Suspended => {
            let text = "the installation is suspended\n";
            (StatusCode::FORBIDDEN, text).into_response()
        }
    }
}
