//! The server file, `tidegate-server.yml`: what a repository must not decide.

mod file;
mod isolation;
pub(super) mod keys;

use ::core::net::SocketAddr;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::core::ids::{ForgeHost, RepoName};

pub use file::{FILE, read};

/// The server's options, checked. Paths are as written; who reads them resolves them against the file's folder.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerOptions {
    /// Where the forge and the jobs reach `listen`.
    pub public_url: Url,
    /// Webhooks and the runner API.
    pub listen: SocketAddr,
    /// Pages and metrics: they show plans, so they stay off the public address.
    pub listen_pages: SocketAddr,
    /// SQLite file, key, mirrors, reports.
    pub data: PathBuf,
    /// `postgres://…`; none is SQLite in `data`.
    pub database: Option<String>,
    /// 32 bytes, made at first start; none is `data/key`.
    pub key_file: Option<PathBuf>,
    pub forges: Vec<ForgeOptions>,
    pub executor: ExecutorOptions,
}

/// The forges tidegate speaks to. (What each can do stands in `forge`.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    GitHub,
    /// Also Gitea, which speaks alike.
    #[serde(alias = "gitea")]
    Forgejo,
}

/// One forge instance.
#[derive(Clone, Debug, PartialEq)]
pub struct ForgeOptions {
    pub kind: ForgeKind,
    /// The address people open, such as `https://github.com`.
    pub url: Url,
    /// The API's address: `https://api.github.com`, `https://<host>/api/v3` away from it, or Forgejo's
    /// `https://<host>/api/v1`.
    pub api_url: Url,
    /// As whom we act there.
    pub account: Account,
    /// Files with accepted webhook secrets; several while one is replaced. Never empty, and no file may be empty.
    pub webhook_secret_files: Vec<PathBuf>,
    /// Which repositories are served: `owner/name` patterns, `*` within one part.
    pub repos: Vec<String>,
}

/// As whom tidegate acts on a forge, and the file that proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// A user, by the access token in the file.
    Token { file: PathBuf },
    /// A GitHub App, by its number and the private key in the file.
    App { id: u64, key_file: PathBuf },
}

impl Account {
    /// The file with the secret.
    pub fn file(&self) -> &Path {
        match self {
            Self::Token { file } => file,
            Self::App { key_file, .. } => key_file,
        }
    }
}

impl ForgeOptions {
    /// The instance's key in every row: its host, with the port when it has one. (`read` lets no other URL in.)
    pub fn host(&self) -> ForgeHost {
        let host = self.url.host_str().unwrap_or_default();
        let text = self
            .url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        ForgeHost::try_from(text).expect("a URL's host and port are a host name")
    }

    /// Whether a repository is one that its patterns name, part by part.
    pub fn serves(&self, name: &RepoName) -> bool {
        self.repos.iter().any(|it| is_named_by(name.as_str(), it))
    }
}

/// Whether a repository's name fits a pattern: part by part, so that one for `acme` never reaches `evil-acme`. Capitals
/// do not matter: no forge lets two repositories differ in them alone.
pub fn is_named_by(name: &str, pattern: &str) -> bool {
    let (name, pattern) = (name.to_lowercase(), pattern.to_lowercase());
    name.split('/').count() == pattern.split('/').count()
        && name
            .split('/')
            .zip(pattern.split('/'))
            .all(|(part, pattern)| fits(part, pattern))
}

/// Whether a part is its pattern, in which `*` is any text.
fn fits(part: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return part == pattern;
    };
    let (middles, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut between) = part.strip_prefix(start).and_then(|it| it.strip_suffix(end)) else {
        return false;
    };
    for middle in middles.split('*') {
        match between.split_once(middle) {
            Some((_, after)) => between = after,
            None => return false,
        }
    }
    true
}

/// Where jobs run.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorOptions {
    pub kind: ExecutorKind,
    /// Jobs at once.
    pub parallel: usize,
    /// How long one beat keeps a job alive.
    pub lease_seconds: u32,
    /// Names passed on to jobs that only plan.
    pub plan_env: Vec<String>,
    /// Names passed on to jobs that apply.
    pub apply_env: Vec<String>,
    /// Whom jobs run as; none is the server's own user.
    pub user: Option<JobUser>,
    /// Whom jobs that apply run as; none is `user`. Never there without it.
    pub apply_user: Option<JobUser>,
}

impl ExecutorOptions {
    /// Whom jobs that apply run as, when that is not the server's own user.
    pub fn applying_user(&self) -> Option<&JobUser> {
        self.apply_user.as_ref().or(self.user.as_ref())
    }
}

/// A user of the machine that jobs run as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobUser {
    Name(String),
    Id(u32),
}

impl fmt::Display for JobUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Id(id) => id.fmt(f),
        }
    }
}

/// The executors there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorKind {
    Local,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_repositories_part_by_part() {
        for (pattern, name, is_named) in [
            ("*/*", "acme/infra", true),
            ("acme/*", "acme/infra", true),
            ("acme/infra", "acme/infra", true),
            ("Acme/Infra", "acme/infra", true),
            ("acme/infra-*", "acme/infra-net", true),
            ("acme/*-infra-*", "acme/eu-infra-net", true),
            ("acme/infra", "evil-acme/infra", false),
            ("acme/infra", "acme/infra.git", false),
            ("acme/infra", "acme/infra/x", false),
            ("acme/*", "acme-evil/infra", false),
            ("acme/*", "acme/sub/infra", false),
            ("*/*", "group/sub/infra", false),
            ("acme/a*a", "acme/a", false),
            ("acme/*a*b*", "acme/xbxa", false),
        ] {
            assert_eq!(is_named_by(name, pattern), is_named, "{pattern} {name}");
        }
    }
}
