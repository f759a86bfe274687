//! GitHub, and GitHub Enterprise Server.

mod app;
pub(super) mod check;
pub mod webhook;
mod wire;

use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use http::Method;
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};
use url::Url;

use crate::core::config::server::{Account, ForgeOptions};
use crate::core::effect::{Reaction, Status};
use crate::core::ids::{Actor, CommentId, ForgeHost, Pull, PullNumber, Repo, Sha};
use crate::core::lost::Changes;
use crate::core::person::{Review, Role};
use crate::core::remote::Remote;
use crate::core::rollout::pull::PullDetails;
use crate::forge::client::api::Api;
use crate::forge::client::comments::{self, Notes};
use crate::forge::client::token::Token;
use crate::forge::client::{Client, Dialect, Paging, Right, changes, pulls, statuses};
use crate::forge::github::app::App;
use crate::forge::wire::Pull as WirePull;
use crate::forge::{Clock, Connection, Forge, ForgeError, Limits, marker};

const DIALECT: Dialect = Dialect {
    limits: Limits {
        note_chars: 65_536 - marker::NOTE_CHARS,
        status_chars: 140,
        reviews_name_commits: true,
        swallows_bare_commands: false,
        name: "github",
    },
    paging: Paging::Linked,
    pages_comments: true,
    changed_pulls: "state=all&sort=updated&direction=desc",
    comments: "sort=created&direction=asc&",
    newest_statuses: "per_page=100",
};

/// A GitHub instance, spoken to as one account.
pub struct GitHub {
    client: Client,
    /// None when the account is a user.
    app: Option<Arc<App>>,
    host: ForgeHost,
    url: Url,
    notes: Notes,
}

impl GitHub {
    /// Connects; makes no call. Must be called inside a tokio runtime.
    pub fn new(options: &ForgeOptions, connection: Connection) -> anyhow::Result<Self> {
        let host = options.host();
        let Connection {
            secret,
            http,
            clock,
        } = connection;
        let app = app_of(&options.account, &secret, clock)
            .with_context(|| format!("cannot speak to {host}"))?;
        let right: Box<dyn Right> = match &app {
            Some(app) => Box::new(Arc::clone(app)),
            None => {
                Box::new(Token::new(&secret).with_context(|| format!("cannot speak to {host}"))?)
            }
        };
        let api = Api::new(&options.api_url, "application/vnd.github+json", http)?;
        Ok(Self {
            client: Client::new(api, &DIALECT, right),
            app,
            host,
            url: options.url.clone(),
            notes: Notes::default(),
        })
    }
}

fn app_of(account: &Account, key: &SecretString, clock: Clock) -> anyhow::Result<Option<Arc<App>>> {
    match account {
        Account::Token { .. } => Ok(None),
        Account::App { id, .. } => Ok(Some(Arc::new(App::new(*id, key, clock)?))),
    }
}

#[async_trait]
impl Forge for GitHub {
    async fn me(&self) -> Result<Actor, ForgeError> {
        self.client.me().await
    }

    async fn pull(&self, pull: &Pull) -> Result<PullDetails, ForgeError> {
        pulls::read(self.client.about(&pull.repo), pull, &self.host).await
    }

    async fn changes_since(&self, repo: &Repo, since: Timestamp) -> Result<Changes, ForgeError> {
        changes::since(self.client.about(repo), repo, since).await
    }

    async fn pulls_of_commit(
        &self,
        repo: &Repo,
        commit: &Sha,
    ) -> Result<Vec<PullNumber>, ForgeError> {
        let path = format!("/repos/{}/commits/{commit}/pulls", repo.name);
        let found: Vec<WirePull> = self.client.about(repo).list(&path).await?;
        Ok(pulls::numbers_in(repo, &found))
    }

    async fn reviews(&self, pull: &Pull) -> Result<Vec<Review>, ForgeError> {
        let path = format!("{}/reviews", pulls::path(pull));
        let reviews: Vec<wire::ReviewAnswer> = self.client.about(&pull.repo).list(&path).await?;
        Ok(reviews
            .iter()
            .filter_map(wire::ReviewAnswer::review)
            .collect())
    }

    async fn role(&self, repo: &Repo, actor: &Actor) -> Result<Role, ForgeError> {
        // The brackets of an app's login (`slug[bot]`) may not stand in a path.
        let login = actor.login.as_str().replace('[', "%5B").replace(']', "%5D");
        let path = format!("/repos/{}/collaborators/{login}/permission", repo.name);
        let answer: wire::Permission = match self.client.about(repo).get(&path).await {
            Err(ForgeError::NotFound(_)) => return Ok(Role::None),
            answer => answer?,
        };
        let id = answer.user.0.as_ref().and_then(|it| it.id.0);
        if id.is_some_and(|it| it.0 == actor.id.0) {
            return Ok(answer.role());
        }
        Ok(Role::None)
    }

    async fn upsert_note(&self, pull: &Pull, text: &str) -> Result<Timestamp, ForgeError> {
        let me = self.me().await?;
        let line = self.client.about(&pull.repo);
        self.notes.upsert(line, &me, (pull, text)).await
    }

    async fn reply(&self, pull: &Pull, key: &str, text: &str) -> Result<(), ForgeError> {
        let me = self.me().await?;
        comments::reply(self.client.about(&pull.repo), &me, pull, (key, text)).await
    }

    async fn react(
        &self,
        pull: &Pull,
        comment: CommentId,
        reaction: Reaction,
    ) -> Result<(), ForgeError> {
        let line = self.client.about(&pull.repo);
        comments::react(line, &pull.repo.name, comment, reaction).await
    }

    async fn set_status(
        &self,
        repo: &Repo,
        commit: &Sha,
        status: &Status,
    ) -> Result<(), ForgeError> {
        let me = self.me().await?;
        statuses::set(self.client.about(repo), &me, repo, (commit, status)).await
    }

    async fn merge(&self, pull: &Pull, head: &Sha) -> Result<(), ForgeError> {
        let now = self.pull(pull).await?;
        if !pulls::is_to_merge(&now, head)? {
            return Ok(());
        }
        let path = format!("{}/merge", pulls::path(pull));
        let body = json!({ "sha": head });
        let line = self.client.about(&pull.repo);
        line.write::<Value>(Method::PUT, &path, &body).await?;
        Ok(())
    }

    async fn remote(&self, repo: &Repo) -> Result<Remote, ForgeError> {
        self.client.about(repo).remote(&self.url, repo).await
    }

    fn head_ref(&self, number: PullNumber) -> String {
        format!("refs/pull/{number}/head")
    }

    fn limits(&self) -> Limits {
        DIALECT.limits
    }
}

#[cfg(test)]
mod tests;
