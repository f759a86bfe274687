//! The forges tidegate lives on. A new forge is a folder here and an arm in each match of this file.

pub mod github;

use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use jiff::Timestamp;
use secrecy::SecretString;

use crate::core::config::server::{ForgeKind, ForgeOptions};
use crate::core::effect::{Reaction, Status};
use crate::core::event::Event;
use crate::core::ids::{Actor, CommentId, DeliveryId, Pull, PullNumber, Repo, Sha};
use crate::core::person::{Review, Role};
use crate::core::remote::Remote;
use crate::core::rollout::pull::PullDetails;

/// A delivery that was checked and read: what happened, or why it is nothing we act on.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// The forge's own id: the same on redelivery.
    pub id: DeliveryId,
    pub event: Result<Event, Ignored>,
}

/// Why a delivery is nothing we act on; counted and logged by this name, never stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Ignored(pub String);

/// Why a delivery cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No signature, an empty one, or none of the secrets made it: 401, nothing stored.
    #[error("the delivery is not signed with a secret of this forge")]
    Unsigned,
    /// Signed, but not a delivery of this forge: 400.
    #[error("the delivery cannot be read: {0}")]
    Malformed(String),
}

impl ForgeKind {
    /// The kind's name in principals and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
        }
    }
}

/// What a forge can and cannot do; the core decides from this, never from the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest note, in characters.
    pub note_chars: usize,
    /// The longest status description, in characters.
    pub status_chars: usize,
    /// Whether an approving review names the commit it is about.
    pub reviews_name_commits: bool,
    /// Whether a comment that is only a bare `/approve` is swallowed as a quick action, so that notes print the prefixed form.
    pub swallows_bare_commands: bool,
}

/// Why a forge did not do what it was asked. Callers branch on these; the text never holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("{0} is not there")]
    NotFound(String),
    #[error("the forge refuses: {0}")]
    Forbidden(String),
    #[error("the forge limits our requests until {until}")]
    Limited { until: Timestamp },
    #[error("{0:#}")]
    Other(anyhow::Error),
}

/// A forge, in our words. What it cannot do is said by [`Limits`].
#[async_trait]
pub trait Forge: Send + Sync {
    /// The account we act as; asked once and remembered.
    async fn me(&self) -> Result<Actor, ForgeError>;
    async fn pull(&self, pull: &Pull) -> Result<PullDetails, ForgeError>;
    async fn open_pulls(&self, repo: &Repo) -> Result<Vec<PullNumber>, ForgeError>;
    /// Pull requests whose merge made `commit`, or that hold it.
    async fn pulls_of_commit(
        &self,
        repo: &Repo,
        commit: &Sha,
    ) -> Result<Vec<PullNumber>, ForgeError>;
    /// All pages, oldest first.
    async fn reviews(&self, pull: &Pull) -> Result<Vec<Review>, ForgeError>;
    async fn role(&self, repo: &Repo, actor: &Actor) -> Result<Role, ForgeError>;
    /// Writes our one note: found by its marker and our own author id, else created. Answers when the forge says it
    /// was last changed; an equal text is not written again.
    async fn upsert_note(&self, pull: &Pull, text: &str) -> Result<Timestamp, ForgeError>;
    /// Posts an answer unless one with this key is there.
    async fn reply(&self, pull: &Pull, key: &str, text: &str) -> Result<(), ForgeError>;
    async fn react(
        &self,
        pull: &Pull,
        comment: CommentId,
        reaction: Reaction,
    ) -> Result<(), ForgeError>;
    async fn set_status(
        &self,
        repo: &Repo,
        commit: &Sha,
        status: &Status,
    ) -> Result<(), ForgeError>;
    /// Merges at this head only.
    async fn merge(&self, pull: &Pull, head: &Sha) -> Result<(), ForgeError>;
    /// Where git finds the repository, with the right to fetch and to push the ledger.
    async fn remote(&self, repo: &Repo) -> Result<Remote, ForgeError>;
    /// The ref that holds a pull request's head in the repository itself.
    fn head_ref(&self, number: PullNumber) -> String;
    fn limits(&self) -> Limits;
}
