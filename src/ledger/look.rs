//! What became of the ledger since it was last seen, and the old tip kept so that this can be said.

use anyhow::Context;

use crate::core::gate::change::{self, Change, Files, History};
use crate::core::gate::lines::Facts;
use crate::core::ids::{Op, Sha};
use crate::ledger::{BRANCH, Ledger};

/// The ref that keeps the last tip that was seen, whatever becomes of the branch.
const SEEN: &str = "refs/tidegate/ledger-seen";

/// The ledger as it stands, and what became of it since it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// None when there is no such branch.
    pub tip: Option<Sha>,
    pub change: Change,
}

impl Ledger {
    /// Looks where the ledger stands, and what became of it since `seen`; a ledger that nobody saw yet has only grown.
    pub async fn look(&self, seen: Option<&Sha>) -> anyhow::Result<Look> {
        let tip = self.tip().await?;
        let change = self.judge(seen, tip.as_ref()).await?;
        if let (Some(tip), Change::Grown | Change::Revoked(_)) = (&tip, &change) {
            self.mirror.keep(SEEN, tip).await?;
        }
        Ok(Look { tip, change })
    }

    /// Reads an op's facts where a look found them.
    pub async fn facts(&self, look: &Look, op: &Op) -> anyhow::Result<Facts> {
        let mut facts = match &look.tip {
            Some(tip) => self.facts_on(tip, op).await?,
            None => Facts::default(),
        };
        if let Change::Rewritten(rewrite) = &look.change {
            facts.rewritten = Some(rewrite.clone());
        }
        Ok(facts)
    }

    /// What became of the ledger from a tip that was seen to another that is here.
    pub async fn judge(&self, seen: Option<&Sha>, tip: Option<&Sha>) -> anyhow::Result<Change> {
        let Some(seen) = seen.filter(|it| Some(*it) != tip) else {
            return Ok(Change::Grown);
        };
        let lost = || History::Lost { seen: seen.clone() };
        if !self.mirror.has(seen).await? {
            return Ok(change::judge(lost(), &Files::new(), &Files::new()));
        }
        let Some(tip) = tip else {
            let gone = History::Gone { seen: seen.clone() };
            return Ok(change::judge(gone, &self.files(seen).await?, &Files::new()));
        };
        let history = if self.mirror.is_ancestor(seen, tip).await? {
            History::Descends
        } else {
            History::Forced { seen: seen.clone() }
        };
        let (before, after) = (self.files(seen).await?, self.files(tip).await?);
        Ok(change::judge(history, &before, &after))
    }

    /// Whether a tip is another one, or came before it.
    pub async fn is_behind(&self, tip: &Sha, other: &Sha) -> anyhow::Result<bool> {
        Ok(self.mirror.has(other).await? && self.mirror.is_ancestor(tip, other).await?)
    }

    async fn files(&self, commit: &Sha) -> anyhow::Result<Files> {
        let files = self.mirror.texts(commit, change::is_gate_file).await;
        files.with_context(|| format!("cannot compare {BRANCH} with what was seen of it"))
    }
}
