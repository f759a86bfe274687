//! The gate's side of the server on a real store and a real ledger, kept by the sandbox's git.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::*;
use crate::core::config::server::{Account, ForgeKind, ForgeOptions};
use crate::core::gate::facts::{self, Approval, Fact};
use crate::core::ids::{Branch, Digest, Op, Repo, RepoId, RolloutId, Root, Sha};
use crate::core::key::MasterKey;
use crate::core::plan::{Action, Change, Draft, Mode, PlanResult, Planned, Subject};
use crate::core::rollout::{Source, Wave, WaveState};
use crate::forge::Connection;
use crate::git::{Identity, Mirror, NewCommit};
use crate::handlers::estates::Estates;
use crate::sandbox::{self, Seed, SeedRepo, SeedUser};
use crate::store::Store;

/// A server whose repository, `acme/infra`, is the sandbox's; its rules at base ask for an approval always.
struct World {
    home: TempDir,
    app: App,
    /// What the first push's rollout was compared with.
    base: Sha,
    _running: DropGuard,
}

impl World {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (address, running) = start_sandbox(home.path().join("sandbox")).await;
        let options = ForgeOptions {
            kind: ForgeKind::GitHub,
            url: address.parse().unwrap(),
            api_url: format!("{address}/api/v3").parse().unwrap(),
            account: Account::Token {
                file: "token".into(),
            },
            webhook_secret_files: Vec::new(),
            repos: vec!["acme/*".to_owned()],
        };
        let forge = options.kind.connect(
            &options,
            Connection {
                secret: "bot-token".into(),
                http: reqwest::Client::new(),
                clock: Arc::new(Timestamp::now),
            },
        );
        let url = format!("sqlite:{}", home.path().join("tidegate.db").display());
        let app = App {
            store: Store::open(&url).await.unwrap(),
            forges: Arc::new(BTreeMap::from([(repo().forge, forge.unwrap())])),
            mirrors: home.path().join("mirrors"),
            estates: Estates::default(),
            digest_key: MasterKey::new([7; 32]).for_digests(),
            pages: "http://127.0.0.1:1".parse().unwrap(),
        };
        let folder = Mirror::folder(&app.mirrors, &repo());
        let mirror = Mirror::open(&folder, None).await.unwrap();
        Self {
            base: commit_of_rules(&mirror, "gate: always\n").await,
            home,
            app,
            _running: running,
        }
    }

    /// A stored rollout of one wave whose first job plans, and that job.
    async fn rollout(&self) -> JobSpec {
        self.rollout_with(|_| {}).await
    }

    async fn rollout_with(&self, change: impl FnOnce(&mut Rollout)) -> JobSpec {
        let mut rollout = rollout(&self.base);
        change(&mut rollout);
        let job = rollout.advance(at(0)).unwrap();
        assert!(self.app.store.save_rollout(&rollout, 0).await.unwrap());
        job
    }

    /// Changes the stored rollout as a handler would.
    async fn change<T>(&self, change: impl FnOnce(&mut Rollout) -> T) -> T {
        let (mut rollout, version) = self.stored().await;
        let changed = change(&mut rollout);
        assert!(
            self.app
                .store
                .save_rollout(&rollout, version)
                .await
                .unwrap()
        );
        changed
    }

    async fn stored(&self) -> (Rollout, i64) {
        let stored = self.app.store.rollout(&rollout(&self.base).id).await;
        stored.unwrap().unwrap()
    }

    async fn state(&self) -> WaveState {
        self.stored().await.0.waves[0].state.clone()
    }

    async fn ask(&self, job: &JobSpec, seconds: i64) -> anyhow::Result<Answer> {
        ask(&self.app, job, question(), at(seconds)).await
    }

    /// The rollout's wave asked, somebody approved what it planned, and its second job asks now.
    async fn approved(&self) -> JobSpec {
        let first = self.rollout().await;
        let answer = self.ask(&first, 1).await.unwrap();
        let Answer::Wait { digest, .. } = answer else {
            panic!("{answer:?}");
        };
        self.approve(digest.unwrap()).await;
        self.change(|it| it.call(None, at(3)).unwrap()).await
    }

    async fn approve(&self, digest: Digest) {
        let approval = Fact::Approval(Approval {
            id: "approval".to_owned(),
            op: Op::tf_apply(),
            gate: crate::core::ids::Gate::of_wave(WaveNumber(1)),
            timestamp: at(2),
            digest,
            resolved_by: "github:ada".to_owned(),
            user: None,
            commit: sha('c'),
            pr: None,
            url: None,
        });
        self.ledger().await.append(&[approval]).await.unwrap();
    }

    async fn mirror(&self) -> Mirror {
        Desk::open(&self.app, &repo()).await.unwrap().mirror
    }

    async fn ledger(&self) -> Ledger {
        Ledger::of(self.mirror().await)
    }

    async fn ledger_tip(&self) -> Option<Sha> {
        let branch = Branch::try_from("chant/lifecycle").unwrap();
        self.mirror().await.remote_tip(&branch).await.unwrap()
    }

    /// The lines of a file of the ledger.
    async fn lines(&self, path: String) -> Vec<Value> {
        let mirror = self.mirror().await;
        mirror.fetch_all_heads().await.unwrap();
        let tip = self.ledger_tip().await.unwrap();
        let bytes = mirror.show(&tip, &path).await.unwrap().unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap();
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }

    async fn uses(&self) -> Vec<Value> {
        self.lines(facts::use_path(&Op::tf_apply())).await
    }

    /// Lets the ledger's remote be read but not written, until the answer is given back to [`World::take_pushes`].
    fn refuse_pushes(&self) -> (PathBuf, String) {
        let git = self.home.path().join("sandbox/git");
        let folder = std::fs::read_dir(git).unwrap().next().unwrap().unwrap();
        let file = folder.path().join("config");
        let before = std::fs::read_to_string(&file).unwrap();
        let refusing = format!("{before}[receive]\n\tmaxInputSize = 1\n");
        std::fs::write(&file, refusing).unwrap();
        (file, before)
    }

    fn take_pushes(&self, (file, before): (PathBuf, String)) {
        std::fs::write(file, before).unwrap();
    }
}

/// A commit whose project file says this.
async fn commit_of_rules(mirror: &Mirror, rules: &str) -> Sha {
    let rules = [("tidegate.yml".to_owned(), rules.as_bytes().to_vec())];
    let commit = mirror.write_commit(NewCommit {
        parent: None,
        files: &rules,
        message: "rules",
        by: Identity {
            name: "ada",
            email: "ada@acme.example",
        },
    });
    commit.await.unwrap()
}

async fn start_sandbox(dir: PathBuf) -> (String, DropGuard) {
    let bot = SeedUser {
        login: "bot".to_owned(),
        is_bot: true,
        token: "bot-token".to_owned(),
        ..SeedUser::default()
    };
    let infra = SeedRepo {
        name: "acme/infra".to_owned(),
        collaborators: BTreeMap::from([("bot".to_owned(), "write".to_owned())]),
        ..SeedRepo::default()
    };
    let seed = Seed {
        users: vec![bot],
        repos: vec![infra],
        apps: Vec::new(),
    };
    sandbox::create(&dir, &seed).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move { sandbox::serve(&dir, listener, stopped).await });
    (address, stop.drop_guard())
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_796_000_000).unwrap() + SignedDuration::from_secs(seconds)
}

fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).unwrap()
}

fn repo() -> Repo {
    Repo {
        forge: "github.com".try_into().unwrap(),
        id: RepoId(1),
        name: "acme/infra".try_into().unwrap(),
    }
}

fn network() -> Root {
    Root::try_from("network").unwrap()
}

fn rollout(base: &Sha) -> Rollout {
    Rollout {
        id: RolloutId::try_from("r-1").unwrap(),
        repo: repo(),
        op: Op::tf_apply(),
        source: Source::Push {
            branch: "main".try_into().unwrap(),
            before: base.clone(),
            after: sha('c'),
        },
        commit: sha('c'),
        base: base.clone(),
        authors: Vec::new(),
        pulls: Vec::new(),
        waves: vec![Wave::new(WaveNumber(1), vec![network()], at(0))],
        taken_over: Vec::new(),
        parallelism: 1,
        started: at(0),
    }
}

fn question() -> Question {
    let change = Change {
        address: "aws_vpc.main".to_owned(),
        deposed: None,
        provider: "aws".to_owned(),
        previous_address: None,
        actions: vec![Action::Create],
        importing: None,
        before: Value::Null,
        after: Value::Null,
    };
    let subject = Subject {
        root: network(),
        mode: Mode::Normal,
        backend: Value::Null,
        workspace: "default".to_owned(),
        changes: vec![change],
        outputs: Vec::new(),
        source: Value::Null,
        key: None,
        told: None,
    };
    Question {
        plans: vec![Planned {
            root: network(),
            result: PlanResult::Made(Draft {
                subject,
                remarks: Vec::new(),
            }),
        }],
    }
}

#[tokio::test]
async fn what_was_decided_and_not_recorded_is_recorded_when_the_job_asks_again() {
    let world = World::new().await;
    let job = world.approved().await;
    let refused = world.refuse_pushes();
    world.ask(&job, 4).await.unwrap_err();
    assert!(matches!(world.state().await, WaveState::Applying { .. }));
    assert_eq!(world.uses().await, Vec::<Value>::new());

    world.take_pushes(refused);
    let answer = world.ask(&job, 5).await.unwrap();
    let Answer::Apply(clearance) = answer else {
        panic!("{answer:?}");
    };
    let uses = world.uses().await;
    assert_eq!(uses.len(), 1);
    assert_eq!(uses[0]["id"], clearance.use_id.unwrap());
    let spent = world.stored().await.0.waves[0].spent.clone().unwrap();
    assert_eq!(uses[0]["id"], spent.id);
    let recorded: Timestamp = uses[0]["timestamp"].as_str().unwrap().parse().unwrap();
    assert_eq!(
        recorded, spent.timestamp,
        "its end will name the use as it stands"
    );
}

#[tokio::test]
async fn an_answer_that_was_lost_on_its_way_is_given_again_under_the_same_use() {
    let world = World::new().await;
    let job = world.approved().await;
    let first = world.ask(&job, 4).await.unwrap();
    assert!(matches!(first, Answer::Apply(_)), "{first:?}");
    let spent = world.stored().await.0.waves[0].spent.clone();
    assert_eq!(world.ask(&job, 5).await.unwrap(), first);
    assert_eq!(world.uses().await.len(), 1);
    assert_eq!(world.stored().await.0.waves[0].spent, spent);
}

#[tokio::test]
async fn a_wave_that_waits_asks_once_however_often_its_job_asks() {
    let world = World::new().await;
    let job = world.rollout().await;
    let refused = world.refuse_pushes();
    world.ask(&job, 1).await.unwrap_err();
    world.take_pushes(refused);
    for seconds in [2, 3] {
        let answer = world.ask(&job, seconds).await.unwrap();
        assert!(matches!(answer, Answer::Wait { .. }), "{answer:?}");
    }
    let asked = world.lines(facts::gate_path(&Op::tf_apply())).await;
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn an_older_attempt_and_a_wave_that_stood_down_are_told_so_and_write_nothing() {
    let world = World::new().await;
    let older = world.approved().await;
    let newer = world.change(|it| {
        let lost = crate::core::job::JobEnd::Lost {
            why: "It is gone.".to_owned(),
        };
        it.ended(WaveNumber(1), &older.key, &lost, at(4));
        it.call(None, at(5)).unwrap()
    });
    let newer = newer.await;
    let before = (world.stored().await, world.ledger_tip().await);
    assert_eq!(world.ask(&older, 6).await.unwrap(), Answer::StandDown);
    assert_eq!((world.stored().await, world.ledger_tip().await), before);

    world.change(|it| it.stand_down(at(7))).await;
    let before = (world.stored().await, world.ledger_tip().await);
    assert_eq!(world.ask(&newer, 8).await.unwrap(), Answer::StandDown);
    assert_eq!((world.stored().await, world.ledger_tip().await), before);
}

#[tokio::test]
async fn what_the_pushed_commit_says_of_its_own_gate_is_never_asked() {
    let mut world = World::new().await;
    let mirror = world.mirror().await;
    let policies = ["always", "on-destructive", "never"];
    for (number, (base, head)) in policies
        .iter()
        .flat_map(|base| policies.map(|head| (*base, head)))
        .enumerate()
    {
        world.base = commit_of_rules(&mirror, &format!("gate: {base}\n")).await;
        let pushed = commit_of_rules(&mirror, &format!("gate: {head}\n")).await;
        let job = world
            .rollout_with(|it| {
                it.id = RolloutId::try_from(format!("of-{number}")).unwrap();
                it.commit = pushed;
            })
            .await;
        let answer = world.ask(&job, 1).await.unwrap();
        let waits = matches!(answer, Answer::Wait { .. });
        assert_eq!(waits, base == "always", "{base} at base, {head} pushed");
    }
}
