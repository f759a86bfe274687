//! One API over HTTP: a request and the right to make it in, the whole answer out.

use std::error::Error;
use std::time::Duration;

use anyhow::{Context, anyhow};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use jiff::Timestamp;
use octocrab::{OctoBody, Octocrab};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::core::hidden::Hidden;
use crate::forge::ForgeError;
use crate::forge::check::http_date;
use crate::forge::client::refusal;

/// How long a call that may be repeated waits before it is; so often, and no more.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// An API, without a right to anything.
pub(in crate::forge) struct Api {
    octocrab: Octocrab,
    pub(in crate::forge) base: Url,
    pub(in crate::forge) pauses: [Duration; 3],
}

/// A request.
#[derive(Clone)]
pub(in crate::forge) struct Call<'a> {
    pub(in crate::forge) method: Method,
    pub(in crate::forge) path: &'a str,
    pub(in crate::forge) body: Option<&'a Value>,
}

impl<'a> Call<'a> {
    /// A read.
    pub(in crate::forge) fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            body: None,
        }
    }
}

/// An answer, read to its end. One that is no success never shows the bearer.
pub(in crate::forge) struct Answer {
    pub(in crate::forge) status: StatusCode,
    pub(in crate::forge) headers: HeaderMap,
    pub(in crate::forge) body: String,
}

impl Answer {
    /// What the forge's clock said when it answered.
    pub(in crate::forge) fn date(&self) -> Option<Timestamp> {
        let text = self.headers.get(header::DATE)?.to_str().ok()?;
        http_date(text)
    }

    /// Reads its body; an empty one is nothing.
    pub(in crate::forge) fn parse<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        let body = match self.body.trim() {
            "" => "null",
            body => body,
        };
        serde_json::from_str(body)
            .with_context(|| format!("cannot read what {path} answered"))
            .map_err(ForgeError::Other)
    }

    /// Why it is no success; itself when it is one.
    pub(in crate::forge) fn check(self, path: &str) -> Result<Self, ForgeError> {
        if self.status.is_success() {
            return Ok(self);
        }
        let Self {
            status,
            headers,
            body,
        } = self;
        Err(refusal::of(path, status, &headers, &body))
    }
}

impl Api {
    /// Takes the API's address (such as `https://api.github.com`) and what it is asked to answer in; makes no call.
    pub(in crate::forge) fn new(
        base: &Url,
        accept: &str,
        http: reqwest::Client,
    ) -> anyhow::Result<Self> {
        let builder = Octocrab::builder()
            .base_uri(base.as_str().trim_end_matches('/'))?
            .add_header(header::ACCEPT, accept.to_owned())
            .add_header(header::USER_AGENT, "tidegate".to_owned());
        Ok(Self {
            octocrab: builder.build_with_reqwest(http)?,
            base: base.clone(),
            pauses: PAUSES,
        })
    }

    /// Calls once.
    pub(in crate::forge) async fn call(
        &self,
        call: &Call<'_>,
        bearer: &SecretString,
    ) -> Result<Answer, ForgeError> {
        match self.exchange(call, bearer).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(ForgeError::Other(anyhow!(
                "cannot reach {}: {}",
                self.base,
                scrub(&innermost(&*error), bearer)
            ))),
        }
    }

    /// Calls with patience: what did not come through, or met a server in trouble, is asked again.
    pub(in crate::forge) async fn call_patiently(
        &self,
        call: &Call<'_>,
        bearer: &SecretString,
    ) -> Result<Answer, ForgeError> {
        for pause in self.pauses {
            match self.call(call, bearer).await {
                Ok(answer) if !answer.status.is_server_error() => return Ok(answer),
                Ok(_) | Err(_) => tokio::time::sleep(pause).await,
            }
        }
        self.call(call, bearer).await
    }

    async fn exchange(
        &self,
        call: &Call<'_>,
        bearer: &SecretString,
    ) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let mut right = HeaderValue::from_str(&format!("Bearer {}", bearer.expose_secret()))?;
        right.set_sensitive(true);
        let builder = Request::builder()
            .method(call.method.clone())
            .uri(call.path)
            .header(header::AUTHORIZATION, right);
        let request: Request<OctoBody> = self.octocrab.build_request(builder, call.body)?;
        let response = self.octocrab.execute(request).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let text = self.octocrab.body_to_string(response).await?;
        let body = match status.is_success() {
            true => text,
            false => scrub(&text, bearer),
        };
        Ok(Answer {
            status,
            headers,
            body,
        })
    }
}

/// Takes the secret out of a text that came from outside.
fn scrub(text: &str, bearer: &SecretString) -> String {
    Hidden::new([("token", bearer.expose_secret())]).cover(text)
}

/// octocrab wraps what went wrong in names of its own layers.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
