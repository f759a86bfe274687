//! The people of the story: what they do on the forge, with nothing but its API, git and their own tokens.

use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine;
use reqwest::Method;
use serde_json::{Value, json};
use url::Url;

use crate::process::Program;

/// The repository of the story.
pub(super) const REPO: &str = "acme/infra";

/// Somebody with an account on the sandbox.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) login: &'static str,
    token: String,
    api: Url,
    http: reqwest::Client,
}

impl Person {
    /// Somebody who signs in at `api` with a token of theirs.
    pub(super) fn new(login: &'static str, token: &str, api: &Url, http: &reqwest::Client) -> Self {
        Self {
            login,
            token: token.to_owned(),
            api: api.clone(),
            http: http.clone(),
        }
    }

    /// Reads something of the repository.
    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, path, None).await
    }

    /// Opens a pull request and answers its number.
    pub(super) async fn open_pull(
        &self,
        title: &str,
        head: &str,
        body: &str,
    ) -> anyhow::Result<u64> {
        let pull = json!({ "title": title, "head": head, "base": "main", "body": body });
        let opened = self.call(Method::POST, "pulls", Some(pull)).await?;
        opened["number"]
            .as_u64()
            .context("the forge opened a pull request without a number")
    }

    /// Comments on a pull request and answers the comment's number.
    pub(super) async fn comment(&self, pull: u64, body: &str) -> anyhow::Result<u64> {
        let said = self
            .call(
                Method::POST,
                &format!("issues/{pull}/comments"),
                Some(json!({ "body": body })),
            )
            .await?;
        said["id"]
            .as_u64()
            .context("the forge took a comment without a number")
    }

    /// Approves a pull request's head in a review.
    pub(super) async fn review(&self, pull: u64) -> anyhow::Result<()> {
        let review = json!({ "event": "APPROVE", "body": "Looks right to me." });
        self.call(Method::POST, &format!("pulls/{pull}/reviews"), Some(review))
            .await
            .map(drop)
    }

    /// Merges a pull request and answers the merge commit.
    pub(super) async fn merge(&self, pull: u64) -> anyhow::Result<String> {
        let merged = self
            .call(Method::PUT, &format!("pulls/{pull}/merge"), Some(json!({})))
            .await?;
        merged["sha"]
            .as_str()
            .map(str::to_owned)
            .context("the forge merged without naming the commit")
    }

    /// Copies the repository into an account of their own.
    pub(super) async fn fork(&self) -> anyhow::Result<()> {
        self.call(Method::POST, "forks", Some(json!({})))
            .await
            .map(drop)
    }

    /// Runs git as this person: the token goes into the environment, never into an argument.
    pub(super) async fn git(&self, dir: &Path, args: &[&str]) -> anyhow::Result<String> {
        let basic = base64::engine::general_purpose::STANDARD
            .encode(format!("{}:{}", self.login, self.token));
        let ran = Program::new("git")
            .args(args)
            .dir(dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "http.extraHeader")
            .env(
                "GIT_CONFIG_VALUE_0",
                format!("Authorization: Basic {basic}"),
            )
            .env("GIT_AUTHOR_NAME", self.login)
            .env("GIT_AUTHOR_EMAIL", format!("{}@acme.example", self.login))
            .env("GIT_COMMITTER_NAME", self.login)
            .env(
                "GIT_COMMITTER_EMAIL",
                format!("{}@acme.example", self.login),
            )
            .run()
            .await
            .context("cannot run git")?;
        if ran.code() != Some(0) {
            bail!(
                "git {} failed: {}",
                args.first().unwrap_or(&""),
                ran.complaint()
            );
        }
        Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let url = format!("{}repos/{REPO}/{path}", self.api);
        let mut request = self
            .http
            .request(method.clone(), &url)
            .bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request
            .send()
            .await
            .with_context(|| format!("the sandbox does not answer {method} {path}"))?;
        let status = answer.status();
        let text = answer.text().await?;
        if !status.is_success() {
            bail!(
                "the sandbox answers {status} to {method} {path} by {}: {text}",
                self.login
            );
        }
        if text.is_empty() {
            Ok(Value::Null)
        } else {
            Ok(serde_json::from_str(&text)?)
        }
    }
}
