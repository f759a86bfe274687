//! One GitHub API, spoken to in our own name: reads are repeated, writes never, pages are followed to their end.

use anyhow::{Context, anyhow};
use http::{HeaderMap, Method, StatusCode, header};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::core::finding::Finding;
use crate::core::ids::{Actor, Repo};
use crate::forge::ForgeError;
use crate::forge::check::Checkup;
use crate::forge::github::api::{Answer, Api, Call};
use crate::forge::github::app::check;
use crate::forge::github::credentials::Credentials;

/// A list longer than this comes from a server that answers in circles.
const MOST_PAGES: usize = 500;

/// A GitHub API, and the right to speak to it.
pub(super) struct Client {
    pub(super) api: Api,
    credentials: Credentials,
}

/// A GitHub API, spoken to with the right that is good for what it is about.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    client: &'a Client,
    /// None: about what everybody may see.
    repo: Option<&'a Repo>,
}

impl Client {
    /// Takes the API's address; makes no call.
    pub(super) fn new(
        base: &Url,
        credentials: Credentials,
        http: reqwest::Client,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            api: Api::new(base, http)?,
            credentials,
        })
    }

    /// Speaks about a repository.
    pub(super) fn about<'a>(&'a self, repo: &'a Repo) -> Line<'a> {
        Line {
            client: self,
            repo: Some(repo),
        }
    }

    /// Speaks about nothing that is an installation's alone.
    pub(super) fn at_large(&self) -> Line<'_> {
        Line {
            client: self,
            repo: None,
        }
    }

    /// What there is to say of the app we are; none when we are a user.
    pub(super) async fn check_app(&self, checkup: &Checkup<'_>) -> Option<Vec<Finding>> {
        match &self.credentials {
            Credentials::Token(_) => None,
            Credentials::App(app) => Some(check::check(app, &self.api, checkup).await),
        }
    }

    /// The account we act as.
    pub(super) async fn account(&self) -> Result<Actor, ForgeError> {
        self.credentials.account(&self.api).await
    }
}

impl Line<'_> {
    /// What proves our right to the repository, good for some minutes at least.
    pub(super) async fn bearer(&self) -> Result<SecretString, ForgeError> {
        let Client { api, credentials } = self.client;
        credentials.bearer(api, self.repo).await
    }

    /// Reads one thing.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        self.read(path).await?.parse(path)
    }

    /// Reads a list, all of its pages in order.
    pub(super) async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, ForgeError> {
        let (mut items, mut page) = (Vec::new(), path.to_owned());
        for _ in 0..MOST_PAGES {
            let answer = self.read(&page).await?;
            items.extend(answer.parse::<Vec<T>>(&page)?);
            let next = next_page(&self.client.api.base, &answer.headers);
            match next.map_err(ForgeError::Other)? {
                Some(next) => page = next,
                None => return Ok(items),
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
        let body = Some(body);
        let call = Call { method, path, body };
        self.send(&call).await?.check(path)?.parse(path)
    }

    async fn read(&self, path: &str) -> Result<Answer, ForgeError> {
        self.send(&Call::get(path)).await?.check(path)
    }

    /// Sends a call; again with a new right when the forge does not accept the one we held, and so did nothing.
    async fn send(&self, call: &Call<'_>) -> Result<Answer, ForgeError> {
        let bearer = self.bearer().await?;
        let answer = self.send_with(call, &bearer).await?;
        let Client { credentials, .. } = self.client;
        if answer.status != StatusCode::UNAUTHORIZED
            || !credentials.gave_up(self.repo, &bearer).await
        {
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

/// The path of the next page; none on the last one. A link that leads anywhere but into this API is refused, since
/// our token would go with it.
fn next_page(base: &Url, headers: &HeaderMap) -> anyhow::Result<Option<String>> {
    let Some(target) = headers
        .get(header::LINK)
        .and_then(|it| next_link(it.to_str().ok()?))
    else {
        return Ok(None);
    };
    let next = base
        .join(target)
        .context("cannot read the address of the next page")?;
    let root = base.path().trim_end_matches('/');
    let inside = next
        .path()
        .strip_prefix(root)
        .filter(|it| it.starts_with('/'));
    let Some(path) = inside.filter(|_| next.origin() == base.origin()) else {
        return Err(anyhow!(
            "the next page is at {next}, outside {base}; it was not read"
        ));
    };
    Ok(Some(match next.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }))
}

fn next_link(header: &str) -> Option<&str> {
    header.split(',').find_map(|link| {
        let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = parameters.split(';').any(|it| it.trim() == r#"rel="next""#);
        is_next.then_some(target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(base: &str, link: &str) -> anyhow::Result<Option<String>> {
        let mut headers = HeaderMap::new();
        headers.insert(header::LINK, link.parse().unwrap());
        next_page(&base.parse().unwrap(), &headers)
    }

    #[test]
    fn the_next_page_is_a_path_inside_the_api() {
        let cases = [
            (
                "https://api.github.com/",
                r#"<https://api.github.com/repositories/1/pulls?page=1>; rel="prev", <https://api.github.com/repositories/1/pulls?page=3>; rel="next""#,
                Some("/repositories/1/pulls?page=3"),
            ),
            (
                "https://git.acme.example/api/v3",
                r#"<https://git.acme.example/api/v3/repos/a/b/pulls?page=2>; rel="next""#,
                Some("/repos/a/b/pulls?page=2"),
            ),
            (
                "https://api.github.com/",
                r#"<https://api.github.com/x?page=1>; rel="last""#,
                None,
            ),
        ];
        for (base, link, expected) in cases {
            assert_eq!(next(base, link).unwrap().as_deref(), expected, "{link}");
        }
    }

    #[test]
    fn a_next_page_outside_the_api_is_refused() {
        for target in [
            "http://169.254.169.254/latest",
            "https://git.acme.example.evil.example/api/v3/x",
            "http://git.acme.example/api/v3/x",
            "https://git.acme.example:8443/api/v3/x",
            "https://git.acme.example/api/v3/../../admin",
            "https://git.acme.example/api/v3evil/x",
            "//evil.example/api/v3/x",
        ] {
            let link = format!(r#"<{target}>; rel="next""#);
            let refused = next("https://git.acme.example/api/v3", &link);
            assert!(refused.is_err(), "{target}: {refused:?}");
        }
    }
}
