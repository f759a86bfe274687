//! A bare copy of a repository that is kept up to date with its remote.

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use anyhow::Context;

use crate::core::ids::{Branch, Repo, Sha};
use crate::core::remote::Remote;
use crate::git::command;
use crate::git::repository::{Repository, sha};

/// One lock a folder: two fetches into one mirror would fail each other's refs.
static FOLDERS: LazyLock<Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>> =
    LazyLock::new(Mutex::default);

/// A bare repository and the remote it copies. Fetches into one folder take turns within this process.
#[derive(Clone, Debug)]
pub struct Mirror {
    repository: Repository,
    remote: Option<Remote>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// What the remote says of a branch, and of its own default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heads {
    /// None when there is no such branch.
    pub tip: Option<Sha>,
    /// None when the remote has no branch yet.
    pub default: Option<Branch>,
}

/// A mirror is read like any repository.
impl Deref for Mirror {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        &self.repository
    }
}

impl Mirror {
    /// Opens the mirror in `dir`, and makes an empty one when there is none.
    pub async fn open(dir: &Path, remote: Option<Remote>) -> anyhow::Result<Self> {
        let turn = turn(dir);
        let guard = turn.lock().await;
        if !dir.join("HEAD").exists() {
            create(dir)
                .await
                .with_context(|| format!("cannot make a mirror in {}", dir.display()))?;
        }
        drop(guard);
        Ok(Self {
            repository: Repository::at(dir),
            remote,
            turn,
        })
    }

    /// Fetches what `refspecs` name (`+refs/pull/7/head:refs/pull/7/head`, or a commit).
    pub async fn fetch(&self, refspecs: &[&str]) -> anyhow::Result<()> {
        self.fetch_with(&[], refspecs).await
    }

    /// Fetches all branches into `refs/remotes/origin/`, and forgets those that are gone.
    pub async fn fetch_all_heads(&self) -> anyhow::Result<()> {
        self.fetch_with(&["--prune"], &["+refs/heads/*:refs/remotes/origin/*"])
            .await
    }

    /// The commit a branch of the remote is at, none when there is no such branch. Fetches nothing.
    pub async fn remote_tip(&self, branch: &Branch) -> anyhow::Result<Option<Sha>> {
        Ok(self.heads(branch).await?.tip)
    }

    /// The commit a branch of the remote is at, and which branch is the default: one question. Fetches nothing.
    pub async fn heads(&self, branch: &Branch) -> anyhow::Result<Heads> {
        let name = format!("refs/heads/{branch}");
        let what = format!("see where {branch} is");
        let said = self.ls_remote(&["HEAD", &name], &what).await?;
        Ok(Heads {
            tip: tip_of(&said, &name)?,
            default: head(&said)?,
        })
    }

    /// Where the default branch and another one are, those that are there: one question. Fetches nothing.
    pub async fn tips(&self, other: &Branch) -> anyhow::Result<BTreeMap<Branch, Sha>> {
        let name = format!("refs/heads/{other}");
        let said = self
            .ls_remote(&["HEAD", &name], "see where its branches are")
            .await?;
        let default = match head(&said)? {
            Some(default) => tip_of(&said, "HEAD")?.map(|tip| (default, tip)),
            None => None,
        };
        let other = tip_of(&said, &name)?.map(|tip| (other.clone(), tip));
        Ok(default.into_iter().chain(other).collect())
    }

    /// Where the mirror of a repository stands below `mirrors`: by forge and number, so that a rename moves nothing.
    pub fn folder(mirrors: &Path, repo: &Repo) -> PathBuf {
        mirrors
            .join(repo.forge.as_str())
            .join(format!("{}.git", repo.id))
    }

    /// The remote's default branch; none when it has no branch yet.
    pub async fn default_branch(&self) -> anyhow::Result<Option<Branch>> {
        let what = "see which branch is the default";
        head(&self.ls_remote(&["HEAD"], what).await?)
    }

    async fn ls_remote(&self, names: &[&str], what: &str) -> anyhow::Result<String> {
        let remote = self.remote()?;
        let program = command::git_with(self.dir(), remote)
            .args(["ls-remote", "--quiet", "--symref", "--", &remote.url])
            .args(names);
        let what = format!("{what} in {}", remote.url);
        let said = command::output(program, &what).await?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    pub(super) fn remote(&self) -> anyhow::Result<&Remote> {
        self.remote
            .as_ref()
            .with_context(|| format!("{} has no remote", self.dir().display()))
    }

    async fn fetch_with(&self, options: &[&str], refspecs: &[&str]) -> anyhow::Result<()> {
        let remote = self.remote()?;
        let program = command::git_with(self.dir(), remote)
            .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"])
            .args(options)
            .args(["--", &remote.url])
            .args(refspecs);
        let _turn = self.turn.lock().await;
        command::output(program, &format!("fetch from {}", remote.url)).await?;
        Ok(())
    }
}

/// The commit of exactly this ref: a pattern matches the end of a name, so other refs may be listed beside it.
fn tip_of(said: &str, name: &str) -> anyhow::Result<Option<Sha>> {
    let mut refs = said.lines().filter_map(|it| it.split_once('\t'));
    // Another line says what HEAD stands for, and no commit.
    let found = refs.find(|(tip, found)| *found == name && !tip.starts_with("ref: "));
    found.map(|(tip, _)| sha(tip.as_bytes())).transpose()
}

/// The branch that `HEAD` stands for in what `ls-remote --symref` said.
fn head(said: &str) -> anyhow::Result<Option<Branch>> {
    let name = said.lines().find_map(|it| {
        let (name, of) = it.strip_prefix("ref: refs/heads/")?.split_once('\t')?;
        (of == "HEAD").then_some(name)
    });
    Ok(name.map(Branch::try_from).transpose()?)
}

fn turn(dir: &Path) -> Arc<tokio::sync::Mutex<()>> {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    folders.entry(dir.to_owned()).or_default().clone()
}

/// Makes the mirror beside its place and moves it there, so that a half-made one is never opened.
async fn create(dir: &Path) -> anyhow::Result<()> {
    let parent = dir
        .parent()
        .context("a mirror needs a folder to stand in")?;
    tokio::fs::create_dir_all(parent).await?;
    let making = tempfile::tempdir_in(parent)?;
    let bare = making.path().join("bare.git");
    let path = bare.to_string_lossy().into_owned();
    let steps: [&[&str]; 3] = [
        &["init", "--quiet", "--bare", "--template=", &path],
        &[
            "--git-dir",
            &path,
            "config",
            "uploadpack.allowAnySHA1InWant",
            "true",
        ],
        &[
            "--git-dir",
            &path,
            "config",
            "uploadpack.allowFilter",
            "true",
        ],
    ];
    for args in steps {
        command::output(command::git(making.path()).args(args), "make a repository").await?;
    }
    tokio::fs::rename(&bare, dir).await?;
    Ok(())
}
