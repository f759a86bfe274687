//! One GitHub API, spoken to with one credential: reads are repeated, writes never, pages are followed to their end.

use std::error::Error;
use std::time::Duration;

use anyhow::{Context, anyhow};
use http::{HeaderMap, Method, Request, StatusCode, header};
use octocrab::{OctoBody, Octocrab};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::forge::ForgeError;
use crate::forge::github::credentials::Credentials;
use crate::forge::github::refusal;

/// How long a read waits before it is tried again; so often, and no more.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// A list longer than this comes from a server that answers in circles.
const MOST_PAGES: usize = 500;

/// A GitHub API.
pub(super) struct Client {
    octocrab: Octocrab,
    base: Url,
    credentials: Credentials,
    pub(super) pauses: [Duration; 3],
}

/// An answer, read to its end.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Client {
    /// Takes the API's address (`https://api.github.com`, or `https://<host>/api/v3`); makes no call.
    pub(super) fn new(
        base: &Url,
        credentials: Credentials,
        http: reqwest::Client,
    ) -> anyhow::Result<Self> {
        let builder = Octocrab::builder()
            .base_uri(base.as_str().trim_end_matches('/'))?
            .add_header(header::ACCEPT, "application/vnd.github+json".to_owned())
            .add_header(header::USER_AGENT, "tidegate".to_owned());
        Ok(Self {
            octocrab: credentials.enter(builder).build_with_reqwest(http)?,
            base: base.clone(),
            credentials,
            pauses: PAUSES,
        })
    }

    /// The right with which it speaks.
    pub(super) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Reads one thing.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        parse(path, &self.read(path).await?)
    }

    /// Reads a list, all of its pages in order.
    pub(super) async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, ForgeError> {
        let (mut items, mut page) = (Vec::new(), path.to_owned());
        for _ in 0..MOST_PAGES {
            let answer = self.read(&page).await?;
            items.extend(parse::<Vec<T>>(&page, &answer)?);
            match next_page(&self.base, &answer.headers).map_err(ForgeError::Other)? {
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
        body: &impl Serialize,
    ) -> Result<T, ForgeError> {
        parse(
            path,
            &self.check(path, self.send(method, path, Some(body)).await?)?,
        )
    }

    /// Reads with patience: what did not come through, or met a server in trouble, is asked again.
    async fn read(&self, path: &str) -> Result<Answer, ForgeError> {
        for pause in self.pauses {
            match self.send(Method::GET, path, None::<&()>).await {
                Ok(answer) if !answer.status.is_server_error() => return self.check(path, answer),
                Ok(_) | Err(_) => tokio::time::sleep(pause).await,
            }
        }
        let last = self.send(Method::GET, path, None::<&()>).await?;
        self.check(path, last)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Answer, ForgeError> {
        let builder = Request::builder().method(method).uri(path);
        let request = self.octocrab.build_request(builder, body);
        match self.exchange(request).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(ForgeError::Other(anyhow!(
                "cannot reach {}: {}",
                self.base,
                self.credentials.scrub(&innermost(&error))
            ))),
        }
    }

    async fn exchange(
        &self,
        request: octocrab::Result<Request<OctoBody>>,
    ) -> octocrab::Result<Answer> {
        let response = self.octocrab.execute(request?).await?;
        Ok(Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: self.octocrab.body_to_string(response).await?,
        })
    }

    fn check(&self, path: &str, answer: Answer) -> Result<Answer, ForgeError> {
        if answer.status.is_success() {
            return Ok(answer);
        }
        let body = self.credentials.scrub(&answer.body);
        Err(refusal::of(path, answer.status, &answer.headers, &body))
    }
}

fn parse<T: DeserializeOwned>(path: &str, answer: &Answer) -> Result<T, ForgeError> {
    serde_json::from_str(&answer.body)
        .with_context(|| format!("cannot read what {path} answered"))
        .map_err(ForgeError::Other)
}

/// octocrab wraps what went wrong in names of its own layers.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
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
