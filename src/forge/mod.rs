//! The forges tidegate lives on. A new forge is a folder here and an arm in each match of this file.
//!
//! What each method of [`Forge`] asks (`{r}` is GitHub's and Forgejo's `/repos/{owner}/{repo}`, `{p}` GitLab's
//! `/projects/{id}`, `{m}` its `{p}/merge_requests/{iid}`). What a forge has no call for is a field of [`Limits`].
//!
//! | method | GitHub | GitLab | Forgejo |
//! |---|---|---|---|
//! | `me` | `GET /user`; of an app `GET /app`, `GET /users/{slug}[bot]` | `GET /user` | `GET /user` |
//! | `pull` | `GET {r}/pulls/{n}` | `GET {m}` | `GET {r}/pulls/{n}` |
//! | `changes_since` | `GET {r}/pulls?state=all&sort=updated` to the first older one, `GET {r}/issues/comments?since=` | `GET {p}/merge_requests?updated_after=`, `GET {p}/events?target_type=note&after=` | `GET {r}/pulls?state=all&sort=recentupdate` to the first older one, `GET {r}/issues/comments?since=` |
//! | `pulls_of_commit` | `GET {r}/commits/{sha}/pulls` | `GET {p}/repository/commits/{sha}/merge_requests` | `GET {r}/commits/{sha}/pull` (at most one) |
//! | `reviews` | `GET {r}/pulls/{n}/reviews` | `GET {m}/approvals`, `GET {p}/approvals` (`reset_approvals_on_push`); [`Limits::reviews_name_commits`] | `GET {r}/pulls/{n}/reviews` (unofficial and stale ones count as comments) |
//! | `role` | `GET {r}/collaborators/{login}/permission` | `GET {p}/members/all/{user id}` | `GET {r}/collaborators/{login}/permission`; when we are not its administrator `GET {r}`, `{r}/assignees`, `{r}/teams`, `/teams/{id}/members/{login}` |
//! | `upsert_note` | `GET`/`POST {r}/issues/{n}/comments`, `GET`/`PATCH {r}/issues/comments/{id}` | `GET`/`POST {m}/notes`, `GET`/`PUT {m}/notes/{id}` | as GitHub |
//! | `reply` | `GET`/`POST {r}/issues/{n}/comments` | `GET`/`POST {m}/notes`; [`Limits::swallows_bare_commands`] | as GitHub |
//! | `react` | `POST {r}/issues/comments/{id}/reactions` | `POST {m}/notes/{id}/award_emoji` | as GitHub |
//! | `set_status` | `GET {r}/commits/{sha}/statuses`, `POST {r}/statuses/{sha}` | `POST {p}/statuses/{sha}` (400 for the state it is in is success) | as GitHub (asks `state`, answers `status`) |
//! | `merge` | `PUT {r}/pulls/{n}/merge` (`sha`) | `PUT {m}/merge` (`sha`) | `GET {r}` (its own way to merge), `POST {r}/pulls/{n}/merge` (`head_commit_id`; 405 while it checks) |
//! | `remote` | `{url}/{owner}/{repo}.git` | `{url}/{path}.git` | `{url}/{owner}/{repo}.git` |
//! | `head_ref` | `refs/pull/{n}/head` | `refs/merge-requests/{iid}/head` | `refs/pull/{n}/head` |

mod check;
mod client;
pub mod forgejo;
pub mod github;
mod marker;
mod metered;
mod payload;
mod served;
mod signature;
mod wire;

use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use jiff::Timestamp;
use secrecy::SecretString;

use crate::core::config::server::{ForgeKind, ForgeOptions};
use crate::core::effect::{Reaction, Status};
use crate::core::event::Event;
use crate::core::finding::Finding;
use crate::core::ids::{Actor, CommentId, DeliveryId, Pull, PullNumber, Repo, Sha};
use crate::core::lost::Changes;
use crate::core::person::{Review, Role};
use crate::core::remote::Remote;
use crate::core::rollout::pull::PullDetails;

pub use check::Checkup;
pub use metered::{Meter, Metered};
pub use served::ServedForge;

/// A delivery that was checked and read: what happened, or why it is nothing we act on.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// The same when it is delivered again: the forge's own, or where a forge gives it a new one, what it holds.
    pub id: DeliveryId,
    pub event: Result<Event, Ignored>,
}

/// Why a delivery is nothing we act on; counted and logged by this name, never stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Ignored(pub String);

/// Why a delivery cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No signature, an empty one, or none of the secrets made it: 401, nothing stored.
    #[error("the delivery is not signed with a secret of this forge")]
    Unsigned,
    /// Signed, but not a delivery of this forge: 400.
    #[error("the delivery cannot be read: {0}")]
    Malformed(String),
}

/// Tells the time: what is renewed before it ends needs to know it again and again.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What it takes to speak to a forge.
#[derive(Clone)]
pub struct Connection {
    /// What the account's file holds.
    pub secret: SecretString,
    pub http: reqwest::Client,
    pub clock: Clock,
}

impl ForgeKind {
    /// The kind's name in principals and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::Forgejo => "forgejo",
        }
    }

    /// The kind of that name, as it stands in a webhook's address.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "github" => Some(Self::GitHub),
            "forgejo" | "gitea" => Some(Self::Forgejo),
            _ => None,
        }
    }

    /// Checks a delivery over its raw bytes, and only then reads it. What is about a repository that is not served
    /// is ignored.
    pub fn read(
        self,
        headers: &HeaderMap,
        body: &[u8],
        forge: &ServedForge,
    ) -> Result<Delivery, ReadError> {
        let delivery = match self {
            Self::GitHub => github::webhook::read(headers, body, forge)?,
            Self::Forgejo => forgejo::webhook::read(headers, body, forge)?,
        };
        Ok(Delivery {
            event: delivery.event.and_then(|it| forge.admit(it)),
            ..delivery
        })
    }

    /// Connects to the forge that `options` name; makes no call. Must be called inside a tokio runtime.
    pub fn connect(
        self,
        options: &ForgeOptions,
        connection: Connection,
    ) -> anyhow::Result<Arc<dyn Forge>> {
        match self {
            Self::GitHub => Ok(Arc::new(github::GitHub::new(options, connection)?)),
            Self::Forgejo => Ok(Arc::new(forgejo::Forgejo::new(options, connection)?)),
        }
    }

    /// Tells whether the forge takes our credentials, what they let us do there, and how far its clock is from ours.
    /// Writes nothing.
    pub async fn check(self, checkup: &Checkup<'_>, connection: Connection) -> Vec<Finding> {
        let clock = check::clock(checkup, &connection).await;
        let looked = match self {
            Self::GitHub => match github::GitHub::new(checkup.options, connection) {
                Ok(github) => Ok(github::check::check(&github, checkup).await),
                Err(error) => Err(error),
            },
            Self::Forgejo => match forgejo::Forgejo::new(checkup.options, connection) {
                Ok(forgejo) => Ok(forgejo::check::check(&forgejo, checkup).await),
                Err(error) => Err(error),
            },
        };
        let mut findings = looked.unwrap_or_else(|error| {
            let what = format!("{error:#}");
            vec![Finding::fail(
                checkup.name(),
                what,
                "mend its entry under `forges`",
            )]
        });
        findings.push(clock);
        findings
    }
}

/// What a forge can and cannot do; the core decides from this, never from the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The forge's name in the principals of approvals: `github` in `github:ada`.
    pub name: &'static str,
    /// The longest note, in characters; our hidden marker already subtracted.
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
    /// Asking again changes nothing until a person does something.
    #[error("the forge refuses: {0}")]
    Forbidden(String),
    #[error("the forge limits our requests until {until}")]
    Limited { until: Timestamp },
    /// The forge did not answer, or not in a way we understand: worth trying again.
    #[error("{0:#}")]
    Other(anyhow::Error),
}

/// A forge, in our words. What it cannot do is said by [`Limits`].
#[async_trait]
pub trait Forge: Send + Sync {
    /// The account we act as; asked once and remembered.
    async fn me(&self) -> Result<Actor, ForgeError>;
    /// Reads a pull request. Not found when its repository's name has gone to another repository since.
    async fn pull(&self, pull: &Pull) -> Result<PullDetails, ForgeError>;
    /// What changed of a repository at or after `since`, by the forge's own clock: pull requests of any state, the newest
    /// change first, and comments on pull requests (none on issues) that were written or edited, our own among them.
    /// Costs what changed, not what there is. May read a second more, never less.
    async fn changes_since(&self, repo: &Repo, since: Timestamp) -> Result<Changes, ForgeError>;
    /// Pull requests whose merge made `commit`, or that hold it.
    async fn pulls_of_commit(
        &self,
        repo: &Repo,
        commit: &Sha,
    ) -> Result<Vec<PullNumber>, ForgeError>;
    /// All pages, oldest first.
    async fn reviews(&self, pull: &Pull) -> Result<Vec<Review>, ForgeError>;
    /// What somebody may do at this moment; none for an account that took over their login.
    async fn role(&self, repo: &Repo, actor: &Actor) -> Result<Role, ForgeError>;
    /// Writes our one note: found by its marker and our own author id, else created. Answers when the forge says it
    /// was last changed; an equal text is not written again.
    async fn upsert_note(&self, pull: &Pull, text: &str) -> Result<Timestamp, ForgeError>;
    /// Posts an answer unless one with this key is there.
    async fn reply(&self, pull: &Pull, key: &str, text: &str) -> Result<(), ForgeError>;
    /// Reacts to a comment; nothing when the comment is gone.
    async fn react(
        &self,
        pull: &Pull,
        comment: CommentId,
        reaction: Reaction,
    ) -> Result<(), ForgeError>;
    /// Sets the status of its context unless it stands so already; a description over the limit is cut.
    async fn set_status(
        &self,
        repo: &Repo,
        commit: &Sha,
        status: &Status,
    ) -> Result<(), ForgeError>;
    /// Merges at this head only; nothing when it is merged at this head already.
    async fn merge(&self, pull: &Pull, head: &Sha) -> Result<(), ForgeError>;
    /// Where git finds the repository, with the right to fetch and to push the ledger.
    async fn remote(&self, repo: &Repo) -> Result<Remote, ForgeError>;
    /// The ref that holds a pull request's head in the repository itself.
    fn head_ref(&self, number: PullNumber) -> String;
    /// What this forge can and cannot do.
    fn limits(&self) -> Limits;
}
