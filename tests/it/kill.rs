//! `kill -9` of the server or of a job, at every point of a wave that waits, is approved and applies.
//!
//! | point | server | job |
//! | --- | --- | --- |
//! | after the 202 | [`server_after_the_202`] | none is there yet |
//! | after the claim | [`server_after_the_claim`] | none is there yet |
//! | after the pending fact | [`server_after_the_pending_fact`] | it has ended: the server writes the fact after it |
//! | after the use fact | [`server_after_the_use_fact`] | [`job_after_the_use_fact`] |
//! | in the middle of the apply | [`server_in_the_middle_of_the_apply`] | [`job_in_the_middle_of_the_apply`] |
//! | before the outcome is posted | [`server_before_the_outcome`] | [`job_before_the_outcome`] |
//! | between two effects | [`server_between_two_effects`] | it has ended: effects are the server's |

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::Value;
use tidegate::core::rollout::WaveState;

use crate::world::estate::counts;
use crate::world::relay::{Call, Fate, first};
use crate::world::site::REPO;
use crate::world::{ADA, GRACE, Pull, World};

/// A story about one root that counts how often its apply comes to an end.
struct Counted {
    world: World,
    pull: Pull,
    /// What the apply writes: `begun`, then `done`.
    counter: PathBuf,
    /// While this file is there, an apply waits in its middle.
    barrier: PathBuf,
    /// What was merged, once it was.
    merged: String,
}

impl Counted {
    /// The pull request is open and planned.
    async fn opened() -> Option<Self> {
        let mut world = World::on_github().await?;
        let counter = world.site.beside("counter");
        let barrier = world.site.beside("barrier");
        let change = counts("network", &counter, &barrier);
        let pull = world.open("count the applies", change).await;
        Some(Self {
            world,
            pull,
            counter,
            barrier,
            merged: String::new(),
        })
    }

    /// It is merged, and its wave waits.
    async fn waiting() -> Option<Self> {
        let mut story = Self::opened().await?;
        story.merged = story.world.merge(&story.pull).await;
        Some(story)
    }

    async fn merge(&mut self) {
        self.merged = self.world.merge_without_waiting(&self.pull).await;
    }

    /// Approves; what follows may be under way.
    async fn approve(&self) {
        let site = &self.world.site;
        site.comment(GRACE, self.pull.number, "/approve").await;
    }

    /// Approves, and holds the job's first call of a kind.
    async fn hold_the_job(&self, is_meant: fn(&Call) -> bool, fate: Fate) {
        let runner = &self.world.runner;
        runner.rule(first(1, is_meant, fate));
        self.approve().await;
        runner.until_one_is_held().await;
    }

    /// Approves, and has the apply wait in its middle.
    async fn begin_the_apply(&self) {
        fs::write(&self.barrier, "").unwrap();
        self.approve().await;
        until(|| self.counter.exists()).await;
    }

    async fn kill_the_server(&mut self) {
        self.world.kill_the_server().await;
        self.go_on();
        self.world.start_the_server().await;
    }

    fn kill_the_job(&self) {
        self.world.kill_the_jobs();
        self.go_on();
    }

    fn go_on(&self) {
        self.world.api.let_all_pass();
        self.world.runner.let_all_pass();
        let _ = fs::remove_file(&self.barrier);
    }

    /// Lets people do what the note asks of them until the wave is through; answers what they had to do.
    async fn bring_home(&mut self) -> Vec<&'static str> {
        let mut done = Vec::new();
        for _ in 0..20 {
            self.world.settle().await;
            let newest = self.world.rollouts().await.pop().unwrap();
            let words = match &newest.waves[0].state {
                WaveState::Applied { .. } | WaveState::Nothing => return done,
                WaveState::Waiting { .. } => "/approve",
                WaveState::Lost { .. } => "/apply",
                other => panic!("{other:?}"),
            };
            self.world.comment(&self.pull, GRACE, words).await;
            // Who approves in the second in which the note changed is refused, and says it again.
            if done.last() != Some(&words) {
                done.push(words);
            }
        }
        panic!("the wave does not get through: {done:?}");
    }

    /// What was promised holds: one apply came to its end, every approval stands, every status is final and true.
    async fn end(self, approvals: usize) {
        let world = self.world;
        let counted = fs::read_to_string(&self.counter).unwrap();
        let ends = counted.lines().filter(|it| *it == "done").count();
        assert_eq!(ends, 1, "{counted}");
        let lines = world.ledger().await;
        let ids: BTreeSet<String> = lines.iter().map(|it| it["id"].to_string()).collect();
        assert_eq!(ids.len(), lines.len(), "{lines:#?}");
        let given = lines.iter().filter(|it| it["kind"] == "resolution").count();
        assert_eq!(given, approvals, "{lines:#?}");
        for commit in [&self.pull.head, &self.merged] {
            for status in newest_statuses(&world, commit).await {
                assert_eq!(status["state"], "success", "{status:#}");
            }
        }
        let note = world.note(&self.pull).await;
        assert!(note.contains("### Rollout of"), "{note}");
        world.end().await;
    }
}

/// The newest status of each context.
async fn newest_statuses(world: &World, commit: &str) -> Vec<Value> {
    let path = format!("/repos/{REPO}/commits/{commit}/statuses");
    let all = world.read(ADA, &path).await;
    let mut seen = BTreeSet::new();
    let all = all.as_array().unwrap().iter();
    all.filter(|it| seen.insert(it["context"].to_string()))
        .cloned()
        .collect()
}

async fn until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it does not come"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn writes(call: &Call) -> bool {
    call.method != Method::GET
}

fn asks_the_gate(call: &Call) -> bool {
    call.path.starts_with("/runner/gate")
}

fn says_its_end(call: &Call) -> bool {
    call.path.starts_with("/runner/end")
}

#[tokio::test]
async fn server_after_the_202() {
    let Some(mut story) = Counted::opened().await else {
        return;
    };
    story.merge().await;
    story.world.until_all_is_delivered().await;
    story.kill_the_server().await;
    assert_eq!(story.bring_home().await, ["/approve"]);
    story.end(1).await;
}

#[tokio::test]
async fn server_after_the_claim() {
    let Some(mut story) = Counted::opened().await else {
        return;
    };
    story.world.api.rule(first(1, |_| true, Fate::HeldBefore));
    story.merge().await;
    story.world.api.until_one_is_held().await;
    story.kill_the_server().await;
    assert_eq!(story.bring_home().await, ["/approve"]);
    story.end(1).await;
}

#[tokio::test]
async fn server_after_the_pending_fact() {
    let Some(mut story) = Counted::opened().await else {
        return;
    };
    let asks = story.world.ledger_has("\"kind\":\"pending\"");
    let is_asked = move |call: &Call| writes(call) && asks();
    story.world.api.rule(first(1, is_asked, Fate::HeldBefore));
    story.merge().await;
    story.world.api.until_one_is_held().await;
    story.kill_the_server().await;
    assert_eq!(story.bring_home().await, ["/approve"]);
    story.end(1).await;
}

#[tokio::test]
async fn server_after_the_use_fact() {
    let Some(mut story) = Counted::waiting().await else {
        return;
    };
    story.hold_the_job(asks_the_gate, Fate::HeldAfter).await;
    story.kill_the_server().await;
    assert!(story.bring_home().await.is_empty());
    story.end(1).await;
}

#[tokio::test]
async fn job_after_the_use_fact() {
    let Some(mut story) = Counted::waiting().await else {
        return;
    };
    story.hold_the_job(asks_the_gate, Fate::HeldAfter).await;
    assert_eq!(story.world.uses().await, ["applied"]);
    story.kill_the_job();
    assert_eq!(story.bring_home().await, ["/apply"]);
    story.end(1).await;
}

#[tokio::test]
async fn server_in_the_middle_of_the_apply() {
    let Some(mut story) = Counted::waiting().await else {
        return;
    };
    story.begin_the_apply().await;
    story.kill_the_server().await;
    assert!(story.bring_home().await.is_empty());
    story.end(1).await;
}

/// Terraform marks what it had begun as tainted, so the rest plans a replacement, and that is asked for anew.
#[tokio::test]
async fn job_in_the_middle_of_the_apply() {
    let Some(mut story) = Counted::waiting().await else {
        return;
    };
    story.begin_the_apply().await;
    story.world.kill_the_jobs();
    until(|| !story.world.is_held("network")).await;
    story.go_on();
    assert_eq!(story.bring_home().await, ["/apply", "/approve"]);
    story.end(2).await;
}

#[tokio::test]
async fn server_before_the_outcome() {
    let Some(mut story) = Counted::waiting().await else {
        return;
    };
    story.hold_the_job(says_its_end, Fate::HeldBefore).await;
    story.kill_the_server().await;
    assert!(story.bring_home().await.is_empty());
    story.end(1).await;
}

#[tokio::test]
async fn job_before_the_outcome() {
    let Some(mut story) = Counted::waiting().await else {
        return;
    };
    story.hold_the_job(says_its_end, Fate::HeldBefore).await;
    story.world.kill_the_jobs();
    // What a dead job was about to say is not said.
    story.world.runner.drop_what_is_held();
    assert_eq!(story.bring_home().await, ["/apply"]);
    story.end(1).await;
}

#[tokio::test]
async fn server_between_two_effects() {
    let Some(mut story) = Counted::waiting().await else {
        return;
    };
    let uses = story.world.ledger_has_use();
    let mut written = 0;
    story.world.api.rule(move |call| {
        written += u32::from(writes(call) && uses());
        if written == 2 {
            Fate::HeldAfter
        } else {
            Fate::Passes
        }
    });
    story.approve().await;
    story.world.api.until_one_is_held().await;
    story.kill_the_server().await;
    assert!(story.bring_home().await.is_empty());
    story.end(1).await;
}
