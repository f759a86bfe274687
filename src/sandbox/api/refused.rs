//! An answer that is not what was asked for; how it reads is the dialect's.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::sandbox::acts::Denied;
use crate::sandbox::door::auth::Shut;

/// An answer that is not what was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// What a refusal is about, where forges put it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// What was asked breaks a rule.
    Invalid,
    /// The same, of a review.
    Unprocessable,
}

impl Refused {
    pub(crate) fn plain(status: StatusCode, text: impl Into<String>) -> Self {
        Self {
            status,
            kind: Kind::Plain,
            text: text.into(),
        }
    }

    pub(crate) fn missing() -> Self {
        Self::plain(StatusCode::NOT_FOUND, "Not Found")
    }

    /// A 422 that says what is wrong.
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self {
            kind: Kind::Invalid,
            ..Self::plain(StatusCode::UNPROCESSABLE_ENTITY, text)
        }
    }

    /// A 422 about a review.
    pub(crate) fn unprocessable(text: impl Into<String>) -> Self {
        Self {
            kind: Kind::Unprocessable,
            ..Self::plain(StatusCode::UNPROCESSABLE_ENTITY, text)
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
    /// Only the status: the API's own layer says the rest in the forge's form.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
