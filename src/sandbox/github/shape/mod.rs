//! State in GitHub's words: one function per object of its API, the same in answers and webhooks.

pub(crate) mod account;
mod app;
mod commit;
mod pull;
pub(crate) mod repo;
pub(crate) mod talk;

use jiff::Timestamp;
use serde_json::Value;

use crate::core::person::Role;
use crate::sandbox::model::Document;

/// What shapes are made from.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) document: &'a Document,
    /// The sandbox's address, without a slash at its end.
    pub(crate) address: &'a str,
}

impl Shape<'_> {
    /// An address of the API: `path` starts with a slash.
    pub(crate) fn api(&self, path: &str) -> String {
        format!("{}/api/v3{path}", self.address)
    }

    /// A page: `path` starts with a slash.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }
}

/// GitHub tells seconds, no parts of them.
pub(crate) fn time(at: Timestamp) -> Value {
    Value::from(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The opaque id that GitHub gives everything beside its number.
pub(crate) fn node(kind: &str, id: impl std::fmt::Display) -> String {
    format!("{kind}_{id}")
}

pub(crate) fn permission(role: Role) -> &'static str {
    match role {
        Role::None => "none",
        Role::Read => "read",
        Role::Write => "write",
        Role::Admin => "admin",
    }
}
