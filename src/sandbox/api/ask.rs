//! What every call of an API needs: who asks, by which forge's words, about which repository.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::core::ids::{CommentId, PullNumber, RepoId, UserId};
use crate::core::person::Role;
use crate::sandbox::acts::Act;
use crate::sandbox::api::{Refused, Words};
use crate::sandbox::door::auth::Caller;
use crate::sandbox::door::{Shared, auth};
use crate::sandbox::model::Document;
use crate::sandbox::model::hook::Dialect;
use crate::sandbox::model::pull::PullKey;

/// An answer, or a refusal.
pub(crate) type Answer = Result<Response, Refused>;

/// One call by somebody with a token.
pub(crate) struct Ask {
    pub(crate) sandbox: Shared,
    pub(crate) dialect: Dialect,
    pub(crate) caller: UserId,
    /// What the caller's token is good for.
    pub(crate) right: Caller,
    pub(super) path: String,
    pub(super) query: BTreeMap<String, String>,
    params: BTreeMap<String, String>,
}

/// One call about a repository that its caller may read.
pub(crate) struct Here {
    pub(crate) ask: Ask,
    pub(crate) repo: RepoId,
}

impl FromRequestParts<Shared> for Ask {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, sandbox: &Shared) -> Result<Self, Refused> {
        let caller = auth::caller(sandbox, &parts.headers).await?;
        let params = RawPathParams::from_request_parts(parts, sandbox).await;
        let params = params.map_err(|_| Refused::missing())?;
        let dialect = parts.extensions.get::<Dialect>().copied();
        let dialect = dialect.ok_or_else(Refused::missing)?;
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(Self {
            sandbox: sandbox.clone(),
            dialect,
            caller: caller.user,
            right: caller,
            path: format!("{}{}", dialect.prefix(), parts.uri.path()),
            query: url::form_urlencoded::parse(query).into_owned().collect(),
            params: params.iter().map(owned).collect(),
        })
    }
}

impl FromRequestParts<Shared> for Here {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, sandbox: &Shared) -> Result<Self, Refused> {
        let ask = Ask::from_request_parts(parts, sandbox).await?;
        let repo = {
            let document = sandbox.desk.read().await;
            let found = document.repo_by_name(ask.param("owner")?, ask.param("repo")?);
            let visible = found.filter(|it| ask.right.role(it) >= Role::Read);
            visible.ok_or_else(Refused::missing)?.id
        };
        Ok(Self { ask, repo })
    }
}

impl Ask {
    /// A part of the path, decoded.
    pub(crate) fn param(&self, name: &str) -> Result<&str, Refused> {
        let found = self.params.get(name);
        found.map(String::as_str).ok_or_else(Refused::missing)
    }

    /// A number in the path.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Refused> {
        self.param(name)?.parse().map_err(|_| Refused::missing())
    }

    /// A parameter of the query, decoded.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// The same caller, about to do something.
    pub(crate) fn act(&self) -> Act<'_> {
        Act {
            sandbox: &self.sandbox,
            actor: self.caller,
            now: Timestamp::now(),
        }
    }

    /// State in the words of the forge that is asked.
    pub(crate) fn words<'a>(&'a self, document: &'a Document) -> Box<dyn Words + Send + 'a> {
        self.dialect.words(document, &self.sandbox.address)
    }
}

impl Here {
    pub(crate) fn act(&self) -> Act<'_> {
        self.ask.act()
    }

    /// The pull request the path names; it may not be there.
    pub(crate) fn pull(&self) -> Result<PullKey, Refused> {
        Ok(PullKey {
            repo: self.repo,
            number: PullNumber(self.ask.number("number")?),
        })
    }

    /// The comment the path names; it may not be there.
    pub(crate) fn comment(&self) -> Result<CommentId, Refused> {
        self.ask.number("id").map(CommentId)
    }

    /// Lets only the repository's administrators on, and says so to others in that way.
    pub(crate) async fn require_admin(&self, refused: Refused) -> Result<(), Refused> {
        let document = self.ask.sandbox.desk.read().await;
        let role = self.ask.right.role(document.repo(self.repo));
        if role < Role::Admin {
            Err(refused)
        } else {
            Ok(())
        }
    }
}

/// Reads a body; an empty one is an object without fields.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    let body = if body.is_empty() { b"{}" } else { body };
    let value: Value = serde_json::from_slice(body)
        .map_err(|_| Refused::plain(StatusCode::BAD_REQUEST, "Problems parsing JSON"))?;
    serde_json::from_value(value).map_err(|error| {
        let text = format!("Invalid request.\n\n{error}");
        Refused::plain(StatusCode::UNPROCESSABLE_ENTITY, text)
    })
}

/// What the sandbox does not know is not there, as on a forge.
pub(crate) async fn nothing_here() -> Refused {
    Refused::missing()
}
