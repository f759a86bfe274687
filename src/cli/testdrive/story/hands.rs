//! What the steps of the story share: pushing, waiting, reading the ledger.

use anyhow::{Context, bail, ensure};

use crate::cli::testdrive::estate::Files;
use crate::cli::testdrive::people::{Person, REPO};
use crate::cli::testdrive::story::Story;
use crate::cli::testdrive::watch;
use crate::core::ids::{Digest, Root};
use crate::core::rollout::{Rollout, WaveState};

impl Story<'_> {
    pub(super) async fn clone_repository(&self) -> anyhow::Result<()> {
        let address = format!("{}{REPO}.git", self.stage.forge);
        let dir = self.clone.to_string_lossy().into_owned();
        self.ada
            .git(&self.stage.dir, &["clone", "-q", &address, &dir])
            .await?;
        self.ada
            .git(&self.clone, &["checkout", "-q", "-B", "main"])
            .await
            .map(drop)
    }

    /// Writes files on a branch of ada's clone, pushes it, and answers the commit.
    pub(super) async fn push(
        &self,
        branch: &str,
        message: &str,
        files: Files,
    ) -> anyhow::Result<String> {
        self.ada
            .git(&self.clone, &["checkout", "-q", "-B", branch])
            .await?;
        for (path, text) in files {
            let path = self.clone.join(path);
            std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            std::fs::write(path, text)?;
        }
        self.ada.git(&self.clone, &["add", "-A"]).await?;
        self.ada
            .git(&self.clone, &["commit", "-q", "-m", message])
            .await?;
        self.ada
            .git(&self.clone, &["push", "-q", "origin", branch])
            .await?;
        self.ada.git(&self.clone, &["rev-parse", "HEAD"]).await
    }

    /// The rollout of a pull request once that wave waits.
    pub(super) async fn waiting(&self, pull: u64, wave: u32) -> anyhow::Result<Rollout> {
        let what = format!("wave-{wave} to wait");
        let rollout = watch::rollout(self.stage, pull, &what, |it| {
            it.waves
                .iter()
                .any(|wave| matches!(wave.state, WaveState::Waiting { .. }) || failed(it).is_some())
        })
        .await?;
        match failed(&rollout) {
            Some(why) => bail!("{why}"),
            None => Ok(rollout),
        }
    }

    /// Somebody's `/approve` gets one reply with the reason, and nothing is recorded.
    pub(super) async fn refused(&self, person: &Person) -> anyhow::Result<String> {
        let before = watch::replies(&self.ada, self.network_pull).await?.len();
        person.comment(self.network_pull, "/approve wave-2").await?;
        let reply = watch::until("the refusal", || async {
            Ok(watch::replies(&self.ada, self.network_pull)
                .await?
                .into_iter()
                .nth(before))
        })
        .await?;
        let recorded = self
            .ledger("_gates/tf-apply.jsonl")
            .await?
            .iter()
            .any(|it| it["kind"] == "resolution");
        ensure!(!recorded, "an approval was recorded");
        Ok(reply
            .lines()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
            .trim()
            .to_owned())
    }

    /// A status once it says how things ended.
    pub(super) async fn settled_status(
        &self,
        commit: &str,
        context: &str,
    ) -> anyhow::Result<(String, String)> {
        watch::until("the status to settle", || async {
            let status = watch::status(&self.ada, commit, context).await?;
            Ok(status.filter(|(state, _)| state != "pending"))
        })
        .await
    }

    /// The lines of a file on the ledger branch, as ada reads them; none before it is there.
    pub(super) async fn ledger(&self, path: &str) -> anyhow::Result<Vec<serde_json::Value>> {
        let fetched = self
            .ada
            .git(
                &self.clone,
                &["fetch", "-q", "origin", "refs/heads/chant/lifecycle"],
            )
            .await;
        if fetched.is_err() {
            return Ok(Vec::new());
        }
        let text = self
            .ada
            .git(&self.clone, &["show", &format!("FETCH_HEAD:{path}")])
            .await
            .unwrap_or_default();
        text.lines()
            .map(|line| {
                serde_json::from_str(line).with_context(|| format!("{path} has a bad line"))
            })
            .collect()
    }

    /// Marks a resource for replacement outside of any pull request, and answers the state's new serial.
    pub(super) async fn taint(&self, root: &str, address: &str) -> anyhow::Result<u64> {
        self.ada
            .git(&self.clone, &["pull", "-q", "--ff-only", "origin", "main"])
            .await?;
        let tool = &self.stage.estate.tool;
        tool.taint(self.stage, &self.clone.join(root), address)
            .await?;
        watch::serial(self.stage, root).await
    }
}

pub(super) fn names(roots: &[Root]) -> String {
    roots
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn is_planned(note: &str) -> bool {
    note.contains("Blast radius")
}

pub(super) fn failed(rollout: &Rollout) -> Option<String> {
    rollout.waves.iter().find_map(|wave| match &wave.state {
        WaveState::Failed { why } | WaveState::Lost { why } => {
            let unplanned: Vec<_> = wave
                .unplanned
                .iter()
                .map(|it| format!("{}: {} {}", it.root, it.why, it.detail))
                .collect();
            Some(format!(
                "wave-{} failed: {why} {}",
                wave.number,
                unplanned.join("; ")
            ))
        }
        WaveState::NotStarted
        | WaveState::Planning
        | WaveState::Waiting { .. }
        | WaveState::Applying { .. }
        | WaveState::Applied { .. }
        | WaveState::Nothing
        | WaveState::Refused { .. }
        | WaveState::Cancelled
        | WaveState::StoodDown => None,
    })
}

pub(super) fn waiting_digest(rollout: &Rollout, number: u32) -> anyhow::Result<Digest> {
    match &watch::wave(rollout, number)?.state {
        WaveState::Waiting {
            digest: Some(digest),
            ..
        } => Ok(digest.clone()),
        state => bail!("wave-{number} does not wait with a digest: {state:?}"),
    }
}
