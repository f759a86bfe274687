//! What changed between two commits, file by file.

use anyhow::Context;

use crate::core::ids::{RepoId, Sha};
use crate::sandbox::bare::Shelf;

/// One file that changed.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) kind: ChangeKind,
    /// The file's new content; the old one's when it is gone.
    pub(crate) blob: String,
    /// Lines; none for binary files.
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
}

/// How a file changed. A rename is a removal and an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Removed,
    Modified,
}

impl Shelf {
    /// What changed between two trees or commits.
    pub(crate) async fn changes_between(
        &self,
        repo: RepoId,
        from: &str,
        to: &str,
    ) -> anyhow::Result<Vec<Change>> {
        let args = ["diff-tree", "-r", "--no-renames", "--raw", "--numstat"];
        let args = [&args[..], &["-z", "--abbrev=40", from, to]].concat();
        read(&self.text(repo, &args).await?)
    }

    /// What `head` changes, seen from where it left `base`.
    pub(crate) async fn changes_of_pull(
        &self,
        repo: RepoId,
        base: &Sha,
        head: &Sha,
    ) -> anyhow::Result<Vec<Change>> {
        let range = format!("{base}...{head}");
        let args = ["diff", "--no-renames", "--raw", "--numstat", "-z"];
        let args = [&args[..], &["--abbrev=40", &range, "--"]].concat();
        read(&self.text(repo, &args).await?)
    }

    /// The same, as a unified diff of at most `cap` bytes.
    pub(crate) async fn patch_of_pull(
        &self,
        repo: RepoId,
        (base, head): (&Sha, &Sha),
        cap: usize,
    ) -> anyhow::Result<String> {
        let range = format!("{base}...{head}");
        let args = ["diff", "--no-renames", "--no-color", &range, "--"];
        let ran = self.program(repo, &args).cap(cap).run().await;
        let ran = ran.context("cannot start git")?;
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}

/// Reads `--raw --numstat -z`: all files with their kinds, then all files with their counts, in the same order.
fn read(text: &str) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    let mut counts = Vec::new();
    let mut tokens = text.split('\0').filter(|it| !it.is_empty());
    while let Some(token) = tokens.next() {
        if let Some(raw) = token.strip_prefix(':') {
            let path = tokens.next().context("git names no file")?;
            changes.push(read_raw(raw, path)?);
        } else {
            counts.push(read_counts(token));
        }
    }
    for (change, (additions, deletions)) in changes.iter_mut().zip(counts) {
        change.additions = additions;
        change.deletions = deletions;
    }
    Ok(changes)
}

fn read_raw(raw: &str, path: &str) -> anyhow::Result<Change> {
    let parts: Vec<&str> = raw.split(' ').collect();
    let [_, _, old, new, letter] = parts[..] else {
        anyhow::bail!("git lists a change in an unknown form");
    };
    let kind = match letter {
        "A" => ChangeKind::Added,
        "D" => ChangeKind::Removed,
        _ => ChangeKind::Modified,
    };
    let blob = if kind == ChangeKind::Removed {
        old
    } else {
        new
    };
    Ok(Change {
        path: path.to_owned(),
        kind,
        blob: blob.to_owned(),
        additions: 0,
        deletions: 0,
    })
}

/// `3<TAB>1<TAB>path`; dashes for a binary file.
fn read_counts(token: &str) -> (u64, u64) {
    let mut parts = token.split('\t').map(|it| it.parse().unwrap_or(0));
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}
