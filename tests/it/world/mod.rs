//! The world in which stories are told: a forge, a server and its jobs, real git, real Terraform, and people who talk.
//!
//! What somebody does has all its consequences before the story goes on, unless the word for it says otherwise.

pub(crate) mod app;
pub(crate) mod claims;
pub(crate) mod estate;
pub(crate) mod site;
pub(crate) mod spec;

mod again;
mod database;
mod ledger;
mod letter;
mod peace;
pub(crate) mod relay;
pub(crate) mod server;

use std::collections::BTreeSet;
use std::future::{Future, IntoFuture};
use std::path::{Path, PathBuf};
use std::pin::Pin;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::world::database::Database;
use crate::world::estate::{Change, ROOTS};
use crate::world::relay::Relay;
use crate::world::server::{Place, Running, free_address};
use crate::world::site::{Account, REPO, Site};

/// Writes to the repository; most changes are hers.
pub(crate) const ADA: &str = "ada";
/// Writes to the repository too.
pub(crate) const GRACE: &str = "grace";
/// May only read.
pub(crate) const MALLORY: &str = "mallory";
/// The account that the server acts as.
pub(crate) const TIDE: &str = "tide";

/// Each world runs one job at a time, so this many Terraforms run at once.
static TURNS: Semaphore = Semaphore::const_new(2);

/// A forge, a server and its jobs for one story. It must be ended, so that what is left over is seen.
pub(crate) struct World {
    pub(crate) site: Site,
    server: Option<Running>,
    place: Place,
    /// Between the server and the forge's API.
    pub(crate) api: Relay,
    /// Between jobs and the server.
    pub(crate) runner: Relay,
    /// Versions of states that no job of the story wrote.
    known: BTreeSet<PathBuf>,
    /// Numbers what has no name of its own.
    last: u32,
    _turn: SemaphorePermit<'static>,
}

/// A pull request as its author knows it.
#[derive(Clone)]
pub(crate) struct Pull {
    pub(crate) number: u64,
    pub(crate) branch: String,
    pub(crate) head: String,
}

/// What a world starts with.
pub(crate) struct Setting {
    gate: &'static str,
    account: Account,
    kind: Option<database::Kind>,
}

impl Setting {
    /// The policy of the rules on `main`.
    pub(crate) fn with_gate(self, gate: &'static str) -> Self {
        Self { gate, ..self }
    }

    /// On SQLite, whatever the other stories are told on.
    pub(crate) fn on_sqlite(self) -> Self {
        let kind = Some(database::Kind::Sqlite);
        Self { kind, ..self }
    }
}

impl IntoFuture for Setting {
    type Output = Option<World>;
    type IntoFuture = Pin<Box<dyn Future<Output = Option<World>> + Send>>;

    /// Starts the world; none where there is neither Terraform nor OpenTofu.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let tool = estate::tool()?;
            Some(World::start(&tool, &self).await)
        })
    }
}

/// The rules of a repository with that gate.
pub(crate) fn rules(gate: &str) -> String {
    format!("gate: {gate}\nparallelism: 1\n")
}

impl World {
    /// A world on a forge that speaks as GitHub does.
    pub(crate) fn on_github() -> Setting {
        Setting {
            gate: "on-destructive",
            account: Account::User,
            kind: None,
        }
    }

    /// The same, where the server is a GitHub App and no user.
    pub(crate) fn on_github_app() -> Setting {
        Setting {
            account: Account::App,
            ..Self::on_github()
        }
    }

    async fn start(tool: &str, setting: &Setting) -> Self {
        let turn = TURNS.acquire().await.unwrap();
        let (listen, pages) = (free_address(), free_address());
        let hook = format!("http://{listen}/webhooks/github");
        let site = Site::with(hook, setting.account).await;
        let api = Relay::before(site.address.clone()).await;
        let runner = Relay::before(format!("http://{listen}")).await;
        let folder = site.beside("server");
        let place = Place {
            database: Database::new(setting.kind, &folder).await,
            listen,
            pages,
            folder,
            home: site.beside("home"),
            forge: site.address.clone(),
            api: api.address,
            runner: runner.address,
            programs: None,
            largest_file: None,
            account: setting.account,
        };
        place.furnish();
        let server = Some(Running::start(&place).await);
        let mut world = Self {
            site,
            server,
            place,
            api,
            runner,
            known: BTreeSet::new(),
            last: 0,
            _turn: turn,
        };
        let state = estate::first_state(tool).await;
        for root in ROOTS {
            world.put_state(root, &state).await;
        }
        world.push(&estate::first(&rules(setting.gate))).await;
        assert_eq!(world.applied(), claims::NOTHING);
        world
    }

    /// Pushes a change to `main` without a pull request, and answers the commit.
    pub(crate) async fn push(&mut self, change: &Change) -> String {
        let commit = self.push_without_waiting("main", change).await;
        self.settle().await;
        commit
    }

    /// Opens a pull request of ada's.
    pub(crate) async fn open(&mut self, title: &str, change: Change) -> Pull {
        let pull = self.open_without_waiting(title, &change).await;
        self.settle().await;
        pull
    }

    /// Opens a pull request of ada's; its plan may be under way.
    pub(crate) async fn open_without_waiting(&mut self, title: &str, change: &Change) -> Pull {
        self.last += 1;
        let branch = format!("change-{}", self.last);
        let head = self.push_without_waiting(&branch, change).await;
        let number = self.propose(ADA, title, &branch).await;
        Pull {
            number,
            branch,
            head,
        }
    }

    /// Opens a pull request from a fork of somebody who may not write here.
    pub(crate) async fn open_from_a_fork(&mut self, title: &str, change: Change) -> Pull {
        let fork = format!("{MALLORY}/infra");
        let path = format!("/repos/{REPO}/forks");
        self.site.ask(MALLORY, Method::POST, &path, json!({})).await;
        self.check_out("mine").await;
        change.write(&self.site.checkout(), &self.states());
        self.site.commit(title).await;
        let head = self.site.publish(MALLORY, &fork, "mine").await;
        let branch = format!("{MALLORY}:mine");
        let number = self.propose(MALLORY, title, &branch).await;
        self.settle().await;
        Pull {
            number,
            branch,
            head,
        }
    }

    /// Has a pull request go into another branch, made where `main` stands.
    pub(crate) async fn retarget(&mut self, pull: &Pull, branch: &str) {
        self.check_out(branch).await;
        self.site.publish(ADA, REPO, branch).await;
        let path = format!("/repos/{REPO}/pulls/{}", pull.number);
        let body = json!({ "base": branch });
        self.site.ask(ADA, Method::PATCH, &path, body).await;
        self.settle().await;
    }

    /// Pushes another commit to a pull request's branch, and answers the new head.
    pub(crate) async fn push_to(&mut self, pull: &Pull, change: Change) -> String {
        let branch = pull.branch.clone();
        let head = self.push_without_waiting(&branch, &change).await;
        self.settle().await;
        head
    }

    /// Merges a pull request, and answers the commit on `main`.
    pub(crate) async fn merge(&mut self, pull: &Pull) -> String {
        let commit = self.merge_without_waiting(pull).await;
        self.settle().await;
        commit
    }

    /// Merges a pull request; its rollout may be under way.
    pub(crate) async fn merge_without_waiting(&self, pull: &Pull) -> String {
        let path = format!("/repos/{REPO}/pulls/{}/merge", pull.number);
        let merged = self.site.ask(ADA, Method::PUT, &path, json!({})).await;
        merged["sha"].as_str().unwrap().to_owned()
    }

    /// Opens and merges a pull request of ada's.
    pub(crate) async fn merged(&mut self, title: &str, change: Change) -> Pull {
        let pull = self.open(title, change).await;
        self.merge(&pull).await;
        pull
    }

    /// Says something on a pull request, and answers the comment's number.
    pub(crate) async fn comment(&mut self, pull: &Pull, who: &str, text: &str) -> u64 {
        let comment = self.site.comment(who, pull.number, text).await;
        self.settle().await;
        comment
    }

    /// Rewrites a comment.
    pub(crate) async fn edit(&mut self, comment: u64, who: &str, text: &str) {
        let path = format!("/repos/{REPO}/issues/comments/{comment}");
        let body = json!({ "body": text });
        self.site.ask(who, Method::PATCH, &path, body).await;
        self.settle().await;
    }

    /// Takes a comment away.
    pub(crate) async fn delete(&mut self, comment: u64, who: &str) {
        let path = format!("/repos/{REPO}/issues/comments/{comment}");
        self.site.ask(who, Method::DELETE, &path, Value::Null).await;
        self.settle().await;
    }

    /// Marks what a root holds for replacement, outside of any pull request.
    pub(crate) async fn taint(&mut self, root: &str) {
        let mut state = self.state(root).await;
        let serial = state["serial"].as_u64().unwrap();
        state["serial"] = json!(serial + 1);
        state["resources"][0]["instances"][0]["status"] = json!("tainted");
        self.put_state(root, &state).await;
    }

    /// Takes the server away in the middle of whatever it does.
    pub(crate) async fn kill_the_server(&mut self) {
        self.server.take().unwrap().kill().await;
    }

    /// Tells the server to stop, and waits until it has left in order.
    pub(crate) async fn stop_the_server(&mut self) {
        self.server.take().unwrap().stop().await;
    }

    /// How many jobs live.
    pub(crate) fn living(&self) -> usize {
        self.living_jobs().len()
    }

    /// Starts the server again.
    pub(crate) async fn start_the_server(&mut self) {
        self.server = Some(Running::start(&self.place).await);
    }

    /// What the next server finds.
    pub(crate) fn place_mut(&mut self) -> &mut Place {
        &mut self.place
    }

    /// The file of the server's database.
    pub(crate) fn database_file(&self) -> &Path {
        match &self.place.database {
            Database::Sqlite { file, .. } => file,
            Database::Postgres { .. } => panic!("the story is told on PostgreSQL"),
        }
    }

    /// Kills every job that lives, as a machine without memory does.
    pub(crate) fn kill_the_jobs(&self) {
        let living = self.living_jobs();
        assert!(!living.is_empty(), "no job lives");
        for (_, process) in living {
            process.kill();
        }
    }

    /// Sets `main` back to a commit it stood at before.
    pub(crate) async fn set_back(&mut self, commit: &str) {
        let refs = format!("+{commit}:refs/heads/main");
        self.site
            .git_as(ADA, REPO, &["push", "--quiet"], &[&refs])
            .await;
        self.settle().await;
    }

    /// The installation's key.
    pub(crate) fn key(&self) -> String {
        std::fs::read_to_string(self.place.folder.join("key")).unwrap()
    }

    async fn propose(&self, who: &str, title: &str, head: &str) -> u64 {
        let body = json!({ "title": title, "head": head, "base": "main" });
        let path = format!("/repos/{REPO}/pulls");
        let pull = self.site.ask(who, Method::POST, &path, body).await;
        pull["number"].as_u64().unwrap()
    }

    /// Pushes a change to a branch; what follows from it may be under way.
    pub(crate) async fn push_without_waiting(&self, branch: &str, change: &Change) -> String {
        self.check_out(branch).await;
        change.write(&self.site.checkout(), &self.states());
        self.site.commit("Deepen the harbour").await;
        self.site.publish(ADA, REPO, branch).await
    }

    /// Checks out a branch as the forge has it; one that is new starts at `main`.
    async fn check_out(&self, branch: &str) {
        let all = ["+refs/heads/*:refs/remotes/forge/*"];
        self.site
            .git_as(ADA, REPO, &["fetch", "--quiet"], &all)
            .await;
        let listed = self
            .site
            .git(&[
                "for-each-ref",
                "--format=%(refname:short)",
                "refs/remotes/forge",
            ])
            .await;
        let is_there = |name: &str| listed.lines().any(|it| it == format!("forge/{name}"));
        let start = [branch, "main"].into_iter().find(|it| is_there(it));
        let start = start.map_or("HEAD".to_owned(), |it| format!("forge/{it}"));
        let empty = listed.is_empty();
        let whole = ["checkout", "--quiet", "--force", "-B", branch, &start];
        // Before the first commit there is nothing to start at.
        self.site
            .git(if empty { &["status"] } else { &whole })
            .await;
    }

    /// The address below which roots have their states.
    fn states(&self) -> String {
        format!("{}/state/{REPO}", self.site.address)
    }

    fn server(&self) -> &Running {
        self.server.as_ref().unwrap()
    }
}
