//! Where events are sent, and the deliveries that carry them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::core::ids::RepoId;

/// The forges whose words the sandbox speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    #[default]
    GitHub,
    Forgejo,
}

/// Whose events a hook is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Subject {
    /// One repository's.
    Repo(RepoId),
    /// Those of all repositories an app has, and of its installations.
    App(u64),
}

/// Where events are sent.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Hook {
    pub(crate) id: u64,
    pub(crate) of: Subject,
    pub(crate) dialect: Dialect,
    pub(crate) url: String,
    pub(crate) secret: String,
    /// Whether its first delivery, which only says that it is there, was made.
    pub(crate) is_greeted: bool,
    /// Whether it is told anything.
    #[serde(default = "yes")]
    pub(crate) is_active: bool,
    /// What it is told, in Forgejo's words; a hook of GitHub's is told everything.
    #[serde(default)]
    pub(crate) events: Vec<String>,
    pub(crate) created_at: Timestamp,
}

fn yes() -> bool {
    true
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hook({}, {})", self.id, self.url)
    }
}

/// One event on its way to one hook. Its bytes are in a file of their own, named by its id.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) id: String,
    pub(crate) hook: u64,
    pub(crate) event: String,
    /// The finer name that Forgejo gives the event.
    #[serde(default)]
    pub(crate) event_type: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) state: DeliveryState,
    pub(crate) attempts: u32,
    pub(crate) created_at: Timestamp,
}

/// How far a delivery got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is", content = "status")]
pub(crate) enum DeliveryState {
    /// Still to be sent, perhaps again.
    Queued,
    /// The receiver answered with this status.
    Answered(u16),
    /// The receiver could not be reached, and is not tried again.
    Lost,
}
