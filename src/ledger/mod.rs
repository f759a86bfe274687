//! Facts on the ledger branch: read, append, and again if it moved.
//!
//! # Why a branch
//!
//! Approvals belong to the repository they are about: whoever may push there may record one, everybody may read them
//! back, and losing a server loses none. A write is a commit on top of the tip that was read; the forge refuses it when
//! somebody else was faster, and then it is made again on what they wrote.

#[cfg(test)]
mod tests;

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

    /// Reads an op's facts. A branch that was never made is an empty ledger; a remote that does not answer is an error.
    pub async fn read(&self, op: &Op) -> anyhow::Result<Facts> {
        let tip = self.tip().await?;
        let gates = self.text(tip.as_ref(), &facts::gate_path(op)).await?;
        let applied = self.text(tip.as_ref(), &facts::use_path(op)).await?;
        Ok(Facts::read(op, &gates, &applied))
    }

    /// Records facts, each once by its id, in one commit on top of what is there.
    pub async fn append(&self, facts: &[Fact]) -> anyhow::Result<Appended> {
        for attempt in 0..TRIES {
            let tip = self.tip().await?;
            let Some(files) = self.with(tip.as_ref(), facts).await? else {
                return Ok(Appended::AlreadyThere);
            };
            let message = subject(facts);
            let new = NewCommit {
                parent: tip.as_ref(),
                files: &files,
                message: &message,
                by: Identity { name: "tidegate", email: "tidegate@localhost" },
            };
            let commit = self.mirror.write_commit(new).await.with_context(|| self.failure(facts))?;
            let pushed = self.mirror.push_child(&self.branch, &commit, tip.as_ref()).await;
            match pushed.with_context(|| self.failure(facts))? {
                Push::Landed => return Ok(Appended::Written),
                Push::Moved => tokio::time::sleep(pause(attempt)).await,
            }
        }
        bail!("{}: others wrote to it {TRIES} times in between", self.failure(facts))
    }

    /// Where the branch stands, fetched; none when it was never made.
    async fn tip(&self) -> anyhow::Result<Option<Sha>> {
        let tip = self.mirror.remote_tip(&self.branch).await.context("cannot read the ledger")?;
        if let Some(tip) = &tip
            && !self.mirror.has(tip).await?
        {
            let name = format!("+refs/heads/{BRANCH}:refs/tidegate/ledger");
            self.mirror.fetch(&[&name]).await.context("cannot fetch the ledger")?;
        }
        Ok(tip)
    }

    async fn text(&self, tip: Option<&Sha>, path: &str) -> anyhow::Result<String> {
        let Some(tip) = tip else { return Ok(String::new()) };
        let bytes = self.mirror.show(tip, path).await?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The files as they are with these facts; none when nothing is new.
    async fn with(&self, tip: Option<&Sha>, facts: &[Fact]) -> anyhow::Result<Option<Vec<(String, Vec<u8>)>>> {
        let mut changed: BTreeMap<String, String> = BTreeMap::new();
        for fact in facts {
            let path = fact.path();
            let text = match changed.get(&path) {
                Some(text) => text.clone(),
                None => self.text(tip, &path).await?,
            };
            if !holds(&text, fact.id()) {
                changed.insert(path, appended(text, &fact.line()));
            }
        }
        let files: Vec<_> = changed.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
        Ok(Some(files).filter(|it| !it.is_empty()))
    }

    fn failure(&self, facts: &[Fact]) -> String {
        let paths: Vec<_> = facts.iter().map(Fact::path).collect();
        format!("cannot write {} on the branch {}", paths.join(" and "), self.branch)
    }
}

/// Whether a line with this id is there.
fn holds(text: &str, id: &str) -> bool {
    let lines = text.lines().filter(|line| line.contains(id));
    let ids = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    ids.into_iter().any(|line| line["id"] == id)
}

/// A line after the last one. Another tool may have left that without an end; two records must not become one.
fn appended(mut text: String, line: &str) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
    text
}

fn subject(facts: &[Fact]) -> String {
    match facts {
        [fact] => fact.subject(),
        several => format!("{} facts: {}", several.len(), several.first().map(Fact::subject).unwrap_or_default()),
    }
}

/// Longer each time, and never the same for two writers that lost to each other.
fn pause(attempt: u32) -> Duration {
    let noise = u64::from(uuid::Uuid::now_v7().as_bytes()[15]);
    Duration::from_millis(20 * u64::from(attempt + 1) + noise)
}
