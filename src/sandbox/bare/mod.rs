//! The bare repositories behind the sandbox, by git's own program.

mod change;
mod history;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jiff::Timestamp;

pub(crate) use crate::sandbox::bare::change::{Change, ChangeKind};
pub(crate) use crate::sandbox::bare::history::{Commit, Signature};

use crate::core::ids::{PullNumber, RepoId, Sha};
use crate::process::{Program, Ran};
use crate::sandbox::model::REPO_FIRST_BRANCH;
use crate::sandbox::model::pull::Size;

/// What git calls the tree without files.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// The folder with one bare repository per repository, named by its number.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    root: PathBuf,
}

/// A commit to be written.
pub(crate) struct NewCommit<'a> {
    pub(crate) tree: &'a str,
    pub(crate) parents: &'a [&'a Sha],
    pub(crate) name: &'a str,
    pub(crate) address: &'a str,
    pub(crate) message: &'a str,
    pub(crate) at: Timestamp,
}

/// The ref that holds a pull request's head in the repository it is opened in.
pub(crate) fn head_ref(number: PullNumber) -> String {
    format!("refs/pull/{number}/head")
}

impl Shelf {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, repo: RepoId) -> PathBuf {
        self.root.join(format!("{repo}.git"))
    }

    /// Makes a bare repository, filled from another when there is one; one that is there is left alone.
    pub(crate) async fn ensure(&self, repo: RepoId, parent: Option<RepoId>) -> anyhow::Result<()> {
        let path = self.path(repo);
        if path.join("config").is_file() {
            return Ok(());
        }
        std::fs::create_dir_all(&path).context("cannot make a bare repository's folder")?;
        let first = format!("--initial-branch={REPO_FIRST_BRANCH}");
        self.text(repo, &["init", "--quiet", "--bare", "--template=", &first])
            .await?;
        if let Some(parent) = parent {
            let from = self.path(parent);
            let from = from.to_string_lossy();
            self.text(
                repo,
                &["fetch", "--quiet", &from, "+refs/heads/*:refs/heads/*"],
            )
            .await?;
        }
        // Only the sandbox itself writes the refs of pull requests.
        for (key, value) in [
            ("receive.hideRefs", "refs/pull"),
            ("uploadpack.allowAnySHA1InWant", "true"),
        ] {
            self.text(repo, &["config", key, value]).await?;
        }
        Ok(())
    }

    /// Every branch and its tip.
    pub(crate) async fn branches(&self, repo: RepoId) -> anyhow::Result<BTreeMap<String, Sha>> {
        let format = "--format=%(objectname) %(refname:lstrip=2)";
        let listed = self
            .text(repo, &["for-each-ref", format, "refs/heads"])
            .await?;
        let mut branches = BTreeMap::new();
        for line in listed.lines() {
            let (sha, branch) = line.split_once(' ').context("git lists a bad ref")?;
            branches.insert(branch.to_owned(), Sha::try_from(sha)?);
        }
        Ok(branches)
    }

    /// A branch's tip.
    pub(crate) async fn tip(&self, repo: RepoId, branch: &str) -> anyhow::Result<Option<Sha>> {
        self.resolve(repo, &format!("refs/heads/{branch}")).await
    }

    /// The commit that a full commit id or a ref names.
    pub(crate) async fn resolve(&self, repo: RepoId, name: &str) -> anyhow::Result<Option<Sha>> {
        let commit = format!("{name}^{{commit}}");
        let ran = self
            .run(
                repo,
                &[
                    "rev-parse",
                    "--quiet",
                    "--verify",
                    "--end-of-options",
                    &commit,
                ],
            )
            .await?;
        if ran.code() != Some(0) {
            return Ok(None);
        }
        let sha = String::from_utf8(ran.stdout)?;
        Ok(Some(Sha::try_from(sha.trim())?))
    }

    pub(crate) async fn is_ancestor(
        &self,
        repo: RepoId,
        older: &Sha,
        newer: &Sha,
    ) -> anyhow::Result<bool> {
        let args = [
            "merge-base",
            "--is-ancestor",
            older.as_str(),
            newer.as_str(),
        ];
        match self.run(repo, &args).await?.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => bail!("git cannot compare {older} with {newer}"),
        }
    }

    /// The tree that merging `head` into `base` makes; none when they conflict.
    pub(crate) async fn merged_tree(
        &self,
        repo: RepoId,
        base: &Sha,
        head: &Sha,
    ) -> anyhow::Result<Option<String>> {
        let args = ["merge-tree", "--write-tree", base.as_str(), head.as_str()];
        let ran = self.run(repo, &args).await?;
        match ran.code() {
            Some(0) => Ok(Some(String::from_utf8(ran.stdout)?.trim().to_owned())),
            Some(1) => Ok(None),
            _ => bail!("git cannot merge {head} into {base}: {}", ran.complaint()),
        }
    }

    /// Writes a commit; no ref names it yet.
    pub(crate) async fn write(&self, repo: RepoId, new: &NewCommit<'_>) -> anyhow::Result<Sha> {
        let at = format!("{} +0000", new.at.as_second());
        let mut args = vec!["commit-tree", new.tree, "-F", "-"];
        for parent in new.parents {
            args.extend(["-p", parent.as_str()]);
        }
        let mut program = self
            .program(repo, &args)
            .stdin(new.message.as_bytes().to_vec());
        for role in ["AUTHOR", "COMMITTER"] {
            program = program
                .env(format!("GIT_{role}_NAME"), new.name)
                .env(format!("GIT_{role}_EMAIL"), new.address)
                .env(format!("GIT_{role}_DATE"), &at);
        }
        let ran = program.run().await.context("cannot start git")?;
        Ok(Sha::try_from(
            checked(ran, "commit-tree")?.trim().to_owned(),
        )?)
    }

    /// Moves a ref; it must be where the caller last saw it, when they say where.
    pub(crate) async fn move_ref(
        &self,
        repo: RepoId,
        name: &str,
        (old, new): (Option<&Sha>, &Sha),
    ) -> anyhow::Result<()> {
        let mut args = vec!["update-ref", name, new.as_str()];
        args.extend(old.map(Sha::as_str));
        self.text(repo, &args).await.map(drop)
    }

    /// Brings a pull request's head into the repository it is opened in, from a fork if need be.
    pub(crate) async fn bring_head(
        &self,
        (from, to): (RepoId, RepoId),
        sha: &Sha,
        number: PullNumber,
    ) -> anyhow::Result<()> {
        let name = head_ref(number);
        if from == to {
            return self.move_ref(to, &name, (None, sha)).await;
        }
        let source = self.path(from);
        let source = source.to_string_lossy();
        let spec = format!("+{sha}:{name}");
        self.text(to, &["fetch", "--quiet", "--no-tags", &source, &spec])
            .await
            .map(drop)
    }

    /// How much `head` changes, seen from where it left `base`.
    pub(crate) async fn size(&self, repo: RepoId, base: &Sha, head: &Sha) -> anyhow::Result<Size> {
        let range = format!("{base}..{head}");
        let commits = self.text(repo, &["rev-list", "--count", &range]).await?;
        let changes = self.changes_of_pull(repo, base, head).await?;
        Ok(Size {
            commits: commits.trim().parse()?,
            additions: changes.iter().map(|it| it.additions).sum(),
            deletions: changes.iter().map(|it| it.deletions).sum(),
            files: changes.len() as u64,
        })
    }

    /// Whether two heads change the same, each seen from where it left its base.
    pub(crate) async fn is_same_change(
        &self,
        repo: RepoId,
        (old_base, old_head): (&Sha, &Sha),
        (new_base, new_head): (&Sha, &Sha),
    ) -> anyhow::Result<bool> {
        let old = format!("{old_base}...{old_head}");
        let new = format!("{new_base}...{new_head}");
        Ok(self.text(repo, &["diff", &old]).await? == self.text(repo, &["diff", &new]).await?)
    }

    async fn text(&self, repo: RepoId, args: &[&str]) -> anyhow::Result<String> {
        let ran = self.run(repo, args).await?;
        checked(ran, args[0])
    }

    async fn run(&self, repo: RepoId, args: &[&str]) -> anyhow::Result<Ran> {
        let ran = self.program(repo, args).run().await;
        ran.context("cannot start git")
    }

    fn program(&self, repo: RepoId, args: &[&str]) -> Program {
        Program::new("git")
            .args(args)
            .dir(&self.path(repo))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
    }
}

fn checked(ran: Ran, what: &str) -> anyhow::Result<String> {
    if ran.code() != Some(0) {
        bail!("git {what} failed: {}", ran.complaint());
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}
