//! Commits, as git tells them.

use anyhow::Context;
use jiff::Timestamp;

use crate::core::ids::{RepoId, Sha};
use crate::sandbox::bare::change::Change;
use crate::sandbox::bare::{EMPTY_TREE, Shelf};

/// One commit and what it changes against its first parent.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) sha: Sha,
    pub(crate) tree: Sha,
    pub(crate) parents: Vec<Sha>,
    pub(crate) author: Signature,
    pub(crate) committer: Signature,
    pub(crate) message: String,
    pub(crate) changes: Vec<Change>,
}

/// Who wrote a commit, and when.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) at: Timestamp,
}

/// A commit's parts, with a NUL after each.
const FORMAT: &str =
    "--format=tformat:%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B";
const PARTS: usize = 10;

impl Shelf {
    /// The commit of that id.
    pub(crate) async fn commit(&self, repo: RepoId, sha: &Sha) -> anyhow::Result<Commit> {
        let args = ["--no-walk", sha.as_str()];
        let mut found = self.log(repo, &args).await?;
        found.pop().context("git knows no such commit")
    }

    /// Commits reachable from `newer` and not from `older`, oldest first, the newest `most` of them.
    pub(crate) async fn commits_between(
        &self,
        repo: RepoId,
        (older, newer): (&Sha, &Sha),
        most: usize,
    ) -> anyhow::Result<Vec<Commit>> {
        self.newest(repo, &[newer.as_str(), "--not", older.as_str()], most)
            .await
    }

    /// Commits reachable from `tip` and from none of `known`, oldest first, the newest `most` of them.
    pub(crate) async fn commits_new(
        &self,
        repo: RepoId,
        (tip, known): (&Sha, &[&Sha]),
        most: usize,
    ) -> anyhow::Result<Vec<Commit>> {
        let mut args = vec![tip.as_str(), "--not"];
        args.extend(known.iter().map(|it| it.as_str()));
        self.newest(repo, &args, most).await
    }

    async fn newest(
        &self,
        repo: RepoId,
        revisions: &[&str],
        most: usize,
    ) -> anyhow::Result<Vec<Commit>> {
        let most = format!("--max-count={most}");
        let mut args = vec!["--topo-order", &most];
        args.extend(revisions);
        let mut commits = self.log(repo, &args).await?;
        commits.reverse();
        Ok(commits)
    }

    async fn log(&self, repo: RepoId, args: &[&str]) -> anyhow::Result<Vec<Commit>> {
        let mut all = vec!["log", "-z", FORMAT];
        all.extend(args);
        let text = self.text(repo, &all).await?;
        let parts: Vec<&str> = text.split('\0').collect();
        let mut commits = Vec::new();
        for record in parts.chunks_exact(PARTS) {
            let mut commit = read(record)?;
            let from = commit.parents.first().map_or(EMPTY_TREE, Sha::as_str);
            commit.changes = self
                .changes_between(repo, from, commit.sha.as_str())
                .await?;
            commits.push(commit);
        }
        Ok(commits)
    }
}

fn read(parts: &[&str]) -> anyhow::Result<Commit> {
    let signature = |at: usize| -> anyhow::Result<Signature> {
        Ok(Signature {
            name: parts[at].to_owned(),
            address: parts[at + 1].to_owned(),
            at: Timestamp::from_second(parts[at + 2].parse()?)?,
        })
    };
    let parents = parts[2].split_whitespace().map(Sha::try_from);
    Ok(Commit {
        sha: Sha::try_from(parts[0])?,
        tree: Sha::try_from(parts[1])?,
        parents: parents.collect::<Result<_, _>>()?,
        author: signature(3)?,
        committer: signature(6)?,
        message: parts[9].trim_end().to_owned(),
        changes: Vec::new(),
    })
}
