//! Every method of the store, on SQLite and, when `TIDEGATE_TEST_POSTGRES` names one, on PostgreSQL.

mod checking;
mod inbox;
mod jobs;
mod looks;
mod memory;
mod opening;
mod outbox;

use jiff::{SignedDuration, Timestamp};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::core::event::{Commented, Event};
use crate::core::ids::{
    Actor, CommentId, DeliveryId, ForgeHost, Login, Pull, PullNumber, Repo, RepoId, RepoName,
    UserId,
};
use crate::store::{Claimed, Delivery, Filed, Store, check, on};

const LEASE: SignedDuration = SignedDuration::from_secs(30);

/// Makes a claim about the store on each database there is, each time on an empty one.
async fn on_each(claim: impl AsyncFn(Store)) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.db");
    let url = format!("sqlite:{}", file.display());
    claim(Store::open(&url).await.unwrap()).await;
    if let Ok(server) = std::env::var("TIDEGATE_TEST_POSTGRES") {
        let database = format!("t{}", uuid::Uuid::now_v7().simple());
        let mut admin = PgConnection::connect(&server).await.unwrap();
        run(&mut admin, format!("CREATE DATABASE {database}")).await;
        let mut url = url::Url::parse(&server).unwrap();
        url.set_path(&database);
        claim(Store::open(url.as_str()).await.unwrap()).await;
        run(&mut admin, format!("DROP DATABASE {database} WITH (FORCE)")).await;
    }
}

async fn run(admin: &mut PgConnection, sql: String) {
    admin.execute(AssertSqlSafe(sql)).await.unwrap();
}

/// A moment, `seconds` after the tests' first.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_796_000_000 + seconds).unwrap()
}

fn repo() -> Repo {
    Repo {
        forge: ForgeHost::try_from("github.com").unwrap(),
        id: RepoId(7),
        name: RepoName::try_from("acme/infra").unwrap(),
    }
}

fn pull(number: u64) -> Pull {
    Pull {
        repo: repo(),
        number: PullNumber(number),
    }
}

fn ada() -> Actor {
    Actor {
        id: UserId(1),
        login: Login::try_from("ada").unwrap(),
        is_bot: false,
    }
}

fn pushed(number: u64) -> Event {
    Event::PullPushed {
        pull: pull(number),
        actor: ada(),
    }
}

fn commented(comment: u64) -> Event {
    Event::Commented(Commented {
        pull: pull(1),
        comment: CommentId(comment),
        at: at(0),
        actor: ada(),
        body: "/plan".to_owned(),
        url: "https://github.com/acme/infra/pull/1#issuecomment-1".to_owned(),
        found_at: None,
    })
}

fn delivery(id: &str) -> Delivery {
    Delivery {
        forge: repo().forge,
        id: DeliveryId::try_from(id).unwrap(),
    }
}

async fn file(store: &Store, id: &str, event: &Event) -> Filed {
    store.inbox.file(&delivery(id), event, at(0)).await.unwrap()
}

/// Claims a delivery, if one is free.
async fn claim(store: &Store, now: Timestamp) -> Option<Claimed> {
    store.inbox.claim("worker", now, LEASE).await.unwrap()
}

/// The ids of deliveries as they are claimed side by side until none is free.
async fn claim_all(store: &Store, now: Timestamp) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(claimed) = claim(store, now).await {
        ids.push(claimed.id.to_string());
    }
    ids
}
