//! Effects on a real store, a real ledger and a forge that remembers what it was told.

mod paper;

use std::path::Path;

use anyhow::anyhow;
use tempfile::TempDir;

use super::*;
use crate::core::effect::{Note, Reaction, Status, StatusContext, StatusState};
use crate::core::event::Event;
use crate::core::gate::facts::{Approval, Fact};
use crate::core::ids::{
    Attempt, Branch, CommentId, DeliveryId, Digest, Gate, Op, PullNumber, Repo, RepoId, Sha,
};
use crate::core::job::{JobKey, JobSpec, Work};
use crate::core::remote::Remote;
use crate::executor::local::{Local, LocalOptions};
use crate::forge::ForgeError;
use crate::git::Mirror;
use crate::outbox::perform::LIMIT;
use crate::outbox::tests::paper::{Paper, Told};
use crate::store::{Finished, Handled};

/// A world in a folder, and the forge in it.
struct Stage {
    home: TempDir,
    world: World,
    paper: Arc<Paper>,
}

/// All that effects leave behind.
#[derive(Debug, PartialEq)]
struct Left {
    told: Told,
    ledger: String,
    deliveries: i64,
    jobs: Vec<String>,
}

impl Stage {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let origin = home.path().join("origin.git");
        Mirror::open(&origin, None).await.unwrap();
        let paper = Arc::new(Paper::new(origin));
        let url = format!("sqlite:{}", home.path().join("tidegate.db").display());
        let forge: Arc<dyn Forge> = paper.clone();
        let world = World {
            store: Store::open(&url).await.unwrap(),
            forges: Arc::new(BTreeMap::from([(repo().forge, forge)])),
            mirrors: home.path().join("mirrors"),
            executor: Arc::new(executor(home.path())),
        };
        Self { home, world, paper }
    }

    /// Stores effects as a handler's decision about a delivery does.
    async fn decide(&self, effects: &[Effect]) {
        let inbox = &self.world.store.inbox;
        let event = Event::NoteStale { pull: pull() };
        let id = DeliveryId::try_from("first").unwrap();
        let now = Timestamp::now();
        inbox.file_own(&id, &event, now).await.unwrap();
        let claimed = inbox.claim("worker", now, LEASE).await.unwrap().unwrap();
        let handled = Handled {
            changes: Vec::new(),
            effects: effects.to_vec(),
        };
        let finished = inbox.finish(&claimed, &handled, now).await.unwrap();
        assert_eq!(finished, Finished::Stored);
    }

    async fn claim(&self, now: Timestamp) -> Option<ClaimedEffect> {
        let outbox = &self.world.store.outbox;
        outbox.claim("performer", now, LEASE).await.unwrap()
    }

    async fn perform_all(&self) {
        while perform_next(&self.world, "performer").await.unwrap() {}
    }

    /// Tries the next effect, whenever it is due.
    async fn try_now(&self) {
        let due = Timestamp::now() + SignedDuration::from_hours(1);
        let claimed = self.claim(due).await.unwrap();
        match try_once(&self.world, &claimed).await {
            Ok(()) => self.world.store.outbox.done(&claimed, due).await.unwrap(),
            Err(failure) => failed(&self.world, &claimed, failure).await.unwrap(),
        }
    }

    async fn counts(&self) -> (i64, i64) {
        let counts = self.world.store.outbox.counts().await.unwrap();
        (counts.waiting, counts.given_up)
    }

    fn told(&self) -> Told {
        self.paper.told.lock().unwrap().clone()
    }

    async fn left(&self) -> Left {
        let store = &self.world.store;
        let queued = store.jobs.queued(10).await.unwrap();
        Left {
            told: self.told(),
            ledger: self.ledger().await,
            deliveries: store.inbox.counts().await.unwrap().queued,
            jobs: queued.iter().map(|it| it.spec.key.to_string()).collect(),
        }
    }

    /// The gate file of the ledger, as the remote has it.
    async fn ledger(&self) -> String {
        let origin = self.home.path().join("origin.git");
        let remote = Remote {
            url: origin.display().to_string(),
            authorization: None,
        };
        let mirror = Mirror::open(&origin, Some(remote)).await.unwrap();
        let branch = Branch::try_from("chant/lifecycle").unwrap();
        let Some(tip) = mirror.remote_tip(&branch).await.unwrap() else {
            return String::new();
        };
        let bytes = mirror.show(&tip, "_gates/tf-apply.jsonl").await.unwrap();
        String::from_utf8(bytes.unwrap()).unwrap()
    }
}

fn executor(home: &Path) -> Local {
    let options = LocalOptions {
        program: "tidegate".into(),
        server: "http://127.0.0.1:1".parse().unwrap(),
        folder: home.join("jobs"),
        plan_env: Vec::new(),
        apply_env: Vec::new(),
        plan_account: None,
        apply_account: None,
        grace: Duration::from_secs(1),
    };
    Local::open(options).unwrap()
}

fn repo() -> Repo {
    Repo {
        forge: "paper.example".try_into().unwrap(),
        id: RepoId(7),
        name: "acme/infra".try_into().unwrap(),
    }
}

fn pull() -> Pull {
    Pull {
        repo: repo(),
        number: PullNumber(1),
    }
}

fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).unwrap()
}

fn status() -> Effect {
    Effect::Status {
        repo: repo(),
        commit: sha('a'),
        status: Status {
            context: StatusContext::Plan,
            state: StatusState::Success,
            description: "nothing to do".to_owned(),
            url: None,
        },
    }
}

fn reply() -> Effect {
    Effect::Reply {
        pull: pull(),
        key: "comment-5".to_owned(),
        text: "Done.".to_owned(),
    }
}

fn react(comment: u64) -> Effect {
    Effect::React {
        pull: pull(),
        comment: CommentId(comment),
        reaction: Reaction::Eyes,
    }
}

fn record() -> Effect {
    let fact = Fact::Approval(Approval {
        id: "fact-1".to_owned(),
        op: Op::tf_apply(),
        gate: Gate::try_from("wave-1").unwrap(),
        timestamp: Timestamp::UNIX_EPOCH,
        digest: Digest::try_from(format!("jcs1-sha256:{}", "a".repeat(64))).unwrap(),
        resolved_by: "paper:ada".to_owned(),
        user: None,
        commit: sha('a'),
        pr: None,
        url: None,
    });
    Effect::Record { repo: repo(), fact }
}

fn start(part: &str) -> Effect {
    let key = JobKey {
        part: part.to_owned(),
        attempt: Attempt(1),
    };
    Effect::Start(Box::new(JobSpec {
        key,
        repo: repo(),
        commit: sha('a'),
        base: sha('b'),
        work: Work::Plan {
            pull: pull(),
            only: Vec::new(),
        },
        parallelism: 1,
    }))
}

fn of_every_kind() -> Vec<Effect> {
    let note = Note {
        text: "# Plan".to_owned(),
        asks: Vec::new(),
    };
    vec![
        Effect::Note { pull: pull(), note },
        reply(),
        status(),
        react(5),
        record(),
        start("kept"),
        start("stopped"),
        Effect::Cancel(JobKey {
            part: "stopped".to_owned(),
            attempt: Attempt(1),
        }),
        Effect::Merge {
            pull: pull(),
            head: sha('a'),
        },
        Effect::Follow(Box::new(Event::NoteStale { pull: pull() })),
    ]
}

#[tokio::test]
async fn performing_a_list_twice_leaves_the_world_as_once() {
    let (once, twice) = (Stage::new().await, Stage::new().await);
    once.decide(&of_every_kind()).await;
    once.perform_all().await;
    twice.decide(&of_every_kind()).await;
    while let Some(claimed) = twice.claim(Timestamp::now()).await {
        for _ in 0..2 {
            perform_bounded(&twice.world, &claimed).await.unwrap();
        }
        let outbox = &twice.world.store.outbox;
        outbox.done(&claimed, Timestamp::now()).await.unwrap();
    }
    let left = once.left().await;
    assert_eq!(left.jobs, ["kept/1"]);
    assert_eq!(
        left.deliveries, 2,
        "what follows, and the end of the stopped job"
    );
    assert_eq!(left, twice.left().await);
}

#[tokio::test]
async fn what_the_forge_refuses_is_given_up_and_its_lane_goes_on() {
    let stage = Stage::new().await;
    let refusal = ForgeError::Forbidden("not yours".to_owned());
    stage.paper.trouble.lock().unwrap().push_back(refusal);
    stage.decide(&[status(), reply()]).await;
    stage.perform_all().await;
    assert_eq!(stage.counts().await, (0, 1));
    assert_eq!(stage.told().replies.len(), 1);
}

#[tokio::test]
async fn a_limit_is_waited_for_and_is_no_try() {
    let stage = Stage::new().await;
    let second = SignedDuration::from_secs(1);
    let until = Timestamp::now() + SignedDuration::from_mins(30);
    let limit = ForgeError::Limited { until };
    stage.paper.trouble.lock().unwrap().push_back(limit);
    stage.decide(&[status()]).await;
    stage.perform_all().await;
    assert!(stage.claim(until - second).await.is_none());
    assert_eq!(stage.claim(until + second).await.unwrap().attempt, 1);
}

#[tokio::test]
async fn what_only_informs_is_given_up_after_its_tries() {
    let stage = Stage::new().await;
    let down = || ForgeError::Other(anyhow!("it is down"));
    let trouble = std::iter::repeat_with(down).take(100);
    stage.paper.trouble.lock().unwrap().extend(trouble);
    stage.decide(&[status()]).await;
    for _ in 1..TRIES {
        stage.try_now().await;
    }
    assert_eq!(stage.counts().await, (1, 0));
    stage.try_now().await;
    assert_eq!(stage.counts().await, (0, 1));
}

#[tokio::test]
async fn a_record_is_never_given_up() {
    let stage = Stage::new().await;
    stage.paper.set_origin(Err("the token is no longer good"));
    stage.decide(&[record()]).await;
    for _ in 0..TRIES + 2 {
        stage.try_now().await;
    }
    assert_eq!(stage.counts().await, (1, 0));
    let origin = stage.home.path().join("origin.git");
    stage.paper.set_origin(Ok(origin));
    stage.try_now().await;
    assert_eq!(stage.counts().await, (0, 0));
    assert_eq!(stage.ledger().await.lines().count(), 1);
}

#[tokio::test]
async fn a_bug_in_one_effect_is_that_effects_failure_alone() {
    let stage = Stage::new().await;
    stage.decide(&[react(13)]).await;
    assert!(perform_next(&stage.world, "performer").await.unwrap());
    assert_eq!(stage.counts().await, (1, 0), "it is tried again");
}

#[test]
fn an_effect_is_over_before_its_lease_is() {
    assert!(SignedDuration::try_from(LIMIT).unwrap() < LEASE);
}

#[test]
fn tries_last_for_more_than_an_hour() {
    let pauses = (1..TRIES).map(pause);
    let whole = pauses.fold(SignedDuration::ZERO, |sum, it| sum + it);
    assert!(whole > SignedDuration::from_hours(1), "{whole}");
}
