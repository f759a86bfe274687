//! A job's line to its server: what to do, the beat that keeps its lease, the gate, the end.
//!
//! The server may restart while a job runs. So a call that does not get through is repeated with growing pauses for
//! as long as the lease can still be renewed; a call the server understood and refused (4xx) is not.

use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::{Method, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use url::Url;

use crate::core::job::{Answer, Beat, BeatAnswer, JobSpec, Question, Report};
use crate::core::remote::Remote;

/// How long a server may take to come up before the first beat told how long the lease is.
const FIRST_PATIENCE: Duration = Duration::from_secs(120);
/// How long an end is offered at least: what was applied must not go unsaid because a server was slow to restart.
const END_PATIENCE: Duration = Duration::from_secs(900);
/// The part of a lease that is left for interrupting Terraform when it cannot be renewed.
const RESERVE: u32 = 6;
/// Pauses between tries.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A job's line to its server.
pub struct Runner {
    client: reqwest::Client,
    server: Url,
    token: SecretString,
    /// Until when calls are repeated.
    patience: Mutex<Instant>,
}

/// One call, to be sent as often as it takes.
struct Call<'a> {
    method: Method,
    path: &'a str,
    body: Option<String>,
}

/// What became of one try of a call.
enum Try {
    Answered(Vec<u8>),
    /// It may work later.
    Later(String),
    /// The server understood and refused.
    Refused(String),
}

impl Runner {
    /// A line to `server` with the token of one job and attempt.
    pub fn new(server: Url, token: SecretString) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(120))
            .build()
            .context("cannot make an HTTP client")?;
        Ok(Self {
            client,
            server,
            token,
            patience: Mutex::new(Instant::now() + FIRST_PATIENCE),
        })
    }

    /// Asks what to do.
    pub async fn spec(&self) -> anyhow::Result<JobSpec> {
        let call = Call::get("runner/job");
        self.call(&call, self.patience()).await
    }

    /// Says what the job is doing and renews its lease.
    pub async fn beat(&self, doing: &str) -> anyhow::Result<BeatAnswer> {
        let doing = doing.to_owned();
        let call = Call::post("runner/beat", &Beat { doing })?;
        let sent = Instant::now();
        let answer: BeatAnswer = self.call(&call, self.patience()).await?;
        let lease = Duration::from_secs(answer.lease_seconds.into());
        *self.lock() = sent + lease - lease / RESERVE;
        Ok(answer)
    }

    /// Asks whether these plans may be applied.
    pub async fn ask(&self, question: &Question) -> anyhow::Result<Answer> {
        let call = Call::post("runner/gate", question)?;
        self.call(&call, self.patience()).await
    }

    /// Says how the job ended.
    pub async fn end(&self, report: &Report) -> anyhow::Result<()> {
        let call = Call::post("runner/end", report)?;
        let until = self.patience().max(Instant::now() + END_PATIENCE);
        self.send(&call, until).await.map(drop)
    }

    /// Where the job fetches its commit from, and with which right.
    pub fn remote(&self) -> anyhow::Result<Remote> {
        Ok(Remote {
            url: self.address("runner/git/repo.git")?.into(),
            authorization: Some(self.authorization()),
        })
    }

    async fn call<T: DeserializeOwned>(
        &self,
        call: &Call<'_>,
        until: Instant,
    ) -> anyhow::Result<T> {
        let body = self.send(call, until).await?;
        serde_json::from_slice(&body)
            .with_context(|| format!("cannot read the server's answer to {}", call.path))
    }

    async fn send(&self, call: &Call<'_>, until: Instant) -> anyhow::Result<Vec<u8>> {
        let mut pause = FIRST_PAUSE;
        loop {
            let problem = match self.try_once(call, until).await? {
                Try::Answered(body) => return Ok(body),
                Try::Refused(why) => bail!("the server refused {}: {why}", call.path),
                Try::Later(problem) => problem,
            };
            if Instant::now() + pause >= until {
                bail!("cannot reach the server with {}: {problem}", call.path);
            }
            tracing::warn!(
                call = call.path,
                problem,
                "the server does not answer, trying again"
            );
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn try_once(&self, call: &Call<'_>, until: Instant) -> anyhow::Result<Try> {
        let request = self.request(call)?;
        let tried = tokio::time::timeout_at(until, async {
            let response = request.send().await?;
            let status = response.status();
            Ok::<_, reqwest::Error>((status, response.bytes().await?))
        });
        Ok(match tried.await {
            Err(_) => Try::Later("no answer in time".to_owned()),
            Ok(Err(error)) => Try::Later(describe(&error)),
            Ok(Ok((status, body))) => judge(status, body.to_vec()),
        })
    }

    fn request(&self, call: &Call<'_>) -> anyhow::Result<RequestBuilder> {
        let request = self
            .client
            .request(call.method.clone(), self.address(call.path)?)
            .header("authorization", self.authorization().expose_secret());
        Ok(match &call.body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(body.clone()),
            None => request,
        })
    }

    /// The server may live below a path: `https://host/tidegate/`.
    fn address(&self, path: &str) -> anyhow::Result<Url> {
        let base = self.server.as_str().trim_end_matches('/');
        Url::parse(&format!("{base}/{path}")).context("the server's address is not a URL")
    }

    fn authorization(&self) -> SecretString {
        format!("Bearer {}", self.token.expose_secret()).into()
    }

    fn patience(&self) -> Instant {
        *self.lock()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.patience
            .lock()
            .expect("nothing panics while it holds this lock")
    }
}

impl<'a> Call<'a> {
    fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            body: None,
        }
    }

    fn post(path: &'a str, body: &impl Serialize) -> anyhow::Result<Self> {
        let body = serde_json::to_string(body).context("cannot write a message to the server")?;
        Ok(Self {
            method: Method::POST,
            path,
            body: Some(body),
        })
    }
}

fn judge(status: StatusCode, body: Vec<u8>) -> Try {
    if status.is_success() {
        return Try::Answered(body);
    }
    let text: String = String::from_utf8_lossy(&body).chars().take(300).collect();
    let why = format!("{status} {}", text.trim());
    if status.is_server_error() {
        Try::Later(why)
    } else {
        Try::Refused(why)
    }
}

/// An error with its causes: the outer text alone says no more than "error sending request".
fn describe(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;
