//! Acting as a GitHub App: one token a repository, narrowed to it, kept while it is good, and made anew before it ends.
//!
//! # Why a token a repository
//!
//! A delivery says which repository it is about. The installation is the one that GitHub names for that repository, and
//! its token is narrowed to the repository's number, which GitHub refuses when the installation does not hold it. So a
//! payload that names one repository and carries the number of another gets no right to either.

pub(super) mod check;
mod jwt;
mod key;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::EncodingKey;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::core::ids::{Actor, Repo, RepoId};
use crate::forge::client::Right;
use crate::forge::client::api::{Answer, Api, Call};
use crate::forge::github::wire::{Installation, InstallationToken};
use crate::forge::wire::{self, incomplete};
use crate::forge::{Clock, ForgeError};

/// A token is made anew this long before it ends, so that whoever gets it can finish what they do with it.
const MARGIN: SignedDuration = SignedDuration::from_mins(5);
/// Clocks that differ by less are the same.
const SAME: SignedDuration = SignedDuration::from_secs(5);

/// An app, with all tokens it holds.
pub(super) struct App {
    id: u64,
    key: EncodingKey,
    clock: Clock,
    /// How many seconds the forge's clock is ahead of ours; learnt when it refuses what we signed.
    ahead: AtomicI64,
    slots: Mutex<BTreeMap<RepoId, Slot>>,
}

/// A repository's token. Who holds the lock makes it, and the others wait for it.
type Slot = Arc<tokio::sync::Mutex<Option<Held>>>;

struct Held {
    token: SecretString,
    /// When another is made, by our own clock.
    until: Timestamp,
}

impl App {
    /// Takes the app's number and its private key; makes no call.
    pub(super) fn new(id: u64, key: &SecretString, clock: Clock) -> anyhow::Result<Self> {
        Ok(Self {
            id,
            key: key::read(key)?,
            clock,
            ahead: AtomicI64::new(0),
            slots: Mutex::default(),
        })
    }

    /// A token for a repository that is good for some minutes at least.
    async fn token(&self, api: &Api, repo: &Repo) -> Result<SecretString, ForgeError> {
        let slot = self.slot(repo.id);
        let mut held = slot.lock().await;
        if let Some(held) = held.as_ref().filter(|it| (self.clock)() < it.until) {
            return Ok(held.token.clone());
        }
        let minted = self.mint(api, repo).await?;
        let token = minted.token.clone();
        *held = Some(minted);
        Ok(token)
    }

    /// Gives a token up that the forge does not accept; whoever made another meanwhile keeps it.
    async fn give_up(&self, repo: &Repo, refused: &SecretString) {
        let slot = self.slot(repo.id);
        let mut held = slot.lock().await;
        let is_refused = |it: &mut Held| it.token.expose_secret() == refused.expose_secret();
        held.take_if(is_refused);
    }

    /// A token that may read what everybody may, of whichever installation there is.
    async fn any_token(&self, api: &Api) -> Result<SecretString, ForgeError> {
        let path = "/app/installations?per_page=100";
        let all: Vec<Installation> = self.ask(api, Call::get(path)).await?;
        let id = all.iter().find_map(Installation::active_id);
        let id = id.ok_or_else(|| {
            let why = "the app is installed nowhere, or everywhere suspended: install it on the account that owns the repositories";
            ForgeError::Forbidden(why.to_owned())
        })?;
        let narrow = json!({ "permissions": { "metadata": "read" } });
        let path = format!("/app/installations/{id}/access_tokens");
        let answer = self.ask_raw(api, &post(&path, &narrow)).await?;
        token_of(&path, &proven(&path, answer)?).map(|(token, _)| token)
    }

    async fn mint(&self, api: &Api, repo: &Repo) -> Result<Held, ForgeError> {
        let id = self.installation(api, repo).await?;
        let path = format!("/app/installations/{id}/access_tokens");
        let narrow = json!({ "repository_ids": [repo.id] });
        let answer = self.ask_raw(api, &post(&path, &narrow)).await?;
        let is_strange = answer.status == StatusCode::UNPROCESSABLE_ENTITY;
        let answer = proven(&path, answer).map_err(|error| match error {
            ForgeError::Other(why) if is_strange => strange(repo, &why),
            ForgeError::Forbidden(why) if why.to_lowercase().contains("suspended") => {
                suspended(repo)
            }
            other => other,
        })?;
        let (token, ends) = token_of(&path, &answer)?;
        let now = (self.clock)();
        let left = ends.duration_since(answer.date().unwrap_or(now));
        let until = now.saturating_add(left - MARGIN).unwrap_or(now);
        Ok(Held { token, until })
    }

    /// The installation that holds a repository, as the forge says at this moment.
    async fn installation(&self, api: &Api, repo: &Repo) -> Result<u64, ForgeError> {
        let path = format!("/repos/{}/installation", repo.name);
        let found: Installation = match self.ask(api, Call::get(&path)).await {
            Err(ForgeError::NotFound(_)) => {
                let why = format!(
                    "the app is not installed on {}: add the repository on the app's installation page",
                    repo.name
                );
                return Err(ForgeError::Forbidden(why));
            }
            found => found?,
        };
        if found.suspended_at.0.is_some() {
            return Err(suspended(repo));
        }
        found.active_id().ok_or_else(|| incomplete(&path))
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        api: &Api,
        call: Call<'_>,
    ) -> Result<T, ForgeError> {
        let answer = self.ask_raw(api, &call).await?;
        proven(call.path, answer)?.parse(call.path)
    }

    /// Asks as the app itself. Where our clocks differ too much for what we sign, the forge's own time is used.
    async fn ask_raw(&self, api: &Api, call: &Call<'_>) -> Result<Answer, ForgeError> {
        let answer = api.call_patiently(call, &self.sign()?).await?;
        if answer.status == StatusCode::UNAUTHORIZED && self.has_learnt_time(&answer) {
            return api.call_patiently(call, &self.sign()?).await;
        }
        Ok(answer)
    }

    fn sign(&self) -> Result<SecretString, ForgeError> {
        let ahead = SignedDuration::from_secs(self.ahead.load(Ordering::Relaxed));
        let now = (self.clock)().saturating_add(ahead);
        let now = now.unwrap_or(Timestamp::MAX);
        jwt::sign(self.id, &self.key, now).map_err(ForgeError::Other)
    }

    fn has_learnt_time(&self, answer: &Answer) -> bool {
        let Some(theirs) = answer.date() else {
            return false;
        };
        let ahead = theirs.duration_since((self.clock)());
        let before = self.ahead.swap(ahead.as_secs(), Ordering::Relaxed);
        let is_news = (ahead - SignedDuration::from_secs(before)).abs() > SAME;
        if is_news {
            tracing::warn!(
                ahead_seconds = ahead.as_secs(),
                "the forge's clock differs from ours; its time is used to sign in, and ours should be set right"
            );
        }
        is_news
    }

    fn slot(&self, repo: RepoId) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(repo).or_default().clone()
    }
}

#[async_trait]
impl Right for Arc<App> {
    async fn bearer(&self, api: &Api, repo: Option<&Repo>) -> Result<SecretString, ForgeError> {
        match repo {
            Some(repo) => self.token(api, repo).await,
            None => self.any_token(api).await,
        }
    }

    async fn gave_up(&self, repo: Option<&Repo>, refused: &SecretString) -> bool {
        let Some(repo) = repo else { return false };
        self.give_up(repo, refused).await;
        true
    }

    /// The app's own account, `<slug>[bot]`.
    async fn account(&self, api: &Api) -> Result<Actor, ForgeError> {
        let app: crate::forge::github::wire::App = self.ask(api, Call::get("/app")).await?;
        let slug = app.slug.0.ok_or_else(|| incomplete("/app"))?;
        let token = self.any_token(api).await?;
        let path = format!("/users/{slug}%5Bbot%5D");
        let answer = api.call_patiently(&Call::get(&path), &token).await?;
        let user: wire::User = answer.check(&path)?.parse(&path)?;
        user.actor().ok_or_else(|| incomplete(&path))
    }
}

fn post<'a>(path: &'a str, body: &'a Value) -> Call<'a> {
    Call {
        method: Method::POST,
        path,
        body: Some(body),
    }
}

fn token_of(path: &str, answer: &Answer) -> Result<(SecretString, Timestamp), ForgeError> {
    let made: InstallationToken = answer.parse(path)?;
    let token = made.token.0.filter(|it| !it.is_empty());
    let ends = made.expires_at.0.map(|it| it.0);
    let (token, ends) = token.zip(ends).ok_or_else(|| incomplete(path))?;
    Ok((token.into(), ends))
}

/// Checks an answer to the app itself; one that does not believe us says what to look at.
fn proven(path: &str, answer: Answer) -> Result<Answer, ForgeError> {
    let is_unproven = answer.status == StatusCode::UNAUTHORIZED;
    answer.check(path).map_err(|error| match error {
        ForgeError::Forbidden(why) if is_unproven => ForgeError::Forbidden(format!(
            "{why} (`app_id` and `app_key_file` must be of the same app, and the key not revoked)"
        )),
        other => other,
    })
}

fn strange(repo: &Repo, why: &anyhow::Error) -> ForgeError {
    ForgeError::Forbidden(format!(
        "the installation on {} does not hold the repository with the number {}: {why:#}",
        repo.name, repo.id
    ))
}

fn suspended(repo: &Repo) -> ForgeError {
    let name = &repo.name;
    let why = format!("the app's installation on {name} is suspended: an owner must unsuspend it");
    ForgeError::Forbidden(why)
}

#[cfg(test)]
mod tests;
