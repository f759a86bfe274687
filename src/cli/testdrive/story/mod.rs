//! The story: what its people do, and what must be seen before the next thing happens.

mod before;
mod gate;
mod hands;
mod moved;

use std::path::PathBuf;

use futures::future::BoxFuture;

use crate::cli::testdrive::people::Person;
use crate::cli::testdrive::stage::Stage;
use crate::core::ids::Digest;

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
}
