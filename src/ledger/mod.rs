//! Facts on the ledger branch: read, append, and again if it moved.
//!
//! # Why a branch
//!
//! Approvals belong to the repository they are about: whoever may push there may record one, everybody may read them
//! back, and losing a server loses none. A write is a commit on top of the tip that was read; the forge refuses it
//! when somebody else was faster, and then it is made again on what they wrote.

mod line;
mod look;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::core::gate::facts::{self, Fact};
use crate::core::gate::lines::Facts;
use crate::core::ids::{Branch, Op, Sha};
use crate::git::{Identity, Mirror, NewCommit, Push};

pub use crate::ledger::line::{Acceptance, NewLine};
pub use crate::ledger::look::Look;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// In this commit.
    Written(Sha),
    /// Every one of them stands on the ledger already, as of this commit.
    AlreadyThere(Option<Sha>),
}

impl Ledger {
    /// The ledger of the repository that `mirror` copies.
    pub fn of(mirror: Mirror) -> Self {
        let branch = Self::branch();
        Self { mirror, branch }
    }

    /// The branch that holds the ledger, in every repository.
    pub fn branch() -> Branch {
        Branch::try_from(BRANCH).expect("the ledger's branch has a branch's name")
    }

    /// Reads an op's facts. A branch that was never made is an empty ledger; a remote that does not answer is an
    /// error, never "nobody approved".
    pub async fn read(&self, op: &Op) -> anyhow::Result<Facts> {
        match self.tip().await? {
            Some(tip) => self.facts_on(&tip, op).await,
            None => Ok(Facts::default()),
        }
    }

    async fn facts_on(&self, tip: &Sha, op: &Op) -> anyhow::Result<Facts> {
        let facts = self.facts_at(tip, op).await?;
        if facts.broken_uses() == 0 {
            return Ok(facts);
        }
        let gate_lines = self.gate_lines_when_broken(tip, op, &facts).await?;
        Ok(facts.with_broken_uses_at(gate_lines))
    }

    /// Records facts, each once by its id, in one commit on top of what is there.
    pub async fn append(&self, facts: &[Fact]) -> anyhow::Result<Appended> {
        let records: Vec<NewLine> = facts.iter().map(NewLine::from).collect();
        self.write(&records).await
    }

    /// Puts lines on the ledger, each once by its id, in one commit on top of what is there.
    pub async fn write(&self, records: &[NewLine]) -> anyhow::Result<Appended> {
        for attempt in 1..=TRIES {
            let tip = self.tip().await?;
            let Some(commit) = self.commit(tip.as_ref(), records).await? else {
                return Ok(Appended::AlreadyThere(tip));
            };
            match self.push(&commit, tip.as_ref(), records).await? {
                Push::Landed => return Ok(Appended::Written(commit)),
                Push::Moved => tokio::time::sleep(pause(attempt, &commit)).await,
            }
        }
        bail!(
            "{}: others wrote to it {TRIES} times in between",
            failure(records)
        )
    }

    /// Puts lines on exactly this tip; none when the branch is not there any more.
    pub async fn write_on(
        &self,
        tip: Option<&Sha>,
        records: &[NewLine],
    ) -> anyhow::Result<Option<Sha>> {
        let commit = self.commit(tip, records).await?;
        let commit = commit.context("there is nothing to write")?;
        match self.push(&commit, tip, records).await? {
            Push::Landed => Ok(Some(commit)),
            Push::Moved => Ok(None),
        }
    }

    /// A commit of the records that are not there yet, on top of a tip; none when all are.
    async fn commit(&self, tip: Option<&Sha>, records: &[NewLine]) -> anyhow::Result<Option<Sha>> {
        let files = self.with(tip, records).await?;
        if files.is_empty() {
            return Ok(None);
        }
        let new = NewCommit {
            parent: tip,
            files: &files,
            message: &subject(records),
            by: BY,
        };
        let commit = self.mirror.write_commit(new).await;
        Ok(Some(commit.with_context(|| failure(records))?))
    }

    async fn push(
        &self,
        commit: &Sha,
        tip: Option<&Sha>,
        records: &[NewLine],
    ) -> anyhow::Result<Push> {
        let pushed = self.mirror.push_child(&self.branch, commit, tip).await;
        pushed.with_context(|| failure(records))
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

    /// The files that change, with the records that are not there yet.
    async fn with(
        &self,
        tip: Option<&Sha>,
        records: &[NewLine],
    ) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut changed: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for NewLine { path, id, line, .. } in records {
            if let (Some(tip), false) = (tip, files.contains_key(path)) {
                files.insert(path.clone(), self.bytes(tip, path).await?);
            }
            let file = files.entry(path.clone()).or_default();
            if !id.as_ref().is_some_and(|id| holds(file, id)) {
                push_line(file, line);
                changed.insert(path.clone(), file.clone());
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

fn subject(records: &[NewLine]) -> String {
    let first = records.first().map(|it| it.subject.clone());
    let first = first.unwrap_or_default();
    match records.len() {
        0 | 1 => first,
        several => format!("{first} and {} more", several - 1),
    }
}

fn failure(records: &[NewLine]) -> String {
    let mut paths: Vec<_> = records.iter().map(|it| it.path.as_str()).collect();
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
