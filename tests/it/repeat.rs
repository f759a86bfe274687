//! What is done twice because a server died in the middle of it, or because it was delivered twice, is as done once.
//!
//! The story has no Terraform: the root has commands of its own, so that it is told in a second and can be told often.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::world::claims::without_chance;
use crate::world::estate::{Change, writes};
use crate::world::relay::{Call, Fate};
use crate::world::site::REPO;
use crate::world::{ADA, GRACE, Pull, World, rules};

/// A pull request that is opened, merged and approved, and whose wave applies.
struct Story {
    world: World,
    counter: PathBuf,
    /// When the server dies, if it does.
    deaths: Option<Deaths>,
}

/// Everything that people find afterwards, in words that are the same in every telling.
#[derive(Debug, PartialEq)]
struct Found {
    comments: Vec<(String, String)>,
    /// The newest status of each context, of the head and of the merge.
    statuses: BTreeSet<String>,
    /// Who reacted to the approval, and how.
    reactions: Vec<String>,
    ledger: Vec<String>,
    uses: Vec<String>,
    applies: String,
}

/// A server that dies at every call to its forge that is new to it, and at none twice.
#[derive(Clone)]
struct Deaths {
    fate: Fate,
    known: Arc<Mutex<BTreeSet<String>>>,
    died: u32,
}

impl Deaths {
    fn new(fate: Fate) -> Self {
        Self {
            fate,
            known: Arc::default(),
            died: 0,
        }
    }

    fn rule(&self) -> impl FnMut(&Call) -> Fate + Send + 'static {
        let Self { fate, known, .. } = self.clone();
        move |call| match known.lock().unwrap().insert(name_of(call)) {
            true => fate.clone(),
            false => Fate::Passes,
        }
    }
}

fn name_of(call: &Call) -> String {
    let body = String::from_utf8_lossy(&call.body);
    format!("{} {} {body}", call.method, call.path)
}

impl Story {
    async fn new(deaths: Option<Deaths>) -> Option<Self> {
        let world = World::on_github().await?;
        let counter = world.site.beside("counter");
        Some(Self {
            world,
            counter,
            deaths,
        })
    }

    /// Tells it from its beginning to its end.
    async fn tell(&mut self) -> Found {
        self.arm();
        let change = with_own_commands(&self.counter);
        let opened = self.world.open_without_waiting("count", &change);
        let pull = opened.await;
        self.go_on().await;
        let merged = self.world.merge_without_waiting(&pull).await;
        self.go_on().await;
        let site = &self.world.site;
        let approval = site.comment(GRACE, pull.number, "/approve").await;
        self.go_on().await;
        self.find(&pull, &merged, approval).await
    }

    fn arm(&self) {
        if let Some(deaths) = &self.deaths {
            self.world.api.rule(deaths.rule());
        }
    }

    /// Until everything that happened has had its consequences, however often the server dies on the way.
    async fn go_on(&mut self) {
        loop {
            tokio::select! {
                () = self.world.settle() => return,
                () = self.world.api.until_one_is_held() => {}
            }
            self.world.kill_the_server().await;
            self.world.api.drop_what_is_held();
            self.world.start_the_server().await;
            if let Some(deaths) = &mut self.deaths {
                deaths.died += 1;
            }
            self.arm();
        }
    }

    async fn find(&self, pull: &Pull, merged: &str, approval: u64) -> Found {
        let world = &self.world;
        let comments = world.site.comments(pull.number).await;
        let mut statuses = BTreeSet::new();
        for (name, commit) in [("head", pull.head.as_str()), ("merge", merged)] {
            for context in ["tidegate/plan", "tidegate/apply"] {
                let said = world.status(commit, context).await;
                statuses.insert(format!("{name} {context} {said}"));
            }
        }
        let path = format!("/repos/{REPO}/issues/comments/{approval}/reactions");
        let reactions = world.read(ADA, &path).await;
        let reactions = reactions.as_array().unwrap().iter();
        Found {
            comments: comments
                .into_iter()
                .map(|(who, text)| (who, without_chance(&text)))
                .collect(),
            statuses,
            reactions: reactions.map(|it| it["content"].to_string()).collect(),
            ledger: world.ledger_lines().await,
            uses: world.uses().await,
            applies: fs::read_to_string(&self.counter).unwrap_or_default(),
        }
    }
}

/// A root whose plan stands in a file, and whose apply is counted.
fn with_own_commands(counter: &Path) -> Change {
    let commands = "roots: [network]\ncommands:\n  plan: [cp, \"{target}/plan.json\", \"{plan}\"]\n  \
        apply: [sh, \"{target}/apply.sh\"]\n";
    let digest = "7".repeat(64);
    let plan = format!("{{\"planDigest\":\"jcs1-sha256:{digest}\",\"destructive\":true}}\n");
    let apply = format!("echo applied >> {}\n", counter.display());
    writes("tidegate.yml", &(rules("on-destructive") + commands))
        .and(writes("network/plan.json", &plan))
        .and(writes("network/apply.sh", &apply))
}

/// What people find when nothing goes wrong.
async fn uninterrupted() -> Option<Found> {
    let mut story = Story::new(None).await?;
    let found = story.tell().await;
    story.world.end().await;
    Some(found)
}

async fn dying(fate: Fate) {
    let Some(wanted) = uninterrupted().await else {
        return;
    };
    assert_eq!(wanted.applies, "applied\n", "{wanted:#?}");
    let mut story = Story::new(Some(Deaths::new(fate))).await.unwrap();
    assert_eq!(story.tell().await, wanted);
    let died = story.deaths.as_ref().unwrap().died;
    assert!(died > 10, "the server died only {died} times");
    story.world.api.let_all_pass();
    story.world.end().await;
}

#[tokio::test]
async fn a_server_that_dies_before_each_of_its_calls_leaves_what_another_leaves() {
    dying(Fate::HeldBefore).await;
}

#[tokio::test]
async fn a_server_that_dies_after_each_of_its_calls_leaves_what_another_leaves() {
    dying(Fate::HeldAfter).await;
}

#[tokio::test]
async fn a_story_whose_deliveries_all_come_again_at_the_same_moment_is_told_once() {
    let Some(mut story) = Story::new(None).await else {
        return;
    };
    let change = with_own_commands(&story.counter);
    let pull = story.world.open("count", change).await;
    story.world.deliver_all_again().await;
    let merged = story.world.merge(&pull).await;
    story.world.deliver_all_again().await;
    let approval = story.world.comment(&pull, GRACE, "/approve").await;
    story.world.deliver_all_again().await;
    let found = story.find(&pull, &merged, approval).await;
    story.world.end().await;
    assert_eq!(Some(found), uninterrupted().await);
}
