//! Commits made without a work tree, and pushed only on top of what they were made from.

use anyhow::{bail, ensure};

use crate::core::ids::{Branch, Sha};
use crate::git::command;
use crate::git::mirror::Mirror;
use crate::git::repository::sha;

/// Who a commit is by.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    pub name: &'a str,
    pub email: &'a str,
}

/// A commit to write: its parent's files, and these in their place or beside them.
#[derive(Clone, Copy, Debug)]
pub struct NewCommit<'a> {
    /// None for the first commit of a branch.
    pub parent: Option<&'a Sha>,
    pub files: &'a [(String, Vec<u8>)],
    pub message: &'a str,
    pub by: Identity<'a>,
}

/// What became of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    Landed,
    /// The branch is not where the commit was made from; nothing was overwritten.
    Moved,
}

impl Mirror {
    /// Writes a commit; no ref names it yet.
    pub async fn write_commit(&self, new: NewCommit<'_>) -> anyhow::Result<Sha> {
        let scratch = tempfile::tempdir()?;
        let index = scratch.path().join("index");
        let base = new.parent.map_or("--empty", Sha::as_str);
        let read = self.git(["read-tree", base]).env("GIT_INDEX_FILE", &index);
        self.output(read, "start from the branch's files").await?;
        let mut added = Vec::new();
        for (path, bytes) in new.files {
            let hash = self
                .git(["hash-object", "-w", "--stdin"])
                .stdin(bytes.clone());
            let blob = sha(&self.output(hash, &format!("write {path}")).await?)?;
            added.extend_from_slice(format!("100644 {blob}\t{path}\0").as_bytes());
        }
        let update = self
            .git(["update-index", "-z", "--index-info"])
            .env("GIT_INDEX_FILE", &index)
            .stdin(added);
        self.output(update, "put files into a commit").await?;
        let write = self.git(["write-tree"]).env("GIT_INDEX_FILE", &index);
        let tree = sha(&self.output(write, "write a commit's files").await?)?;
        self.commit_tree(&tree, new).await
    }

    /// Pushes a commit to `branch`, if the branch is still at the commit's parent (or absent, when it has none).
    pub async fn push_child(
        &self,
        branch: &Branch,
        commit: &Sha,
        parent: Option<&Sha>,
    ) -> anyhow::Result<Push> {
        ensure!(
            self.parent_of(commit).await?.as_ref() == parent,
            "cannot push {commit} to {branch}: it was not made from where the branch was"
        );
        let remote = self.remote()?;
        let lease = parent.map_or("", Sha::as_str);
        let program = command::git_with(self.dir(), remote).args([
            "push",
            "--quiet",
            // The lease makes it a compare-and-swap: a plain push would also undo a branch that was set back.
            &format!("--force-with-lease=refs/heads/{branch}:{lease}"),
            "--",
            &remote.url,
            &format!("{commit}:refs/heads/{branch}"),
        ]);
        let ran = command::ran(program, &format!("push {branch} to {}", remote.url)).await?;
        if ran.status.success() {
            return Ok(Push::Landed);
        }
        // What became of the branch says more than the words git failed with: an answer may also be lost on its way.
        let tip = self.remote_tip(branch).await?;
        if tip.as_ref() == Some(commit) {
            return Ok(Push::Landed);
        }
        if tip.as_ref() != parent || lost_a_lock(&ran.complaint()) {
            return Ok(Push::Moved);
        }
        bail!(
            "cannot push {branch} to {}: {}",
            remote.url,
            command::complaint(&ran)
        );
    }

    /// Keeps a commit and all before it under a name of our own, whatever becomes of the branches.
    pub async fn keep(&self, name: &str, commit: &Sha) -> anyhow::Result<()> {
        let program = self.git(["update-ref", name, commit.as_str()]);
        let kept = self.output(program, &format!("keep {commit}")).await;
        kept.map(drop)
    }

    async fn commit_tree(&self, tree: &Sha, new: NewCommit<'_>) -> anyhow::Result<Sha> {
        let program = self
            .git(["commit-tree", tree.as_str()])
            .args(new.parent.into_iter().flat_map(|it| ["-p", it.as_str()]))
            .env("GIT_AUTHOR_NAME", new.by.name)
            .env("GIT_AUTHOR_EMAIL", new.by.email)
            .env("GIT_COMMITTER_NAME", new.by.name)
            .env("GIT_COMMITTER_EMAIL", new.by.email)
            .stdin(format!("{}\n", new.message).into_bytes());
        sha(&self.output(program, "write a commit").await?)
    }

    /// The first parent of a commit that is here.
    async fn parent_of(&self, commit: &Sha) -> anyhow::Result<Option<Sha>> {
        let program = self.git(["rev-list", "--parents", "--max-count=1", commit.as_str()]);
        let said = self
            .output(program, &format!("find the parent of {commit}"))
            .await?;
        String::from_utf8_lossy(&said)
            .split_whitespace()
            .nth(1)
            .map(|it| sha(it.as_bytes()))
            .transpose()
    }
}

/// Whether another writer held the branch's lock at that moment: its push may not have been seen yet.
fn lost_a_lock(complaint: &str) -> bool {
    [
        "cannot lock",
        "failed to lock",
        "already exists",
        "stale info",
    ]
    .iter()
    .any(|it| complaint.contains(it))
}
