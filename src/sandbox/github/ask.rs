//! What every call of the API needs: who asks, about which repository, which page; and refusals in GitHub's form.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::core::ids::{CommentId, PullNumber, RepoId, UserId};
use crate::core::person::Role;
use crate::sandbox::Sandbox;
use crate::sandbox::acts::{Act, Denied};
use crate::sandbox::door::auth::{Caller, Shut};
use crate::sandbox::door::{Shared, auth};
use crate::sandbox::github::PREFIX;
use crate::sandbox::github::shape::Shape;
use crate::sandbox::model::Document;
use crate::sandbox::model::pull::PullKey;

/// An answer, or a refusal.
pub(crate) type Answer = Result<Response, Refused>;

/// One call by somebody with a token.
pub(crate) struct Ask {
    pub(crate) sandbox: Shared,
    pub(crate) caller: UserId,
    /// What the caller's token is good for.
    pub(crate) right: Caller,
    path: String,
    query: BTreeMap<String, String>,
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
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(Self {
            sandbox: sandbox.clone(),
            caller: caller.user,
            right: caller,
            path: format!("{PREFIX}{}", parts.uri.path()),
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

    pub(crate) fn shape<'a>(&'a self, document: &'a Document) -> Shape<'a> {
        shape(&self.sandbox, document)
    }

    /// The page of a list that the query asks for, with links to the others.
    pub(crate) fn page<T>(&self, items: &[T], shape: impl Fn(&T) -> Value) -> Response {
        let number = |name| self.query(name).and_then(|it| it.parse::<usize>().ok());
        let size = number("per_page").unwrap_or(30).clamp(1, 100);
        let page = number("page").unwrap_or(1).max(1);
        let last = items.len().div_ceil(size).max(1);
        let shown = items.iter().skip((page - 1) * size).take(size);
        let body: Value = shown.map(shape).collect();
        let mut links = Vec::new();
        if page > 1 {
            links.push((1, "first"));
            links.push(((page - 1).min(last), "prev"));
        }
        if page < last {
            links.push((page + 1, "next"));
            links.push((last, "last"));
        }
        if links.is_empty() {
            return Json(body).into_response();
        }
        let links = links.iter().map(|(page, name)| self.link(*page, name));
        let links = links.collect::<Vec<_>>().join(", ");
        ([(header::LINK, links)], Json(body)).into_response()
    }

    fn link(&self, page: usize, name: &str) -> String {
        let mut query = self.query.clone();
        query.insert("page".to_owned(), page.to_string());
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(query)
            .finish();
        let address = &self.sandbox.address;
        format!("<{address}{}?{query}>; rel=\"{name}\"", self.path)
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
            number: PullNumber(self.number("number")?),
        })
    }

    /// The comment the path names; it may not be there.
    pub(crate) fn comment(&self) -> Result<CommentId, Refused> {
        self.number("id").map(CommentId)
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64, Refused> {
        let text = self.ask.param(name)?;
        text.parse().map_err(|_| Refused::missing())
    }
}

pub(crate) fn shape<'a>(sandbox: &'a Sandbox, document: &'a Document) -> Shape<'a> {
    Shape {
        document,
        address: &sandbox.address,
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

/// An answer that is not what was asked for.
pub(crate) struct Refused {
    status: StatusCode,
    message: String,
    errors: Vec<Value>,
}

impl Refused {
    pub(crate) fn plain(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: Vec::new(),
        }
    }

    pub(crate) fn missing() -> Self {
        Self::plain(StatusCode::NOT_FOUND, "Not Found")
    }

    /// A 422 that says what is wrong.
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            message: format!("Validation Failed: {text}"),
            errors: vec![json!({ "code": "custom", "message": text })],
        }
    }

    /// A 422 in the form that reviews have: sentences alone.
    pub(crate) fn unprocessable(text: impl Into<String>) -> Self {
        Self {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            message: "Unprocessable Entity".to_owned(),
            errors: vec![Value::from(text.into())],
        }
    }
}

impl From<Shut> for Refused {
    fn from(shut: Shut) -> Self {
        match shut {
            Shut::Unknown => Self::plain(StatusCode::UNAUTHORIZED, "Bad credentials"),
            Shut::Suspended => Self::plain(
                StatusCode::FORBIDDEN,
                "This installation has been suspended",
            ),
        }
    }
}

impl From<Denied> for Refused {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Missing(_) => Self::missing(),
            Denied::Forbidden(text) => Self::plain(StatusCode::FORBIDDEN, text),
            Denied::Invalid(text) => Self::invalid(text),
            Denied::Stale => Self::plain(StatusCode::CONFLICT, denied.to_string()),
            Denied::NotMergeable(text) => Self::plain(StatusCode::METHOD_NOT_ALLOWED, text),
            Denied::Failed(error) => {
                let text = format!("{error:#}");
                tracing::error!(error = text, "the sandbox cannot answer");
                Self::plain(StatusCode::INTERNAL_SERVER_ERROR, text)
            }
        }
    }
}

impl From<anyhow::Error> for Refused {
    fn from(error: anyhow::Error) -> Self {
        Denied::Failed(error).into()
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": self.status.as_str(),
        });
        if !self.errors.is_empty() {
            body["errors"] = Value::from(self.errors);
        }
        (self.status, Json(body)).into_response()
    }
}

/// What the sandbox does not know is not there, as on GitHub.
pub(crate) async fn nothing_here() -> Refused {
    Refused::missing()
}
