//! What people can do on the sandbox, in words of no forge: who may, what changes, what is told to hooks.

mod app;
mod find;
mod fork;
mod hook;
mod merge;
mod open;
mod push;
mod revise;
mod talk;

use jiff::Timestamp;

pub(crate) use crate::sandbox::acts::hook::NewHook;
pub(crate) use crate::sandbox::acts::merge::{MergeMethod, Merging};
pub(crate) use crate::sandbox::acts::open::{NewPull, find_head};
pub(crate) use crate::sandbox::acts::revise::Revision;
pub(crate) use crate::sandbox::acts::talk::{NewReview, NewStatus, Reacted};

use crate::core::ids::{RepoId, UserId};
use crate::core::person::Role;
use crate::sandbox::Sandbox;
use crate::sandbox::model::Document;
use crate::sandbox::model::happening::{Happening, Place, What};
use crate::sandbox::model::pull::{Pull, PullKey};

/// Somebody doing something now.
#[derive(Clone, Copy)]
pub(crate) struct Act<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) actor: UserId,
    pub(crate) now: Timestamp,
}

/// Why something is not done. A dialect puts it into its forge's words and codes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Denied {
    #[error("{0} is not there")]
    Missing(&'static str),
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    Invalid(String),
    /// The caller spoke of a head that is not the head.
    #[error("Head branch was modified. Review and try the merge again.")]
    Stale,
    #[error("{0}")]
    NotMergeable(String),
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

impl Act<'_> {
    /// Refuses those whose role in a repository is too small; to those without one it is not there.
    fn require(&self, document: &Document, repo: RepoId, least: Role) -> Result<(), Denied> {
        let role = document.repo(repo).role(self.actor);
        if role == Role::None {
            return Err(Denied::Missing("the repository"));
        }
        if role < least {
            let text = "Must have push access to the repository.";
            return Err(Denied::Forbidden(text.to_owned()));
        }
        Ok(())
    }

    fn happening(&self, repo: RepoId, what: What) -> Happening {
        Happening {
            place: Place::Repo(repo),
            actor: self.actor,
            what,
        }
    }

    /// The pull request, for those who may read it.
    fn visible<'d>(&self, document: &'d Document, key: PullKey) -> Result<&'d Pull, Denied> {
        self.require(document, key.repo, Role::Read)?;
        document
            .pull(key)
            .ok_or(Denied::Missing("the pull request"))
    }
}

/// The pull request, to be changed.
fn pull_mut(document: &mut Document, key: PullKey) -> Result<&mut Pull, Denied> {
    let found = document.pull_mut(key);
    found.ok_or(Denied::Missing("the pull request"))
}
