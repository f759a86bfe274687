//! One client for every forge that speaks as GitHub does: reads are repeated, writes never, lists are read to their end.

pub(super) mod api;
pub(super) mod changes;
pub(super) mod comments;
mod page;
pub(super) mod pulls;
mod refusal;
pub(super) mod standing;
pub(super) mod statuses;
pub(super) mod token;

use anyhow::anyhow;
use async_trait::async_trait;
use http::{Method, StatusCode};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OnceCell;
use url::Url;

use crate::core::ids::{Actor, Repo};
use crate::core::remote::Remote;
use crate::forge::client::api::{Answer, Api, Call};
use crate::forge::client::page::Seen;
use crate::forge::wire::{self, incomplete};
use crate::forge::{ForgeError, Limits};

pub(super) use page::Paging;

/// A list longer than this comes from a server that answers in circles.
const MOST_PAGES: usize = 500;

/// Where one forge's API differs from another's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub(super) limits: Limits,
    pub(super) paging: Paging,
    /// Whether the comments of a pull request come page by page, and not all at once.
    pub(super) pages_comments: bool,
    /// Asks for pull requests of any state, the newest change first.
    pub(super) changed_pulls: &'static str,
    /// Begins to ask for the comments of a repository, the oldest first.
    pub(super) comments: &'static str,
    /// Asks for the newest statuses of a commit, newest first.
    pub(super) newest_statuses: &'static str,
}

/// What proves who we are.
#[async_trait]
pub(super) trait Right: Send + Sync {
    /// What proves our right to a repository, or to what everybody may see; good for some minutes at least.
    async fn bearer(&self, api: &Api, repo: Option<&Repo>) -> Result<SecretString, ForgeError>;
    /// Whether a bearer that the forge does not accept was given up, and another may be had.
    async fn gave_up(&self, repo: Option<&Repo>, refused: &SecretString) -> bool;
    /// The account we act as.
    async fn account(&self, api: &Api) -> Result<Actor, ForgeError>;
}

/// An API, and the right to speak to it.
pub(super) struct Client {
    pub(super) api: Api,
    pub(super) dialect: &'static Dialect,
    right: Box<dyn Right>,
    me: OnceCell<Actor>,
}

/// An API, spoken to with the right that is good for what it is about.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    client: &'a Client,
    /// None: about what everybody may see.
    repo: Option<&'a Repo>,
}

impl Client {
    /// Makes no call.
    pub(super) fn new(api: Api, dialect: &'static Dialect, right: Box<dyn Right>) -> Self {
        Self {
            api,
            dialect,
            right,
            me: OnceCell::new(),
        }
    }

    /// Speaks about a repository.
    pub(super) fn about<'a>(&'a self, repo: &'a Repo) -> Line<'a> {
        Line {
            client: self,
            repo: Some(repo),
        }
    }

    /// Speaks about nothing that is a repository's alone.
    pub(super) fn at_large(&self) -> Line<'_> {
        Line {
            client: self,
            repo: None,
        }
    }

    /// The account we act as; asked once and remembered.
    pub(super) async fn me(&self) -> Result<Actor, ForgeError> {
        let ask = || self.right.account(&self.api);
        self.me.get_or_try_init(ask).await.cloned()
    }
}

impl Line<'_> {
    /// What proves our right to the repository, good for some minutes at least.
    pub(super) async fn bearer(&self) -> Result<SecretString, ForgeError> {
        let Client { api, right, .. } = self.client;
        right.bearer(api, self.repo).await
    }

    /// Where git finds the repository at a forge with this address, with our right to it.
    pub(super) async fn remote(&self, forge: &Url, repo: &Repo) -> Result<Remote, ForgeError> {
        let bearer = self.bearer().await?;
        let forge = forge.as_str().trim_end_matches('/');
        Ok(Remote {
            url: format!("{forge}/{}.git", repo.name),
            authorization: Some(token::for_git(&bearer)),
        })
    }

    /// Where the forge differs from others.
    pub(super) fn dialect(&self) -> &'static Dialect {
        self.client.dialect
    }

    /// Reads one thing.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        self.read(path).await?.parse(path)
    }

    /// Reads a list that comes in one piece; what is null in it is left out.
    pub(super) async fn list_whole<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Vec<T>, ForgeError> {
        items(&self.read(path).await?, path)
    }

    /// Reads a list, all of its pages in order.
    pub(super) async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, ForgeError> {
        self.list_until(path, |_| false).await
    }

    /// Reads a list up to the first thing that is too much; no page after that one is asked for.
    pub(super) async fn list_until<T: DeserializeOwned>(
        &self,
        path: &str,
        is_too_much: impl Fn(&T) -> bool,
    ) -> Result<Vec<T>, ForgeError> {
        let Client { api, dialect, .. } = self.client;
        let (mut all, mut page) = (Vec::new(), dialect.paging.first(path));
        for number in 1..=MOST_PAGES {
            let answer = self.read(&page).await?;
            let more: Vec<T> = items(&answer, &page)?;
            let on_page = more.len();
            for item in more {
                if is_too_much(&item) {
                    return Ok(all);
                }
                all.push(item);
            }
            let seen = Seen {
                headers: &answer.headers,
                on_page,
                in_all: all.len(),
            };
            let next = dialect.paging.next(&api.base, (path, number), &seen);
            match next.map_err(ForgeError::Other)? {
                Some(next) => page = next,
                None => return Ok(all),
            }
        }
        let endless = anyhow!("the list {path} has more than {MOST_PAGES} pages");
        Err(ForgeError::Other(endless))
    }

    /// Writes, once: whether to ask again is decided by who knows what a second time would do.
    pub(super) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<T, ForgeError> {
        self.attempt(method, path, body)
            .await?
            .check(path)?
            .parse(path)
    }

    /// Writes, once, and leaves it to the caller what the answer says.
    pub(super) async fn attempt(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Answer, ForgeError> {
        let body = Some(body);
        self.send(&Call { method, path, body }).await
    }

    /// Asks, and leaves it to the caller what the answer says.
    pub(super) async fn ask(&self, path: &str) -> Result<Answer, ForgeError> {
        self.send(&Call::get(path)).await
    }

    async fn read(&self, path: &str) -> Result<Answer, ForgeError> {
        self.ask(path).await?.check(path)
    }

    /// Sends a call; again with a new right when the forge does not accept the one we held, and so did nothing.
    async fn send(&self, call: &Call<'_>) -> Result<Answer, ForgeError> {
        let bearer = self.bearer().await?;
        let answer = self.send_with(call, &bearer).await?;
        let Client { right, .. } = self.client;
        if answer.status != StatusCode::UNAUTHORIZED || !right.gave_up(self.repo, &bearer).await {
            return Ok(answer);
        }
        self.send_with(call, &self.bearer().await?).await
    }

    async fn send_with(
        &self,
        call: &Call<'_>,
        bearer: &SecretString,
    ) -> Result<Answer, ForgeError> {
        let api = &self.client.api;
        match call.method {
            Method::GET => api.call_patiently(call, bearer).await,
            _ => api.call(call, bearer).await,
        }
    }
}

/// Forges may write nothing, or null, for a list that is empty.
fn items<T: DeserializeOwned>(answer: &Answer, path: &str) -> Result<Vec<T>, ForgeError> {
    let items: Option<Vec<Option<T>>> = answer.parse(path)?;
    Ok(items.unwrap_or_default().into_iter().flatten().collect())
}

/// The account behind a bearer.
async fn user_of(api: &Api, bearer: &SecretString) -> Result<Actor, ForgeError> {
    let answer = api.call_patiently(&Call::get("/user"), bearer).await?;
    let user: wire::User = answer.check("/user")?.parse("/user")?;
    user.actor().ok_or_else(|| incomplete("/user"))
}
