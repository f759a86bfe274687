//! The sandbox's state in words of no forge: accounts, repositories, pull requests, what people say, hooks.

pub(crate) mod account;
pub(crate) mod app;
pub(crate) mod happening;
pub(crate) mod hook;
pub(crate) mod pull;
pub(crate) mod repo;

use serde::{Deserialize, Serialize};

use crate::core::ids::{CommentId, PullNumber, RepoId, UserId};
use crate::sandbox::model::account::Account;
use crate::sandbox::model::app::{App, Installation, InstallationToken};
use crate::sandbox::model::hook::{Delivery, Hook};
use crate::sandbox::model::pull::{Comment, Pull, PullKey, Reaction, Review, Status};
use crate::sandbox::model::repo::Repo;

/// The default branch of a repository that is made here.
pub(crate) const REPO_FIRST_BRANCH: &str = "main";

/// Everything the sandbox knows but commits, Terraform states and the bytes of deliveries.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Document {
    last_id: u64,
    pub(crate) accounts: Vec<Account>,
    pub(crate) repos: Vec<Repo>,
    pub(crate) pulls: Vec<Pull>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) apps: Vec<App>,
    pub(crate) installations: Vec<Installation>,
    pub(crate) tokens: Vec<InstallationToken>,
    /// In the order in which they were made.
    pub(crate) deliveries: Vec<Delivery>,
}

impl Document {
    /// A number nothing else has, never given again.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn next_user(&mut self) -> UserId {
        UserId(self.next_id())
    }

    pub(crate) fn next_repo(&mut self) -> RepoId {
        RepoId(self.next_id())
    }

    pub(crate) fn account(&self, id: UserId) -> &Account {
        let found = self.accounts.iter().find(|it| it.id == id);
        found.expect("accounts are never removed")
    }

    pub(crate) fn account_by_login(&self, login: &str) -> Option<&Account> {
        self.accounts
            .iter()
            .find(|it| it.login.as_str().eq_ignore_ascii_case(login))
    }

    /// Whose address a commit was written under.
    pub(crate) fn account_by_address(&self, address: &str) -> Option<&Account> {
        self.accounts.iter().find(|it| it.address() == address)
    }

    /// Whose token this is. Every token is compared, so the time tells nothing about where it stands.
    pub(crate) fn account_by_token(&self, secret: &str) -> Option<&Account> {
        self.accounts.iter().fold(None, |found, account| {
            let is_it = account.token.as_ref().is_some_and(|it| it.is(secret));
            if is_it { Some(account) } else { found }
        })
    }

    pub(crate) fn repo(&self, id: RepoId) -> &Repo {
        let found = self.repos.iter().find(|it| it.id == id);
        found.expect("repositories are never removed")
    }

    pub(crate) fn repo_mut(&mut self, id: RepoId) -> &mut Repo {
        let found = self.repos.iter_mut().find(|it| it.id == id);
        found.expect("repositories are never removed")
    }

    pub(crate) fn repo_by_name(&self, owner: &str, name: &str) -> Option<&Repo> {
        self.repos.iter().find(|it| {
            it.name.eq_ignore_ascii_case(name)
                && self
                    .account(it.owner)
                    .login
                    .as_str()
                    .eq_ignore_ascii_case(owner)
        })
    }

    /// `owner/name`.
    pub(crate) fn full_name(&self, repo: &Repo) -> String {
        format!("{}/{}", self.account(repo.owner).login, repo.name)
    }

    pub(crate) fn pull(&self, key: PullKey) -> Option<&Pull> {
        self.pulls.iter().find(|it| it.key == key)
    }

    pub(crate) fn pull_mut(&mut self, key: PullKey) -> Option<&mut Pull> {
        self.pulls.iter_mut().find(|it| it.key == key)
    }

    pub(crate) fn pulls_of(&self, repo: RepoId) -> impl Iterator<Item = &Pull> {
        self.pulls.iter().filter(move |it| it.key.repo == repo)
    }

    pub(crate) fn open_pulls(&self) -> impl Iterator<Item = &Pull> {
        self.pulls.iter().filter(|it| it.is_open())
    }

    /// The next pull request's place in a repository.
    pub(crate) fn next_pull(&mut self, repo: RepoId) -> PullKey {
        let it = self.repo_mut(repo);
        it.last_number += 1;
        let number = PullNumber(it.last_number);
        PullKey { repo, number }
    }

    /// A comment of this repository.
    pub(crate) fn comment(&self, repo: RepoId, id: CommentId) -> Option<&Comment> {
        self.comments
            .iter()
            .find(|it| it.id == id && it.pull.repo == repo)
    }

    pub(crate) fn comments_of(&self, pull: PullKey) -> impl Iterator<Item = &Comment> {
        self.comments.iter().filter(move |it| it.pull == pull)
    }

    /// The comments of a repository.
    pub(crate) fn comments_in(&self, repo: RepoId) -> impl Iterator<Item = &Comment> {
        self.comments.iter().filter(move |it| it.pull.repo == repo)
    }

    pub(crate) fn reactions_of(&self, comment: CommentId) -> impl Iterator<Item = &Reaction> {
        self.reactions
            .iter()
            .filter(move |it| it.comment == comment)
    }

    /// Oldest first.
    pub(crate) fn reviews_of(&self, pull: PullKey) -> impl Iterator<Item = &Review> {
        self.reviews.iter().filter(move |it| it.pull == pull)
    }

    pub(crate) fn review(&self, pull: PullKey, id: u64) -> Option<&Review> {
        self.reviews_of(pull).find(|it| it.id == id)
    }

    pub(crate) fn app(&self, id: u64) -> &App {
        let found = self.apps.iter().find(|it| it.id == id);
        found.expect("apps are never removed")
    }

    /// An installation that is there; it may be suspended.
    pub(crate) fn installation(&self, id: u64) -> Option<&Installation> {
        self.installations
            .iter()
            .find(|it| it.id == id && !it.is_deleted)
    }

    pub(crate) fn installation_mut(&mut self, id: u64) -> Option<&mut Installation> {
        self.installations
            .iter_mut()
            .find(|it| it.id == id && !it.is_deleted)
    }

    /// Where an app is installed.
    pub(crate) fn installations_of(&self, app: u64) -> impl Iterator<Item = &Installation> {
        self.installations
            .iter()
            .filter(move |it| it.app == app && !it.is_deleted)
    }

    /// The installation by which an app has a repository.
    pub(crate) fn installation_on(&self, app: u64, repo: RepoId) -> Option<&Installation> {
        self.installations_of(app)
            .find(|it| it.repos.contains(&repo))
    }

    /// Which installation's token this is. Every token is compared, so the time tells nothing about where it stands.
    pub(crate) fn installation_token(&self, secret: &str) -> Option<&InstallationToken> {
        self.tokens.iter().fold(None, |found, token| {
            if token.token.is(secret) {
                Some(token)
            } else {
                found
            }
        })
    }

    pub(crate) fn hook(&self, id: u64) -> Option<&Hook> {
        self.hooks.iter().find(|it| it.id == id)
    }

    pub(crate) fn hook_mut(&mut self, id: u64) -> Option<&mut Hook> {
        self.hooks.iter_mut().find(|it| it.id == id)
    }

    pub(crate) fn delivery_mut(&mut self, id: &str) -> Option<&mut Delivery> {
        self.deliveries.iter_mut().find(|it| it.id == id)
    }
}
