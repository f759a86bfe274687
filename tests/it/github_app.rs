//! Acting as a GitHub App: its own right, its tokens, and where it is installed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::Method;
use jiff::{SignedDuration, Timestamp};
use tidegate::core::config::server::ForgeKind;
use tidegate::core::event::Event;
use tidegate::core::finding::Level;
use tidegate::core::ids::{Repo, RepoId};
use tidegate::core::lost::Changes;
use tidegate::forge::{Checkup, Connection, Forge, ForgeError};

use crate::forges::{Stage, connection};
use crate::world::estate::replaces;
use crate::world::site::Account;
use crate::world::{GRACE, World};

/// How a request for a token ends.
const TOKENS: &str = "/access_tokens";

async fn stage() -> Stage {
    Stage::acting_as(ForgeKind::GitHub, Account::App).await
}

impl Stage {
    /// The forge once more, without anything it remembers, by a clock that is so many seconds ahead.
    fn by_a_clock_ahead(&self, seconds: i64) -> (Arc<dyn Forge>, Arc<AtomicI64>) {
        let ahead = Arc::new(AtomicI64::new(seconds));
        let told = ahead.clone();
        let connection = Connection {
            clock: Arc::new(move || {
                let ahead = SignedDuration::from_secs(told.load(Ordering::Relaxed));
                Timestamp::now() + ahead
            }),
            ..connection(Account::App)
        };
        let options = &self.served.options;
        (options.kind.connect(options, connection).unwrap(), ahead)
    }

    async fn refusal(&self) -> String {
        match read(&self.forge, &self.repo).await {
            Err(ForgeError::Forbidden(why)) => why,
            other => panic!("{other:?}"),
        }
    }
}

/// Reads something, for which it takes a token.
async fn read(forge: &Arc<dyn Forge>, repo: &Repo) -> Result<Changes, ForgeError> {
    forge.changes_since(repo, Timestamp::now()).await
}

#[tokio::test]
async fn a_change_goes_all_the_way_while_tokens_run_out() {
    let Some(mut world) = World::on_github_app().await else {
        return;
    };
    let pull = world.open("replace the network", replaces("network")).await;
    assert!(world.note(&pull).await.contains("network"));
    world.site.expire_tokens().await;
    world.merge(&pull).await;
    assert_eq!(world.applied(), [""; 0]);
    world.site.expire_tokens().await;
    world.comment(&pull, GRACE, "/approve wave-1").await;
    assert_eq!(world.applied(), ["network"]);
    assert_eq!(world.uses().await, ["applied", "finished"]);
    world.end().await;
}

#[tokio::test]
async fn an_app_acts_as_its_bot() {
    let stage = stage().await;
    let me = stage.forge.me().await.unwrap();
    assert_eq!((me.login.as_str(), me.is_bot), ("tide-app[bot]", true));
    assert_ne!(me.id.0, 0);
}

#[tokio::test]
async fn many_who_need_a_token_at_once_share_one() {
    let stage = stage().await;
    let before = stage.site.asked(Method::POST, TOKENS);
    let asking = (0..50).map(|_| stage.forge.remote(&stage.repo));
    let remotes = futures::future::join_all(asking).await;
    assert!(remotes.iter().all(|it| it.is_ok()));
    assert_eq!(stage.site.asked(Method::POST, TOKENS), before + 1);
}

#[tokio::test]
async fn a_token_that_is_no_longer_good_is_made_anew() {
    let stage = stage().await;
    stage.site.push("ada", "deepen", "main.tf").await;
    let pull = stage.pull(stage.site.open("ada", "deepen").await);
    stage.forge.upsert_note(&pull, "low water").await.unwrap();
    stage.site.expire_tokens().await;
    stage.forge.reply(&pull, "comment-1", "no").await.unwrap();
    assert_eq!(stage.site.comments(pull.number.0).await.len(), 2);
}

#[tokio::test]
async fn a_token_is_made_anew_before_it_ends() {
    let stage = stage().await;
    let (forge, clock) = stage.by_a_clock_ahead(0);
    let mut made = Vec::new();
    for minutes in [0, 54, 56, 57] {
        clock.store(60 * minutes, Ordering::Relaxed);
        forge.remote(&stage.repo).await.unwrap();
        made.push(stage.site.asked(Method::POST, TOKENS));
    }
    assert_eq!(made, [1, 1, 2, 2]);
}

#[tokio::test]
async fn a_clock_that_is_wrong_keeps_nobody_out() {
    let stage = stage().await;
    for seconds in [-7200, -90, -30, 30, 90, 7200] {
        let (forge, _) = stage.by_a_clock_ahead(seconds);
        let read = read(&forge, &stage.repo).await;
        assert!(read.is_ok(), "{seconds}: {read:?}");
    }
}

#[tokio::test]
async fn a_suspended_installation_refuses_until_it_is_taken_back() {
    let stage = stage().await;
    read(&stage.forge, &stage.repo).await.unwrap();
    let path = format!(
        "/app/installations/{}/suspended",
        stage.site.installation().await
    );
    stage.site.ask_as_app(Method::PUT, &path).await;
    for _ in 0..2 {
        let refusal = stage.refusal().await;
        assert!(refusal.contains("suspended"), "{refusal}");
    }
    let (fresh, _) = stage.by_a_clock_ahead(0);
    let refused = fresh.remote(&stage.repo).await.unwrap_err().to_string();
    assert!(refused.contains("an owner must unsuspend it"), "{refused}");
    stage.site.ask_as_app(Method::DELETE, &path).await;
    read(&stage.forge, &stage.repo).await.unwrap();
}

#[tokio::test]
async fn where_the_app_is_not_installed_it_says_so() {
    let stage = stage().await;
    read(&stage.forge, &stage.repo).await.unwrap();
    let path = format!("/app/installations/{}", stage.site.installation().await);
    stage.site.ask_as_app(Method::DELETE, &path).await;
    let refusal = stage.refusal().await;
    assert!(
        refusal.contains("the app is not installed on acme/infra"),
        "{refusal}"
    );
}

#[tokio::test]
async fn the_number_of_another_repository_gets_no_token() {
    let mut stage = stage().await;
    stage.repo.id = RepoId(stage.repo.id.0 + 1000);
    let refusal = stage.refusal().await;
    assert!(
        refusal.contains("does not hold the repository"),
        "{refusal}"
    );
}

/// What a check of the installation finds not to be right.
async fn faults(stage: &Stage, hook: &str) -> Vec<String> {
    let checkup = Checkup {
        options: &stage.served.options,
        hook: hook.parse().unwrap(),
        repos: std::slice::from_ref(&stage.repo.name),
    };
    let findings = ForgeKind::GitHub.check(&checkup, connection(Account::App));
    let findings = findings.await.into_iter();
    findings
        .filter(|it| it.level != Level::Ok)
        .map(|it| it.what)
        .collect()
}

#[tokio::test]
async fn a_check_tells_what_keeps_the_app_from_working() {
    let stage = stage().await;
    let config = stage.site.ask_as_app(Method::GET, "/app/hook/config").await;
    let hook = config["url"].as_str().unwrap();
    assert_eq!(faults(&stage, hook).await, [""; 0]);
    let elsewhere = faults(&stage, "https://tide.acme.example/webhooks/github").await;
    assert!(elsewhere[0].contains(hook), "{elsewhere:?}");
    let id = stage.site.installation().await;
    let path = format!("/app/installations/{id}/suspended");
    stage.site.ask_as_app(Method::PUT, &path).await;
    let suspended = "the app's installation on acme/infra is suspended";
    assert_eq!(faults(&stage, hook).await, [suspended]);
    stage.site.have_repo(false, id).await;
    let missing = "the app is not installed on acme/infra";
    assert_eq!(faults(&stage, hook).await, [missing]);
}

#[tokio::test]
async fn what_an_owner_does_to_the_installation_arrives_as_events() {
    let mut stage = stage().await;
    let id = stage.site.installation().await;
    stage.site.have_repo(false, id).await;
    stage.site.have_repo(true, id).await;
    let path = format!("/app/installations/{id}/suspended");
    stage.site.ask_as_app(Method::PUT, &path).await;
    stage.site.ask_as_app(Method::DELETE, &path).await;
    let path = format!("/app/installations/{id}");
    stage.site.ask_as_app(Method::DELETE, &path).await;
    let repos = vec![stage.repo.clone()];
    let (given, taken) = (
        Event::Installed {
            repos: repos.clone(),
        },
        Event::Removed { repos },
    );
    assert_eq!(stage.event().await, given);
    assert_eq!(stage.event().await.name(), "branch-pushed");
    for expected in [&taken, &given, &taken] {
        assert_eq!(&stage.event().await, expected);
    }
}
