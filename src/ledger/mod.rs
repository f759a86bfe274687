//! Facts on the ledger branch: read, append, and again if it moved.
//!
//! # Why a branch
//!
//! Approvals belong to the repository they are about: whoever may push there may record one, everybody may read them
//! back, and losing a server loses none. A write is a commit on top of the tip that was read; the forge refuses it
//! when somebody else was faster, and then it is made again on what they wrote.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::core::gate::facts::{self, Fact};
use crate::core::gate::lines::Facts;
use crate::core::ids::{Branch, Op, Sha};
use crate::git::{Identity, Mirror, NewCommit, Push};

/// The branch that holds the ledger, in every repository.
const BRANCH: &str = "chant/lifecycle";

/// How often a lost race is run again.
const TRIES: u32 = 12;

/// Who the ledger's commits are by; who approved stands in the lines.
const BY: Identity<'_> = Identity {
    name: "tidegate",
    email: "tidegate@localhost",
};

/// The ledger of one repository.
#[derive(Clone, Debug)]
pub struct Ledger {
    mirror: Mirror,
    branch: Branch,
}

/// What became of facts that were to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    Written,
    /// Every one of them stands on the ledger already.
    AlreadyThere,
}

impl Ledger {
    /// The ledger of the repository that `mirror` copies.
    pub fn of(mirror: Mirror) -> Self {
        let branch = Branch::try_from(BRANCH).expect("the ledger's branch has a branch's name");
        Self { mirror, branch }
    }

    /// Reads an op's facts. A branch that was never made is an empty ledger; a remote that does not answer is an
    /// error, never "nobody approved".
    pub async fn read(&self, op: &Op) -> anyhow::Result<Facts> {
        let Some(tip) = self.tip().await? else {
            return Ok(Facts::default());
        };
        let facts = self.facts_at(&tip, op).await?;
        if facts.broken_uses() == 0 {
            return Ok(facts);
        }
        let gate_lines = self.gate_lines_when_broken(&tip, op, &facts).await?;
        Ok(facts.with_broken_uses_at(gate_lines))
    }

    /// Records facts, each once by its id, in one commit on top of what is there.
    pub async fn append(&self, facts: &[Fact]) -> anyhow::Result<Appended> {
        let what = || failure(facts);
        for attempt in 1..=TRIES {
            let tip = self.tip().await?;
            let files = self.with(tip.as_ref(), facts).await?;
            if files.is_empty() {
                return Ok(Appended::AlreadyThere);
            }
            let message = subject(facts);
            let new = NewCommit {
                parent: tip.as_ref(),
                files: &files,
                message: &message,
                by: BY,
            };
            let commit = self.mirror.write_commit(new).await.with_context(what)?;
            let push = self.mirror.push_child(&self.branch, &commit, tip.as_ref());
            match push.await.with_context(what)? {
                Push::Landed => return Ok(Appended::Written),
                Push::Moved => tokio::time::sleep(pause(attempt, &commit)).await,
            }
        }
        bail!("{}: others wrote to it {TRIES} times in between", what())
    }

    /// Where the branch stands, fetched; none when it was never made.
    async fn tip(&self) -> anyhow::Result<Option<Sha>> {
        let tip = self.mirror.remote_tip(&self.branch).await;
        let tip = tip.context("cannot read the ledger")?;
        if let Some(tip) = &tip
            && !self.mirror.has(tip).await?
        {
            let refspec = format!("+refs/heads/{BRANCH}:refs/tidegate/ledger");
            let fetched = self.mirror.fetch(&[&refspec]).await;
            fetched.context("cannot read the ledger")?;
        }
        Ok(tip)
    }

    async fn facts_at(&self, commit: &Sha, op: &Op) -> anyhow::Result<Facts> {
        let gates = self.bytes(commit, &facts::gate_path(op)).await?;
        let uses = self.bytes(commit, &facts::use_path(op)).await?;
        let (gates, uses) = (
            String::from_utf8_lossy(&gates),
            String::from_utf8_lossy(&uses),
        );
        Ok(Facts::read(op, &gates, &uses))
    }

    /// How many lines the gate file had when the newest unreadable use was written. Files only grow, so the commits
    /// of the use file are split in two until that one is found.
    async fn gate_lines_when_broken(
        &self,
        tip: &Sha,
        op: &Op,
        now: &Facts,
    ) -> anyhow::Result<usize> {
        let commits = self.mirror.history(tip, &facts::use_path(op)).await?;
        // All before `broken` have as many unreadable lines as now; `whole` and older ones have fewer.
        let (mut broken, mut whole) = (0, commits.len());
        while whole - broken > 1 {
            let middle = usize::midpoint(broken, whole);
            let facts = self.facts_at(&commits[middle], op).await?;
            if facts.broken_uses() < now.broken_uses() {
                whole = middle;
            } else {
                broken = middle;
            }
        }
        let gates = match commits.get(broken) {
            Some(commit) => self.bytes(commit, &facts::gate_path(op)).await?,
            None => Vec::new(),
        };
        Ok(String::from_utf8_lossy(&gates).lines().count())
    }

    async fn bytes(&self, commit: &Sha, path: &str) -> anyhow::Result<Vec<u8>> {
        Ok(self.mirror.show(commit, path).await?.unwrap_or_default())
    }

    /// The files that change, with the facts that are not there yet.
    async fn with(
        &self,
        tip: Option<&Sha>,
        facts: &[Fact],
    ) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut changed: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for fact in facts {
            let path = fact.path();
            if let (Some(tip), false) = (tip, files.contains_key(&path)) {
                files.insert(path.clone(), self.bytes(tip, &path).await?);
            }
            let file = files.entry(path.clone()).or_default();
            if !holds(file, fact.id()) {
                push_line(file, &fact.line());
                changed.insert(path, file.clone());
            }
        }
        Ok(changed.into_iter().collect())
    }
}

/// Whether a line with this id is there.
fn holds(file: &[u8], id: &str) -> bool {
    let lines = file.split(|it| *it == b'\n');
    let mut lines = lines.filter_map(|it| serde_json::from_slice::<Value>(it).ok());
    lines.any(|it| it["id"] == id)
}

/// Puts a line after the last one. Another tool may have left that without an end; two records must not become one.
fn push_line(file: &mut Vec<u8>, line: &str) {
    if file.last().is_some_and(|it| *it != b'\n') {
        file.push(b'\n');
    }
    file.extend_from_slice(line.as_bytes());
}

fn subject(facts: &[Fact]) -> String {
    let first = facts.first().map(Fact::subject).unwrap_or_default();
    match facts.len() {
        0 | 1 => first,
        several => format!("{first} and {} more", several - 1),
    }
}

fn failure(facts: &[Fact]) -> String {
    let mut paths: Vec<_> = facts.iter().map(Fact::path).collect();
    paths.dedup();
    format!("cannot write {} on {BRANCH}", paths.join(" and "))
}

/// Longer each time, and seldom the same for two writers that lost to each other: their commits differ.
fn pause(attempt: u32, commit: &Sha) -> Duration {
    let byte = u64::from_str_radix(&commit.as_str()[..2], 16).unwrap_or_default();
    Duration::from_millis((10 + byte / 4) * u64::from(attempt))
}

#[cfg(test)]
mod tests;
