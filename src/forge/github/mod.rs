//! GitHub, and GitHub Enterprise Server.

mod api;
mod app;
pub(super) mod check;
mod client;
mod comments;
mod credentials;
mod refusal;
mod signature;
mod statuses;
pub mod webhook;
mod wire;

use anyhow::{Context, anyhow};
use async_trait::async_trait;
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use url::Url;

use crate::core::config::server::ForgeOptions;
use crate::core::effect::{Reaction, Status};
use crate::core::ids::{Actor, CommentId, ForgeHost, Pull, PullNumber, Repo, Sha};
use crate::core::person::{Review, Role};
use crate::core::remote::Remote;
use crate::core::rollout::pull::{PullDetails, PullState};
use crate::forge::github::client::Client;
use crate::forge::github::comments::Notes;
use crate::forge::github::credentials::{Credentials, for_git};
use crate::forge::marker;
use crate::forge::{Connection, Forge, ForgeError, Limits};

const LIMITS: Limits = Limits {
    note_chars: 65_536 - marker::NOTE_CHARS,
    status_chars: 140,
    reviews_name_commits: true,
    swallows_bare_commands: false,
    name: "github",
};

/// A GitHub instance, spoken to as one account.
pub struct GitHub {
    client: Client,
    host: ForgeHost,
    url: Url,
    me: OnceCell<Actor>,
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
        let credentials = Credentials::new(&options.account, &secret, clock)
            .with_context(|| format!("cannot speak to {host}"))?;
        Ok(Self {
            client: Client::new(&options.api_url, credentials, http)?,
            host,
            url: options.url.clone(),
            me: OnceCell::new(),
            notes: Notes::default(),
        })
    }

    async fn details(&self, pull: &Pull) -> Result<PullDetails, ForgeError> {
        let read: wire::Pull = self.client.about(&pull.repo).get(&path(pull)).await?;
        details(&read, pull, &self.host)
    }
}

#[async_trait]
impl Forge for GitHub {
    async fn me(&self) -> Result<Actor, ForgeError> {
        let ask = || self.client.account();
        self.me.get_or_try_init(ask).await.cloned()
    }

    async fn pull(&self, pull: &Pull) -> Result<PullDetails, ForgeError> {
        self.details(pull).await
    }

    async fn open_pulls(&self, repo: &Repo) -> Result<Vec<PullNumber>, ForgeError> {
        let name = &repo.name;
        let path =
            format!("/repos/{name}/pulls?state=open&sort=created&direction=asc&per_page=100");
        let pulls: Vec<wire::Pull> = self.client.about(repo).list(&path).await?;
        Ok(numbers_in(repo, &pulls))
    }

    async fn pulls_of_commit(
        &self,
        repo: &Repo,
        commit: &Sha,
    ) -> Result<Vec<PullNumber>, ForgeError> {
        let path = format!("/repos/{}/commits/{commit}/pulls?per_page=100", repo.name);
        let pulls: Vec<wire::Pull> = self.client.about(repo).list(&path).await?;
        Ok(numbers_in(repo, &pulls))
    }

    async fn reviews(&self, pull: &Pull) -> Result<Vec<Review>, ForgeError> {
        let path = format!("{}/reviews?per_page=100", path(pull));
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
        let content = match reaction {
            Reaction::Eyes => "eyes",
            Reaction::Rocket => "rocket",
            Reaction::Confused => "confused",
        };
        let name = &pull.repo.name;
        let path = format!("/repos/{name}/issues/comments/{comment}/reactions");
        let body = json!({ "content": content });
        let line = self.client.about(&pull.repo);
        match line.write::<Value>(Method::POST, &path, &body).await {
            Ok(_) | Err(ForgeError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
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
        let now = self.details(pull).await?;
        if now.head != *head {
            let why = format!(
                "the head of pull request {} is {} by now",
                pull.number, now.head
            );
            return Err(ForgeError::Forbidden(why));
        }
        if matches!(now.state, PullState::Merged { .. }) {
            return Ok(());
        }
        let path = format!("{}/merge", path(pull));
        let body = json!({ "sha": head });
        let line = self.client.about(&pull.repo);
        line.write::<Value>(Method::PUT, &path, &body).await?;
        Ok(())
    }

    async fn remote(&self, repo: &Repo) -> Result<Remote, ForgeError> {
        let bearer = self.client.about(repo).bearer().await?;
        let url = self.url.as_str().trim_end_matches('/');
        Ok(Remote {
            url: format!("{url}/{}.git", repo.name),
            authorization: Some(for_git(&bearer)),
        })
    }

    fn head_ref(&self, number: PullNumber) -> String {
        format!("refs/pull/{number}/head")
    }

    fn limits(&self) -> Limits {
        LIMITS
    }
}

fn path(pull: &Pull) -> String {
    format!("/repos/{}/pulls/{}", pull.repo.name, pull.number)
}

fn incomplete(path: &str) -> ForgeError {
    ForgeError::Other(anyhow!("{path} answered without what we need of it"))
}

/// The numbers of those pull requests that are the repository's own: a commit is listed with those of forks too.
fn numbers_in(repo: &Repo, pulls: &[wire::Pull]) -> Vec<PullNumber> {
    let own = pulls.iter().filter(|pull| {
        let base = pull.base.0.as_ref().and_then(|it| it.repo.0.as_ref()?.id());
        base == Some(repo.id)
    });
    own.filter_map(|it| Some(PullNumber(it.number.0?.0)))
        .collect()
}

/// A pull request in our words; not found when the name it was asked by is another repository's by now.
fn details(read: &wire::Pull, asked: &Pull, host: &ForgeHost) -> Result<PullDetails, ForgeError> {
    let base = read.base.0.as_ref();
    let repo = base.and_then(|it| it.repo.0.as_ref()?.repo(host));
    if let Some(repo) = &repo
        && repo.id != asked.repo.id
    {
        let what = format!(
            "pull request {} of repository {}",
            asked.number, asked.repo.id
        );
        return Err(ForgeError::NotFound(what));
    }
    known(read, asked.number, repo).ok_or_else(|| incomplete(&path(asked)))
}

fn known(read: &wire::Pull, number: PullNumber, repo: Option<Repo>) -> Option<PullDetails> {
    let head = read.head.0.as_ref()?;
    Some(PullDetails {
        pull: Pull {
            repo: repo?,
            number,
        },
        title: read.title.0.clone().unwrap_or_default(),
        url: read.html_url.0.clone().unwrap_or_default(),
        author: read
            .user
            .0
            .as_ref()
            .and_then(wire::User::actor)
            .unwrap_or_else(wire::ghost),
        head: head.sha.0.clone()?,
        head_repo: head.repo.0.as_ref().and_then(wire::Repository::id),
        target: read.base.0.as_ref()?.r#ref.0.clone()?,
        is_draft: read.draft.0.unwrap_or_default(),
        state: state(read)?,
    })
}

fn state(read: &wire::Pull) -> Option<PullState> {
    if read.merged.0 == Some(true) {
        let commit = read.merge_commit_sha.0.clone();
        return Some(PullState::Merged { commit });
    }
    match read.state.0.as_deref()? {
        "open" => Some(PullState::Open),
        "closed" => Some(PullState::Closed),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
