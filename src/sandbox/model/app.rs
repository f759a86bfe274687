//! Apps: what acts in no person's name, where it is installed, and the tokens it was given.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::core::ids::{RepoId, UserId};
use crate::sandbox::model::account::Token;

/// An app. It proves itself with a private key, of which only the public half is here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct App {
    pub(crate) id: u64,
    pub(crate) slug: String,
    pub(crate) owner: UserId,
    /// The account it speaks as.
    pub(crate) bot: UserId,
    /// PEM.
    pub(crate) public_key: String,
    /// What it asks for: rights and their levels.
    pub(crate) permissions: BTreeMap<String, String>,
    /// How long a token of its installations is good.
    pub(crate) token_seconds: u32,
    pub(crate) created_at: Timestamp,
}

/// An app on an account, with some of the account's repositories.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Installation {
    pub(crate) id: u64,
    pub(crate) app: u64,
    pub(crate) account: UserId,
    pub(crate) repos: Vec<RepoId>,
    pub(crate) suspended_at: Option<Timestamp>,
    pub(crate) is_deleted: bool,
    pub(crate) created_at: Timestamp,
}

/// A token of an installation, for some of its repositories.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct InstallationToken {
    pub(crate) token: Token,
    pub(crate) installation: u64,
    /// None: all that the installation holds.
    pub(crate) repos: Option<Vec<RepoId>>,
    pub(crate) expires_at: Timestamp,
}
