//! The sandbox over HTTP, as git, Terraform, API clients and hooks see it.

mod forgejo;
mod git;
mod hooks;
mod pages;
mod pulls;
mod states;
mod talk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Dialect, Seed, SeedHook, SeedRepo, SeedTeam, SeedUser, create, serve};
use crate::process::{Program, Ran};

const SECRET: &str = "hook-secret";

/// A sandbox with ada, who writes, grace, who writes too, mallory, who reads, root, who
/// administers it, eve, who has no role, and `acme/infra`.
struct World {
    dir: TempDir,
    dialect: Dialect,
    address: String,
    stop: CancellationToken,
    served: JoinHandle<anyhow::Result<()>>,
    http: reqwest::Client,
}

impl World {
    async fn new() -> Self {
        Self::with_hook(None).await
    }

    async fn with_hook(url: Option<String>) -> Self {
        Self::speaking(Dialect::GitHub, url).await
    }

    /// One whose API and hook are spoken to in the words of a forge.
    async fn speaking(dialect: Dialect, hook: Option<String>) -> Self {
        Self::seeded(dialect, &seed(hook, dialect)).await
    }

    /// One that speaks as Forgejo, where a team has the repository.
    async fn with_team(name: &str, team: SeedTeam) -> Self {
        let mut seed = seed(None, Dialect::Forgejo);
        seed.repos[0].teams.insert(name.to_owned(), team);
        Self::seeded(Dialect::Forgejo, &seed).await
    }

    /// One that speaks as Forgejo, where somebody's token is good for little.
    async fn with_scopes(login: &str, scopes: &[&str]) -> Self {
        let mut seed = seed(None, Dialect::Forgejo);
        let user = seed.users.iter_mut().find(|it| it.login == login).unwrap();
        user.scopes = scopes.iter().map(|it| (*it).to_owned()).collect();
        Self::seeded(Dialect::Forgejo, &seed).await
    }

    async fn seeded(dialect: Dialect, seed: &Seed) -> Self {
        let dir = tempfile::tempdir().unwrap();
        create(&dir.path().join("sandbox"), seed).unwrap();
        let (address, stop, served) = start(&dir.path().join("sandbox")).await;
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self {
            dir,
            dialect,
            address,
            stop,
            served,
            http,
        }
    }

    /// Ends it without a word, as a kill would, and starts another on the same folder.
    async fn kill(&mut self) {
        self.served.abort();
        self.stop.cancel();
        let _ = (&mut self.served).await;
        (self.address, self.stop, self.served) = start(&self.folder()).await;
    }

    /// Waits until every delivery was tried as often as it ever is.
    async fn nothing_is_queued(&self) {
        let url = format!("{}/sandbox/deliveries", self.address);
        for _ in 0..1000 {
            let answer = self.http.get(&url).send().await.unwrap();
            let all: Value = answer.json().await.unwrap();
            let mut all = all.as_array().unwrap().iter();
            if all.all(|it| it["is_queued"] == false) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("a delivery is still queued");
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("sandbox")
    }

    /// Calls the API about `acme/infra`.
    async fn call(&self, who: &str, method: Method, path: &str, body: Value) -> (u16, Value) {
        let prefix = self.dialect.prefix();
        let url = format!("{}{prefix}/repos/acme/infra{path}", self.address);
        let mut request = self.http.request(method, url).bearer_auth(token(who));
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let bytes = answer.bytes().await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn get(&self, who: &str, path: &str) -> Value {
        self.call(who, Method::GET, path, Value::Null).await.1
    }

    async fn post(&self, who: &str, path: &str, body: Value) -> (u16, Value) {
        self.call(who, Method::POST, path, body).await
    }

    /// Runs git with somebody's token, in a folder beside the sandbox's.
    async fn git(&self, who: &str, folder: &str, args: &[&str]) -> Ran {
        let dir = self.dir.path().join(folder);
        std::fs::create_dir_all(&dir).unwrap();
        let address = self
            .address
            .replace("http://", &format!("http://{who}:{}@", token(who)));
        let args: Vec<String> = args
            .iter()
            .map(|it| it.replace("SANDBOX", &address))
            .collect();
        run_git(&dir, &args).await
    }

    /// Writes a file, commits it and pushes the branch from the folder `work` of ada's; answers the commit.
    async fn push(&self, branch: &str, file: &str, text: &str) -> String {
        let work = self.dir.path().join("work");
        if !work.exists() {
            self.git("ada", "work", &["init", "--quiet", "--initial-branch=main"])
                .await;
        }
        self.git("ada", "work", &["checkout", "--quiet", "-B", branch])
            .await;
        std::fs::write(work.join(file), text).unwrap();
        self.git("ada", "work", &["add", "."]).await;
        self.git("ada", "work", &["commit", "--quiet", "-m", text])
            .await;
        let pushed = self
            .git("ada", "work", &["push", "SANDBOX/acme/infra.git", branch])
            .await;
        assert_eq!(pushed.code(), Some(0), "{}", pushed.complaint());
        let head = self.git("ada", "work", &["rev-parse", "HEAD"]).await;
        String::from_utf8(head.stdout).unwrap().trim().to_owned()
    }

    /// Opens a pull request of ada's that adds a file on a branch of its own; answers its number and head.
    async fn pull(&self, branch: &str) -> (u64, String) {
        if self.get("ada", "/branches/main").await["name"] != "main" {
            self.push("main", "main.txt", "first").await;
        }
        let head = self.push(branch, &format!("{branch}.txt"), branch).await;
        let asked = json!({ "title": branch, "head": branch, "base": "main" });
        let (status, pull) = self.post("ada", "/pulls", asked).await;
        assert_eq!(status, 201, "{pull}");
        (pull["number"].as_u64().unwrap(), head)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn start(dir: &Path) -> (String, CancellationToken, JoinHandle<anyhow::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let (dir, stopped) = (dir.to_owned(), stop.clone());
    let served = tokio::spawn(async move { serve(&dir, listener, stopped).await });
    (address, stop, served)
}

fn seed(hook: Option<String>, dialect: Dialect) -> Seed {
    let user = |login: &str| SeedUser {
        login: login.to_owned(),
        token: token(login),
        ..SeedUser::default()
    };
    let roles = [
        ("ada", "write"),
        ("grace", "write"),
        ("mallory", "read"),
        ("root", "admin"),
    ];
    let hook = hook.map(|url| SeedHook {
        url,
        secret: SECRET.to_owned(),
        forge: dialect,
    });
    Seed {
        users: ["ada", "grace", "mallory", "eve", "root"]
            .map(user)
            .to_vec(),
        repos: vec![SeedRepo {
            name: "acme/infra".to_owned(),
            collaborators: BTreeMap::from(roles.map(|(it, role)| (it.to_owned(), role.to_owned()))),
            hooks: hook.into_iter().collect(),
            ..SeedRepo::default()
        }],
        apps: Vec::new(),
    }
}

fn token(login: &str) -> String {
    format!("{login}-token")
}

async fn run_git(dir: &Path, args: &[String]) -> Ran {
    let identity = ["user.name=ada", "user.email=ada@acme.example"];
    Program::new("git")
        .args(identity.iter().flat_map(|it| ["-c", it]))
        .args(args)
        .dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .run()
        .await
        .unwrap()
}

#[tokio::test]
async fn what_people_did_survives_a_kill() {
    let mut world = World::new().await;
    let (number, _) = world.pull("feature").await;
    let comment = json!({ "body": "still here" });
    world
        .post("grace", &format!("/issues/{number}/comments"), comment)
        .await;
    let before = world
        .get("ada", &format!("/issues/{number}/comments"))
        .await;
    world.kill().await;
    let after = world
        .get("ada", &format!("/issues/{number}/comments"))
        .await;
    assert_eq!(
        (&before[0]["id"], &before[0]["body"]),
        (&after[0]["id"], &after[0]["body"])
    );
    assert_eq!(world.pull("another").await.0, number + 1);
}

#[tokio::test]
async fn the_journal_holds_no_secret() {
    let world = World::new().await;
    let hook = json!({ "config": { "url": "http://127.0.0.1:1/", "secret": SECRET } });
    let (status, _) = world.post("ada", "/hooks", hook).await;
    assert_eq!(status, 403, "a writer is no administrator");
    let journal = std::fs::read_to_string(world.folder().join("requests.jsonl")).unwrap();
    assert!(journal.contains("/repos/acme/infra/hooks"), "{journal}");
    assert!(
        !journal.contains(SECRET) && !journal.contains(&token("ada")),
        "{journal}"
    );
}

type Spoil = dyn Fn(&mut Seed);

#[test]
fn a_seed_that_cannot_be_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |change: &Spoil| {
        let mut seed = seed(None, Dialect::GitHub);
        change(&mut seed);
        format!("{:#}", create(&dir.path().join("new"), &seed).unwrap_err())
    };
    let cases: [(&str, &Spoil); 6] = [
        ("their token is empty", &|it| it.users[0].token.clear()),
        ("names them twice", &|it| {
            it.users[1].login = "Ada".to_owned()
        }),
        ("not among the users", &|it| {
            it.users[0].login = "bob".to_owned()
        }),
        ("none of none, read, write, admin", &|it| {
            it.repos[0]
                .collaborators
                .insert("ada".to_owned(), "owner".to_owned());
        }),
        ("addresses of its own", &|it| {
            it.repos[0].name = "api/infra".to_owned()
        }),
        ("must be `owner/name`", &|it| {
            it.repos[0].name = "a/b/c".to_owned()
        }),
    ];
    for (reason, change) in cases {
        let text = refused(change);
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn a_folder_that_holds_a_sandbox_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &seed(None, Dialect::GitHub)).unwrap();
    let again = create(dir.path(), &Seed::default()).unwrap_err();
    assert!(
        again.to_string().contains("holds a sandbox already"),
        "{again}"
    );
}
