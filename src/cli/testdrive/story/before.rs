//! The story up to the merge: the first push, a fork, a pull request and its review.

use anyhow::{bail, ensure};

use crate::cli::testdrive::people::REPO;
use crate::cli::testdrive::story::Story;
use crate::cli::testdrive::story::hands::{failed, is_planned, names};
use crate::cli::testdrive::watch;

impl Story<'_> {
    pub(super) async fn first_push(&mut self) -> anyhow::Result<String> {
        self.clone_repository().await?;
        let commit = self
            .push(
                "main",
                "Describe the infrastructure of Acme",
                self.stage.estate.files(&std::env::current_exe()?),
            )
            .await?;
        let rollout = watch::until("the first rollout to apply", || async {
            let all = watch::rollouts(self.stage).await?;
            if let Some(stuck) = all.iter().find_map(failed) {
                bail!("{stuck}");
            }
            Ok(all
                .into_iter()
                .find(|it| !it.is_open() && it.commit.as_str() == commit))
        })
        .await?;
        let order: Vec<_> = rollout.waves.iter().map(|it| names(&it.members)).collect();
        ensure!(
            order == ["canary", "billing, network", "database", "app"],
            "the waves were {order:?}"
        );
        let (state, _) = self.settled_status(&commit, "tidegate/apply").await?;
        ensure!(state == "success", "the status of the commit is {state}");
        Ok(format!(
            "{} waves applied in order: {}",
            order.len(),
            order.join(" → ")
        ))
    }

    pub(super) async fn git_needs_a_token(&mut self) -> anyhow::Result<String> {
        let address = format!(
            "{}{REPO}.git/info/refs?service=git-receive-pack",
            self.stage.forge
        );
        let status = self.stage.http.get(address).send().await?.status();
        ensure!(
            status.as_u16() == 401,
            "the sandbox answers {status} to a push without a token"
        );
        Ok("401 without a token; ada's push with hers went through".to_owned())
    }

    pub(super) async fn fork_is_not_planned(&mut self) -> anyhow::Result<String> {
        self.mallory.fork().await?;
        let address = format!("{}mallory/infra.git", self.stage.forge);
        let dir = self.stage.dir.join("mallory");
        self.mallory
            .git(
                &self.stage.dir,
                &["clone", "-q", &address, &dir.to_string_lossy()],
            )
            .await?;
        std::fs::write(
            dir.join("network/extra.tf"),
            "output \"mine\" {\n  value = file(\"/etc/hostname\")\n}\n",
        )?;
        self.mallory
            .git(&dir, &["checkout", "-q", "-b", "mine"])
            .await?;
        self.mallory.git(&dir, &["add", "-A"]).await?;
        self.mallory
            .git(&dir, &["commit", "-q", "-m", "Read the runner's host name"])
            .await?;
        self.mallory
            .git(&dir, &["push", "-q", "origin", "mine"])
            .await?;
        let head = self.mallory.git(&dir, &["rev-parse", "HEAD"]).await?;
        let pull = self
            .mallory
            .open_pull("Read the runner's host name", "mallory:mine", "")
            .await?;
        watch::note(
            &self.ada,
            pull,
            "a note that says it is not planned",
            |it| it.contains("fork"),
        )
        .await?;
        let (state, said) = self.settled_status(&head, "tidegate/plan").await?;
        ensure!(state != "success", "the status of a fork's head is {state}");
        Ok(format!("no job ran; tidegate/plan: {said}"))
    }

    pub(super) async fn open_network(&mut self) -> anyhow::Result<String> {
        let change = self.stage.estate.wider_network();
        let head = self
            .push("wider-network", "Give the network a wider range", change)
            .await?;
        self.network_pull = self
            .ada
            .open_pull(
                "Give the network a wider range",
                "wider-network",
                "We ran out.",
            )
            .await?;
        let note =
            watch::note(&self.ada, self.network_pull, "the planned note", is_planned).await?;
        for wanted in ["`network`", "`database`", "`app`", "Blast radius"] {
            ensure!(note.contains(wanted), "the note does not name {wanted}");
        }
        for unwanted in ["canary", "billing"] {
            ensure!(
                !note.contains(unwanted),
                "the note names {unwanted}, which the change does not reach"
            );
        }
        let (state, said) = self.settled_status(&head, "tidegate/plan").await?;
        ensure!(state == "success", "tidegate/plan is {state}: {said}");
        Ok(format!(
            "the note names network, database and app, not the canary and not billing; tidegate/plan: {said}"
        ))
    }

    pub(super) async fn review_network(&mut self) -> anyhow::Result<String> {
        self.grace.review(self.network_pull).await?;
        let reviews = self
            .ada
            .get(&format!("pulls/{}/reviews", self.network_pull))
            .await?;
        let approved = reviews
            .as_array()
            .is_some_and(|all| all.iter().any(|it| it["state"] == "APPROVED"));
        ensure!(approved, "the forge does not show the review");
        Ok("the forge shows grace's approving review".to_owned())
    }
}
