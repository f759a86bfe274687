//! The story: what its people do, and what must be seen before the next thing happens.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use futures::future::BoxFuture;

use crate::cli::testdrive::estate::Files;
use crate::cli::testdrive::people::{Person, REPO};
use crate::cli::testdrive::stage::Stage;
use crate::cli::testdrive::watch;
use crate::core::ids::Digest;
use crate::core::rollout::{Rollout, WaveState};

/// One step: its name, and what it does and sees.
pub(super) struct StoryStep {
    pub(super) name: &'static str,
    pub(super) act: Act,
}

/// What a step does; it answers what was seen.
pub(super) type Act = for<'a> fn(&'a mut Story<'_>) -> BoxFuture<'a, anyhow::Result<String>>;

/// The story so far.
pub(super) struct Story<'a> {
    stage: &'a Stage,
    ada: Person,
    grace: Person,
    mallory: Person,
    /// Ada's clone.
    clone: PathBuf,
    network_pull: u64,
    database_pull: u64,
    merged: String,
    serial: u64,
    /// The digest that the wave which moves was approved under.
    approved: Option<Digest>,
}

macro_rules! steps {
    ($($name:literal => $act:ident;)*) => {
        /// Every step, in order.
        pub(super) const STEPS: &[StoryStep] =
            &[$(StoryStep { name: $name, act: |story| Box::pin(story.$act()) }),*];
    };
}

steps! {
    "the first push lets the whole estate out, canary first" => first_push;
    "git without a token is refused" => git_needs_a_token;
    "a pull request from a fork is never planned" => fork_is_not_planned;
    "ada opens a pull request that replaces the network, and its note names what that reaches" => open_network;
    "grace approves it in a review" => review_network;
    "ada merges it; the canary is not reached, and the network's wave waits and prints its command" => merge_network;
    "ada may not approve her own change" => author_is_refused;
    "mallory, who may only read, may not approve" => reader_is_refused;
    "grace approves, and the ledger has her approval of exactly that digest" => writer_approves;
    "the network applies exactly once; the database, then the app follow" => tide_goes_out;
    "another pull request replaces the database, and its wave waits" => merge_database;
    "a plan moves after its approval: nothing applies, and the note names the root and both digests" => plan_moves;
    "the ledger tells the whole story" => ledger_tells;
}

impl<'a> Story<'a> {
    pub(super) fn new(stage: &'a Stage) -> Self {
        Self {
            stage,
            ada: stage.person("ada"),
            grace: stage.person("grace"),
            mallory: stage.person("mallory"),
            clone: stage.dir.join("ada"),
            network_pull: 0,
            database_pull: 0,
            merged: String::new(),
            serial: 0,
            approved: None,
        }
    }

    pub(super) async fn play(&mut self, act: Act) -> anyhow::Result<String> {
        act(self).await
    }

    async fn first_push(&mut self) -> anyhow::Result<String> {
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

    async fn git_needs_a_token(&mut self) -> anyhow::Result<String> {
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

    async fn fork_is_not_planned(&mut self) -> anyhow::Result<String> {
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

    async fn open_network(&mut self) -> anyhow::Result<String> {
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

    async fn review_network(&mut self) -> anyhow::Result<String> {
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

    async fn merge_network(&mut self) -> anyhow::Result<String> {
        self.serial = watch::serial(self.stage, "network").await?;
        self.merged = self.ada.merge(self.network_pull).await?;
        let rollout = self.waiting(self.network_pull, 2).await?;
        ensure!(
            rollout.wave(crate::core::ids::WaveNumber(1)).is_none(),
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

    async fn author_is_refused(&mut self) -> anyhow::Result<String> {
        self.refused(&self.ada).await
    }

    async fn reader_is_refused(&mut self) -> anyhow::Result<String> {
        self.refused(&self.mallory).await
    }

    async fn writer_approves(&mut self) -> anyhow::Result<String> {
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

    async fn tide_goes_out(&mut self) -> anyhow::Result<String> {
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

    async fn merge_database(&mut self) -> anyhow::Result<String> {
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

    async fn plan_moves(&mut self) -> anyhow::Result<String> {
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

    async fn ledger_tells(&mut self) -> anyhow::Result<String> {
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

impl Story<'_> {
    async fn clone_repository(&self) -> anyhow::Result<()> {
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
    async fn push(&self, branch: &str, message: &str, files: Files) -> anyhow::Result<String> {
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
    async fn waiting(&self, pull: u64, wave: u32) -> anyhow::Result<Rollout> {
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
    async fn refused(&self, person: &Person) -> anyhow::Result<String> {
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
    async fn settled_status(
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
    async fn ledger(&self, path: &str) -> anyhow::Result<Vec<serde_json::Value>> {
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
    async fn taint(&self, root: &str, address: &str) -> anyhow::Result<u64> {
        self.ada
            .git(&self.clone, &["pull", "-q", "--ff-only", "origin", "main"])
            .await?;
        let tool = &self.stage.estate.tool;
        tool.taint(self.stage, &self.clone.join(root), address)
            .await?;
        watch::serial(self.stage, root).await
    }
}

fn names(roots: &[crate::core::ids::Root]) -> String {
    roots
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn is_planned(note: &str) -> bool {
    note.contains("Blast radius")
}

fn failed(rollout: &Rollout) -> Option<String> {
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

fn waiting_digest(rollout: &Rollout, number: u32) -> anyhow::Result<Digest> {
    match &watch::wave(rollout, number)?.state {
        WaveState::Waiting {
            digest: Some(digest),
            ..
        } => Ok(digest.clone()),
        state => bail!("wave-{number} does not wait with a digest: {state:?}"),
    }
}
