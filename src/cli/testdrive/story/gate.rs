//! The story at the gate: a wave waits, is approved, and the tide goes out.

use anyhow::ensure;

use crate::cli::testdrive::story::Story;
use crate::cli::testdrive::story::hands::waiting_digest;
use crate::cli::testdrive::watch;
use crate::core::ids::WaveNumber;
use crate::core::rollout::WaveState;

impl Story<'_> {
    pub(super) async fn merge_network(&mut self) -> anyhow::Result<String> {
        self.serial = watch::serial(self.stage, "network").await?;
        self.merged = self.ada.merge(self.network_pull).await?;
        let rollout = self.waiting(self.network_pull, 2).await?;
        ensure!(
            rollout.wave(WaveNumber(1)).is_none(),
            "the canary's wave is in the rollout"
        );
        let note = watch::note(
            &self.ada,
            self.network_pull,
            "the command in the note",
            |it| it.contains("/approve wave-2"),
        );
        note.await?;
        let serial = watch::serial(self.stage, "network").await?;
        ensure!(
            serial == self.serial,
            "something applied before anybody approved"
        );
        Ok(
            "wave-2 (network) waits; the note prints `/approve wave-2`; nothing has applied"
                .to_owned(),
        )
    }

    pub(super) async fn author_is_refused(&mut self) -> anyhow::Result<String> {
        self.refused(&self.ada).await
    }

    pub(super) async fn reader_is_refused(&mut self) -> anyhow::Result<String> {
        self.refused(&self.mallory).await
    }

    pub(super) async fn writer_approves(&mut self) -> anyhow::Result<String> {
        let rollout = self.waiting(self.network_pull, 2).await?;
        let digest = waiting_digest(&rollout, 2)?;
        self.grace
            .comment(self.network_pull, "/approve wave-2")
            .await?;
        let line = watch::until("the approval on the ledger", || async {
            let lines = self.ledger("_gates/tf-apply.jsonl").await?;
            Ok(lines.into_iter().find(|it| it["kind"] == "resolution"))
        })
        .await?;
        ensure!(
            line["planDigest"] == digest.as_str(),
            "the approval names {}",
            line["planDigest"]
        );
        let by = line["resolvedBy"].as_str().unwrap_or_default();
        ensure!(
            by.ends_with(":grace"),
            "the approval is in the name of {by}"
        );
        Ok(format!("approved by {by}: {digest}"))
    }

    pub(super) async fn tide_goes_out(&mut self) -> anyhow::Result<String> {
        let done = watch::rollout(self.stage, self.network_pull, "all waves to apply", |it| {
            !it.is_open()
        })
        .await?;
        let applied = |number| watch::wave(&done, number).map(|it| (it.moved_at, it.state.clone()));
        let (network, database, app) = (applied(2)?, applied(3)?, applied(4)?);
        for (_, state) in [&network, &database, &app] {
            ensure!(
                matches!(state, WaveState::Applied { .. }),
                "a wave ended as {state:?}"
            );
        }
        ensure!(
            network.0 < database.0 && database.0 < app.0,
            "the waves did not apply in order"
        );
        let serial = watch::serial(self.stage, "network").await?;
        ensure!(
            serial > self.serial,
            "the state of the network did not move"
        );
        let uses = self.ledger("_gates/tf-apply/applied.jsonl").await?;
        let uses = uses.iter().filter(|it| it["kind"] == "applied").count();
        ensure!(uses == 1, "the approval was used {uses} times");
        let (state, said) = self.settled_status(&self.merged, "tidegate/apply").await?;
        ensure!(state == "success", "tidegate/apply is {state}: {said}");
        Ok(format!(
            "network, then database, then app; one use of one approval; tidegate/apply: {said}"
        ))
    }
}
