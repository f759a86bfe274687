//! Who can act on the sandbox, and how they prove it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::core::ids::{Login, UserId};
use crate::core::key::hex;

/// A user, a bot or an organization.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Account {
    pub(crate) id: UserId,
    pub(crate) login: Login,
    pub(crate) kind: AccountKind,
    pub(crate) email: Option<String>,
    /// An organization has none.
    pub(crate) token: Option<Token>,
    /// What the token is good for, in Forgejo's words, such as `write:issue`; empty is everything.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// Whether it administers the whole sandbox.
    #[serde(default)]
    pub(crate) is_admin: bool,
    pub(crate) created_at: Timestamp,
}

/// What an account is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AccountKind {
    Person,
    Bot,
    Organization,
}

/// A token, kept only as its SHA-256.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn of(secret: &str) -> Self {
        Self(hex(&Sha256::digest(secret.as_bytes())))
    }

    /// Whether `secret` is this token, in a time that does not depend on how much of it is right.
    pub(crate) fn is(&self, secret: &str) -> bool {
        Self::of(secret)
            .0
            .as_bytes()
            .ct_eq(self.0.as_bytes())
            .into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Account {
    /// The address commits are written under.
    pub(crate) fn address(&self) -> String {
        self.email
            .clone()
            .unwrap_or_else(|| format!("{}@users.sandbox.invalid", self.login))
    }
}
