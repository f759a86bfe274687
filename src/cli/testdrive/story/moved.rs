//! The story of a plan that moves after its approval, and what the ledger tells in the end.

use anyhow::{bail, ensure};

use crate::cli::testdrive::story::Story;
use crate::cli::testdrive::story::hands::{is_planned, waiting_digest};
use crate::cli::testdrive::watch;
use crate::core::rollout::WaveState;

impl Story<'_> {
    pub(super) async fn merge_database(&mut self) -> anyhow::Result<String> {
        self.ada
            .git(&self.clone, &["checkout", "-q", "main"])
            .await?;
        self.ada
            .git(&self.clone, &["pull", "-q", "--ff-only", "origin", "main"])
            .await?;
        let change = self.stage.estate.newer_database();
        self.push(
            "newer-database",
            "Move the database to its next version",
            change,
        )
        .await?;
        let title = "Move the database to its next version";
        self.database_pull = self.ada.open_pull(title, "newer-database", "").await?;
        watch::note(
            &self.ada,
            self.database_pull,
            "the planned note",
            is_planned,
        )
        .await?;
        self.ada.merge(self.database_pull).await?;
        let rollout = self.waiting(self.database_pull, 3).await?;
        let digest = waiting_digest(&rollout, 3)?;
        let asked = "/approve wave-3".to_owned();
        watch::note(
            &self.ada,
            self.database_pull,
            "the command in the note",
            |it| it.contains(&asked),
        )
        .await?;
        self.approved = Some(digest.clone());
        Ok(format!(
            "wave-3 (database) waits for an approval of {digest}"
        ))
    }

    pub(super) async fn plan_moves(&mut self) -> anyhow::Result<String> {
        let serial = self.taint("database", "terraform_data.firewall").await?;
        self.grace
            .comment(self.database_pull, "/approve wave-3")
            .await?;
        let what = "the wave to be refused";
        let rollout = watch::rollout(self.stage, self.database_pull, what, |it| {
            it.waves
                .iter()
                .any(|wave| matches!(wave.state, WaveState::Refused { .. }))
        })
        .await?;
        let WaveState::Refused {
            digest: Some(_),
            moved,
        } = &watch::wave(&rollout, 3)?.state
        else {
            bail!("the wave was refused without a digest to approve");
        };
        let [only] = moved.as_slice() else {
            bail!("{} roots moved", moved.len())
        };
        let (Some(before), Some(now)) = (&only.approved, &only.now) else {
            bail!("a digest is missing: {only:?}")
        };
        let shown = [only.root.as_str(), before.short(), now.short()];
        watch::note(
            &self.ada,
            self.database_pull,
            "the root and both digests in the note",
            |it| shown.iter().all(|wanted| it.contains(wanted)),
        )
        .await?;
        ensure!(
            watch::serial(self.stage, "database").await? == serial,
            "something applied"
        );
        Ok(format!(
            "exit 4: `{}` was approved as {} and plans {} now; nothing applied",
            only.root,
            before.short(),
            now.short()
        ))
    }

    pub(super) async fn ledger_tells(&mut self) -> anyhow::Result<String> {
        let gates = self.ledger("_gates/tf-apply.jsonl").await?;
        let told: Vec<_> = gates
            .iter()
            .map(|it| {
                format!(
                    "{} {}",
                    it["kind"].as_str().unwrap_or("?"),
                    it["gate"].as_str().unwrap_or("?")
                )
            })
            .collect();
        let wanted = [
            "pending wave-2",
            "resolution wave-2",
            "pending wave-3",
            "resolution wave-3",
            "pending wave-3",
        ];
        ensure!(told == wanted, "the ledger says {told:?}");
        let uses = self.ledger("_gates/tf-apply/applied.jsonl").await?;
        let told: Vec<_> = uses
            .iter()
            .map(|it| it["kind"].as_str().unwrap_or("?").to_owned())
            .collect();
        ensure!(told == ["applied", "finished"], "the uses say {told:?}");
        Ok(format!("{}; used once and finished", wanted.join(", ")))
    }
}
