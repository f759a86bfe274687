//! Forgejo, and its sibling Gitea: they speak alike.

pub(super) mod check;
mod merge;
mod role;
pub mod webhook;
mod wire;

use anyhow::{Context, bail};
use async_trait::async_trait;
use jiff::Timestamp;
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
use crate::forge::client::{Client, Dialect, Paging, changes, pulls, statuses};
use crate::forge::wire::Pull as WirePull;
use crate::forge::{Connection, Forge, ForgeError, Limits};

const DIALECT: Dialect = Dialect {
    limits: Limits {
        // It sets no limits itself. A longer note makes pages slow, and MySQL keeps 64 KB of a status.
        note_chars: 65_000,
        status_chars: 140,
        reviews_name_commits: true,
        swallows_bare_commands: false,
        name: "forgejo",
    },
    paging: Paging::Numbered,
    pages_comments: false,
    changed_pulls: "state=all&sort=recentupdate",
    comments: "",
    newest_statuses: "sort=highestindex&limit=50",
};

/// A Forgejo or Gitea instance, spoken to as one account.
pub struct Forgejo {
    client: Client,
    host: ForgeHost,
    url: Url,
    notes: Notes,
}

impl Forgejo {
    /// Connects; makes no call.
    pub fn new(options: &ForgeOptions, connection: Connection) -> anyhow::Result<Self> {
        let host = options.host();
        if let Account::App { .. } = options.account {
            bail!("{host} has no apps: give a `token_file`");
        }
        let Connection { secret, http, .. } = connection;
        let token = Token::new(&secret).with_context(|| format!("cannot speak to {host}"))?;
        let api = Api::new(&options.api_url, "application/json", http)?;
        Ok(Self {
            client: Client::new(api, &DIALECT, Box::new(token)),
            host,
            url: options.url.clone(),
            notes: Notes::default(),
        })
    }
}

#[async_trait]
impl Forge for Forgejo {
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
        let path = format!("/repos/{}/commits/{commit}/pull", repo.name);
        let found: WirePull = match self.client.about(repo).get(&path).await {
            Err(ForgeError::NotFound(_)) => return Ok(Vec::new()),
            found => found?,
        };
        Ok(pulls::numbers_in(repo, &[found]))
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
        role::of(self.client.about(repo), repo, actor).await
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
        merge::merge(&self.client, (pull, head), &self.host).await
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
