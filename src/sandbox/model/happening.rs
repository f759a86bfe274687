//! All that can happen on the sandbox and is told to hooks.

use crate::core::ids::{RepoId, Sha, UserId};
use crate::sandbox::bare::Commit;
use crate::sandbox::model::pull::{Comment, Head, PullKey};

/// Something that happened, where, and who did it.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) place: Place,
    pub(crate) actor: UserId,
    pub(crate) what: What,
}

/// Where something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Repo(RepoId),
    Installation(u64),
    App(u64),
}

impl Place {
    /// The repository, where it is one.
    pub(crate) fn repo(self) -> Option<RepoId> {
        match self {
            Self::Repo(repo) => Some(repo),
            Self::Installation(_) | Self::App(_) => None,
        }
    }
}

/// What happened. The rest of it is read from the state as it is afterwards.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A hook was made; told to that hook only.
    HookMade {
        hook: u64,
    },
    /// Somebody tries a hook; told to that hook only.
    HookTested {
        hook: u64,
        branch: String,
        tip: Box<Commit>,
    },
    PullOpened {
        pull: PullKey,
    },
    /// The head moved.
    PullPushed {
        pull: PullKey,
        before: Sha,
    },
    PullReopened {
        pull: PullKey,
    },
    /// Closed, merged or not.
    PullClosed {
        pull: PullKey,
    },
    PullEdited {
        pull: PullKey,
        before: PullText,
    },
    Commented {
        comment: Comment,
    },
    CommentEdited {
        comment: Comment,
        before: String,
    },
    CommentDeleted {
        comment: Comment,
    },
    Reviewed {
        pull: PullKey,
        review: u64,
    },
    ReviewDismissed {
        pull: PullKey,
        review: u64,
    },
    Pushed(Box<Push>),
    /// An app was installed, suspended, taken back into use or taken away.
    Installation(InstallationChange),
    /// An installation was given repositories, or they were taken from it.
    InstallationRepos {
        added: Vec<RepoId>,
        removed: Vec<RepoId>,
    },
}

/// What became of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstallationChange {
    Created,
    Suspended,
    Unsuspended,
    Deleted,
}

/// What an edit of a pull request replaced; none of what it left alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct PullText {
    pub(crate) title: Option<String>,
    pub(crate) body: Option<Option<String>>,
    pub(crate) base: Option<(String, Sha)>,
}

/// One branch that moved, was made or was deleted.
#[derive(Clone, Debug)]
pub(crate) struct Push {
    pub(crate) branch: String,
    /// None: the branch is new.
    pub(crate) before: Option<Sha>,
    /// Its new tip. None: the branch is gone.
    pub(crate) tip: Option<Commit>,
    /// Whether commits were left behind.
    pub(crate) is_forced: bool,
    /// New on this branch, oldest first.
    pub(crate) commits: Vec<Commit>,
}

impl Push {
    /// Whether it moved the branch a pull request comes from.
    pub(crate) fn is_of(&self, repo: RepoId, head: &Head) -> bool {
        head.repo == repo && head.branch == self.branch
    }
}
