//! What the forges' APIs share: who asks, about which repository, which page; what is answered alike; and refusals.
//!
//! A dialect has a router of its own below its prefix. What it says differently it says by [`Words`], by its own
//! handlers, and by how it puts a [`Refused`].

pub(crate) mod ask;
pub(crate) mod comments;
pub(crate) mod commits;
mod log;
mod page;
pub(crate) mod pulls;
mod refused;
pub(crate) mod repos;
pub(crate) mod reviews;
pub(crate) mod statuses;
pub(crate) mod words;

use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use serde_json::Value;

pub(crate) use crate::sandbox::api::ask::{Answer, Ask, Here, read};
pub(crate) use crate::sandbox::api::log::LARGEST;
pub(crate) use crate::sandbox::api::refused::{Kind, Refused};
pub(crate) use crate::sandbox::api::words::Words;

use crate::sandbox::door::Shared;
use crate::sandbox::model::Document;
use crate::sandbox::model::hook::Dialect;
use crate::sandbox::{forgejo, github};

impl Dialect {
    /// Where the API is, below the sandbox's address.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::GitHub => "/api/v3",
            Self::Forgejo => "/api/v1",
        }
    }

    fn words<'a>(self, document: &'a Document, address: &'a str) -> Box<dyn Words + Send + 'a> {
        match self {
            Self::GitHub => Box::new(github::Shape { document, address }),
            Self::Forgejo => Box::new(forgejo::Shape { document, address }),
        }
    }

    fn refusal(self, refused: &Refused, address: &str) -> Value {
        match self {
            Self::GitHub => github::refusal(refused),
            Self::Forgejo => forgejo::refusal(refused, address),
        }
    }
}

/// Every forge's API.
pub(crate) fn router(sandbox: &Shared) -> Router<Shared> {
    let dressed = |dialect: Dialect, router: Router<Shared>| {
        let router = router
            .fallback(ask::nothing_here)
            .layer(from_fn_with_state(sandbox.clone(), log::log))
            .layer(Extension(dialect));
        Router::new().nest(dialect.prefix(), router)
    };
    dressed(Dialect::GitHub, github::router())
        .merge(dressed(Dialect::Forgejo, forgejo::router(sandbox)))
}
