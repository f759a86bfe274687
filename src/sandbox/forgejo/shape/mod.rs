//! State in Forgejo's words: one function per object of its API, the same in answers and webhooks.

mod account;
mod commit;
mod pull;
mod repo;
mod talk;

use serde_json::Value;

use crate::core::ids::UserId;
use crate::sandbox::api::{Ask, Words};
use crate::sandbox::model::Document;
use crate::sandbox::model::hook::{Dialect, Hook};
use crate::sandbox::model::pull::{Comment, Pull, Reaction, Review, Status};
use crate::sandbox::model::repo::Repo;

/// What shapes are made from.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) document: &'a Document,
    /// The sandbox's address, without a slash at its end.
    pub(crate) address: &'a str,
}

impl<'a> Shape<'a> {
    pub(crate) fn of(ask: &'a Ask, document: &'a Document) -> Self {
        Self {
            document,
            address: &ask.sandbox.address,
        }
    }

    /// An address of the API about a repository: `path` starts with a slash.
    fn api(&self, repo: &Repo, path: &str) -> String {
        let name = self.document.full_name(repo);
        let prefix = Dialect::Forgejo.prefix();
        format!("{}{prefix}/repos/{name}{path}", self.address)
    }

    /// A page: `path` starts with a slash.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }
}

impl Words for Shape<'_> {
    fn myself(&self, id: UserId) -> Value {
        Shape::myself(self, id)
    }

    fn user(&self, id: UserId) -> Value {
        self.account(id)
    }

    fn repo(&self, repo: &Repo, caller: UserId) -> Value {
        self.repo_for(repo, caller)
    }

    fn listed_repo(&self, repo: &Repo, caller: UserId) -> Value {
        self.repo_for(repo, caller)
    }

    fn hook(&self, hook: &Hook) -> Value {
        Shape::hook(self, hook)
    }

    fn pull(&self, pull: &Pull) -> Value {
        Shape::pull(self, pull)
    }

    fn listed_pull(&self, pull: &Pull) -> Value {
        Shape::pull(self, pull)
    }

    fn comment(&self, comment: &Comment) -> Value {
        Shape::comment(self, comment)
    }

    fn reaction(&self, reaction: &Reaction) -> Value {
        Shape::reaction(self, reaction)
    }

    fn review(&self, pull: &Pull, review: &Review) -> Value {
        Shape::review(self, pull, review)
    }

    fn status(&self, status: &Status) -> Value {
        Shape::status(self, status)
    }

    fn statuses(&self, repo: &Repo, sha: &str, newest: &[&Status]) -> Value {
        Shape::statuses(self, repo, sha, newest)
    }
}
