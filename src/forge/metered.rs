//! A forge whose calls are counted: by how they ended, and until when it limits us.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::core::effect::{Reaction, Status};
use crate::core::ids::{Actor, CommentId, Pull, PullNumber, Repo, Sha};
use crate::core::lost::Changes;
use crate::core::person::{Review, Role};
use crate::core::remote::Remote;
use crate::core::rollout::pull::PullDetails;
use crate::forge::{Forge, ForgeError, Limits};

/// How calls of one forge ended since the server started.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Calls>>);

#[derive(Clone, Debug, Default)]
struct Calls {
    ended: BTreeMap<&'static str, u64>,
    limited_until: Option<Timestamp>,
}

impl Meter {
    /// How often each end came about: `done`, `not-found`, `refused`, `limited`, `failed`.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.lock().ended.clone()
    }

    /// Until when the forge wants no requests of ours, when it said so last.
    pub fn limited_until(&self) -> Option<Timestamp> {
        self.lock().limited_until
    }

    fn count<T>(&self, result: Result<T, ForgeError>) -> Result<T, ForgeError> {
        let mut calls = self.lock();
        calls.limited_until = match &result {
            Err(ForgeError::Limited { until }) => Some(*until),
            Ok(_) | Err(_) => None,
        };
        *calls.ended.entry(end(&result)).or_default() += 1;
        result
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end<T>(result: &Result<T, ForgeError>) -> &'static str {
    match result {
        Ok(_) => "done",
        Err(ForgeError::NotFound(_)) => "not-found",
        Err(ForgeError::Forbidden(_)) => "refused",
        Err(ForgeError::Limited { .. }) => "limited",
        Err(ForgeError::Other(_)) => "failed",
    }
}

/// A forge and its meter.
pub struct Metered {
    forge: Arc<dyn Forge>,
    meter: Meter,
}

impl Metered {
    /// Counts the calls of `forge`.
    pub fn new(forge: Arc<dyn Forge>) -> Self {
        let meter = Meter::default();
        Self { forge, meter }
    }

    /// What is counted.
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }
}

#[async_trait]
impl Forge for Metered {
    async fn me(&self) -> Result<Actor, ForgeError> {
        self.meter.count(self.forge.me().await)
    }

    async fn pull(&self, pull: &Pull) -> Result<PullDetails, ForgeError> {
        self.meter.count(self.forge.pull(pull).await)
    }

    async fn changes_since(&self, repo: &Repo, since: Timestamp) -> Result<Changes, ForgeError> {
        let changes = self.forge.changes_since(repo, since).await;
        self.meter.count(changes)
    }

    async fn pulls_of_commit(
        &self,
        repo: &Repo,
        commit: &Sha,
    ) -> Result<Vec<PullNumber>, ForgeError> {
        let found = self.forge.pulls_of_commit(repo, commit).await;
        self.meter.count(found)
    }

    async fn reviews(&self, pull: &Pull) -> Result<Vec<Review>, ForgeError> {
        self.meter.count(self.forge.reviews(pull).await)
    }

    async fn role(&self, repo: &Repo, actor: &Actor) -> Result<Role, ForgeError> {
        self.meter.count(self.forge.role(repo, actor).await)
    }

    async fn upsert_note(&self, pull: &Pull, text: &str) -> Result<Timestamp, ForgeError> {
        self.meter.count(self.forge.upsert_note(pull, text).await)
    }

    async fn reply(&self, pull: &Pull, key: &str, text: &str) -> Result<(), ForgeError> {
        self.meter.count(self.forge.reply(pull, key, text).await)
    }

    async fn react(
        &self,
        pull: &Pull,
        comment: CommentId,
        reaction: Reaction,
    ) -> Result<(), ForgeError> {
        let reacted = self.forge.react(pull, comment, reaction).await;
        self.meter.count(reacted)
    }

    async fn set_status(
        &self,
        repo: &Repo,
        commit: &Sha,
        status: &Status,
    ) -> Result<(), ForgeError> {
        let set = self.forge.set_status(repo, commit, status).await;
        self.meter.count(set)
    }

    async fn merge(&self, pull: &Pull, head: &Sha) -> Result<(), ForgeError> {
        self.meter.count(self.forge.merge(pull, head).await)
    }

    async fn remote(&self, repo: &Repo) -> Result<Remote, ForgeError> {
        self.meter.count(self.forge.remote(repo).await)
    }

    fn head_ref(&self, number: PullNumber) -> String {
        self.forge.head_ref(number)
    }

    fn limits(&self) -> Limits {
        self.forge.limits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_until_the_forge_takes_a_call_again() {
        let meter = Meter::default();
        let until: Timestamp = "2026-11-30T20:15:00Z".parse().unwrap();
        let _ = meter.count::<()>(Err(ForgeError::Limited { until }));
        assert_eq!(meter.limited_until(), Some(until));
        let _ = meter.count(Ok(()));
        let _ = meter.count(Ok(()));
        assert_eq!(meter.limited_until(), None);
        assert_eq!(meter.calls(), [("done", 2), ("limited", 1)].into());
    }
}
