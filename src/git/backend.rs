//! Serves bare repositories over smart HTTP through `git http-backend`: read only to jobs, writable in the sandbox.

use std::path::PathBuf;
use std::pin::Pin;

use anyhow::{Context, bail};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};

use crate::process::Program;

/// The longest head that a CGI answer may have, in bytes.
const HEAD_LIMIT: usize = 16 << 10;

/// The repositories of one folder, and what may be done with them. It knows no users: who may ask is the caller's.
#[derive(Clone, Debug)]
pub struct Backend {
    /// The folder that holds the bare repositories.
    pub root: PathBuf,
    /// What every request through this backend may do.
    pub access: Access,
}

/// What requests may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Fetch.
    Read,
    /// Fetch and push.
    Write,
}

/// A stream of bytes, into git or out of it.
pub type Body = Pin<Box<dyn AsyncRead + Send>>;

/// One HTTP request to git.
pub struct BackendRequest {
    pub method: Method,
    /// The path below the root, such as `12.git/info/refs`.
    pub path: String,
    /// The query without its question mark.
    pub query: String,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Content-Encoding`; git unpacks gzip itself.
    pub content_encoding: Option<String>,
    /// `Git-Protocol`.
    pub git_protocol: Option<String>,
    pub body: Body,
}

/// Git's answer. Its body ends when git has done all it was asked; dropping it stops git.
pub struct BackendResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Body,
}

impl Backend {
    /// Answers one request; a path that names no repository of this folder is a 404.
    pub async fn answer(&self, request: BackendRequest) -> anyhow::Result<BackendResponse> {
        if !is_served(&request.path) {
            return Ok(not_found());
        }
        let (mut stdin, output) = self
            .program(&request)
            .stream()
            .context("cannot start `git http-backend`")?;
        let mut input = request.body;
        tokio::spawn(async move {
            // Git that stops reading closes the pipe and says why in its answer; a broken request ends its input.
            let _ = tokio::io::copy(&mut input, &mut stdin).await;
            let _ = stdin.shutdown().await;
        });
        let mut output = BufReader::new(output);
        let (status, headers) = read_head(&mut output)
            .await
            .context("cannot read the answer of `git http-backend`")?;
        Ok(BackendResponse {
            status,
            headers,
            body: Box::pin(output),
        })
    }

    fn program(&self, request: &BackendRequest) -> Program {
        let mut program = Program::new("git")
            .args(["http-backend"])
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("REQUEST_METHOD", request.method.as_str())
            .env("PATH_INFO", format!("/{}", request.path))
            .env("QUERY_STRING", &request.query);
        let optional = [
            ("CONTENT_TYPE", &request.content_type),
            ("HTTP_CONTENT_ENCODING", &request.content_encoding),
            ("GIT_PROTOCOL", &request.git_protocol),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                program = program.env(name, value);
            }
        }
        let settings = self.settings();
        program = program.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (number, (key, value)) in settings.into_iter().enumerate() {
            program = program
                .env(format!("GIT_CONFIG_KEY_{number}"), key)
                .env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        program
    }

    fn settings(&self) -> [(&'static str, &'static str); 6] {
        let may_push = match self.access {
            Access::Read => "false",
            Access::Write => "true",
        };
        [
            ("http.receivepack", may_push),
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("uploadpack.allowFilter", "true"),
            // The folder may belong to another user than the one who runs us; the caller vouches for it.
            ("safe.directory", "*"),
            // A repack behind the answer would change files under the next request.
            ("receive.autogc", "false"),
            ("gc.auto", "0"),
        ]
    }
}

/// Whether a path names a file or service of a bare repository: `<name>.git/…`, nothing else, and never upwards.
fn is_served(path: &str) -> bool {
    let Some((name, rest)) = path.split_once(".git/") else {
        return false;
    };
    let is_plain = |text: &str| {
        text.split('/').all(|part| {
            !matches!(part, "" | "." | "..")
                && part
                    .bytes()
                    .all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
        })
    };
    let is_known = matches!(
        rest,
        "info/refs" | "git-upload-pack" | "git-receive-pack" | "HEAD"
    ) || rest.starts_with("objects/");
    is_plain(name) && is_plain(rest) && is_known
}

fn not_found() -> BackendResponse {
    BackendResponse {
        status: StatusCode::NOT_FOUND,
        headers: HeaderMap::new(),
        body: Box::pin(tokio::io::empty()),
    }
}

/// Reads a CGI answer's head: header lines up to an empty one, the status among them.
async fn read_head(
    output: &mut (impl AsyncBufRead + Unpin),
) -> anyhow::Result<(StatusCode, HeaderMap)> {
    let (mut status, mut headers, mut length) = (StatusCode::OK, HeaderMap::new(), 0);
    loop {
        let mut line = String::new();
        length += output.read_line(&mut line).await?;
        if line.is_empty() || length > HEAD_LIMIT {
            bail!("its head does not end");
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Ok((status, headers));
        }
        let (name, value) = line.split_once(':').context("its head has a bad line")?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().unwrap_or_default();
            status = code.parse().context("its status is not a number")?;
        } else {
            headers.append(
                HeaderName::try_from(name).context("its head names no header")?,
                HeaderValue::from_str(value).context("its head holds no text")?,
            );
        }
    }
}

#[cfg(test)]
mod tests;
