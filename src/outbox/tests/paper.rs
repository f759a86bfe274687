//! A forge on paper: it keeps what effects tell it, and can be made to refuse.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::anyhow;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::core::effect::{Reaction, Status};
use crate::core::ids::{Actor, CommentId, Pull, PullNumber, Repo, Sha};
use crate::core::lost::Changes;
use crate::core::person::{Review, Role};
use crate::core::remote::Remote;
use crate::core::rollout::pull::PullDetails;
use crate::forge::{Forge, ForgeError, Limits};

/// What people would find on the forge.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) notes: BTreeMap<PullNumber, String>,
    pub(super) replies: Vec<(String, String)>,
    pub(super) statuses: BTreeMap<&'static str, String>,
    pub(super) reactions: BTreeSet<u64>,
    pub(super) merged: BTreeSet<PullNumber>,
}

/// A forge that keeps what it is told, as the marker, the context or the head makes it one.
pub(super) struct Paper {
    pub(super) told: Mutex<Told>,
    /// What the next statuses are answered with.
    pub(super) trouble: Mutex<VecDeque<ForgeError>>,
    origin: Mutex<Result<PathBuf, &'static str>>,
}

impl Paper {
    /// A forge whose one repository's git remote is this folder.
    pub(super) fn new(origin: PathBuf) -> Self {
        Self {
            told: Mutex::default(),
            trouble: Mutex::default(),
            origin: Mutex::new(Ok(origin)),
        }
    }

    fn write(&self, write: impl FnOnce(&mut Told)) {
        write(&mut self.told.lock().unwrap());
    }

    pub(super) fn set_origin(&self, origin: Result<PathBuf, &'static str>) {
        *self.origin.lock().unwrap() = origin;
    }
}

fn not_asked<T>() -> Result<T, ForgeError> {
    Err(ForgeError::Other(anyhow!("no effect asks this")))
}

#[async_trait]
impl Forge for Paper {
    async fn me(&self) -> Result<Actor, ForgeError> {
        not_asked()
    }

    async fn pull(&self, _: &Pull) -> Result<PullDetails, ForgeError> {
        not_asked()
    }

    async fn changes_since(&self, _: &Repo, _: Timestamp) -> Result<Changes, ForgeError> {
        not_asked()
    }

    async fn pulls_of_commit(&self, _: &Repo, _: &Sha) -> Result<Vec<PullNumber>, ForgeError> {
        not_asked()
    }

    async fn reviews(&self, _: &Pull) -> Result<Vec<Review>, ForgeError> {
        not_asked()
    }

    async fn role(&self, _: &Repo, _: &Actor) -> Result<Role, ForgeError> {
        not_asked()
    }

    async fn upsert_note(&self, pull: &Pull, text: &str) -> Result<Timestamp, ForgeError> {
        self.write(|it| it.notes.extend([(pull.number, text.to_owned())]));
        Ok(Timestamp::UNIX_EPOCH)
    }

    async fn reply(&self, _: &Pull, key: &str, text: &str) -> Result<(), ForgeError> {
        self.write(|it| {
            if !it.replies.iter().any(|(known, _)| known == key) {
                it.replies.push((key.to_owned(), text.to_owned()));
            }
        });
        Ok(())
    }

    async fn react(&self, _: &Pull, comment: CommentId, _: Reaction) -> Result<(), ForgeError> {
        assert_ne!(comment.0, 13, "a bug");
        self.write(|it| it.reactions.extend([comment.0]));
        Ok(())
    }

    async fn set_status(&self, _: &Repo, _: &Sha, status: &Status) -> Result<(), ForgeError> {
        if let Some(error) = self.trouble.lock().unwrap().pop_front() {
            return Err(error);
        }
        let (context, description) = (status.context.as_str(), status.description.clone());
        self.write(|it| it.statuses.extend([(context, description)]));
        Ok(())
    }

    async fn merge(&self, pull: &Pull, _: &Sha) -> Result<(), ForgeError> {
        self.write(|it| it.merged.extend([pull.number]));
        Ok(())
    }

    async fn remote(&self, _: &Repo) -> Result<Remote, ForgeError> {
        match &*self.origin.lock().unwrap() {
            Ok(origin) => Ok(Remote {
                url: origin.display().to_string(),
                authorization: None,
            }),
            Err(why) => Err(ForgeError::Forbidden((*why).to_owned())),
        }
    }

    fn head_ref(&self, number: PullNumber) -> String {
        format!("refs/pull/{number}/head")
    }

    fn limits(&self) -> Limits {
        Limits {
            name: "paper",
            note_chars: 1000,
            status_chars: 140,
            reviews_name_commits: true,
            swallows_bare_commands: false,
        }
    }
}
