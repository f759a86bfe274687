//! A sandbox forge with people in it: they push with git and speak through the forge's own API, and its webhooks arrive here.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::sandbox::{self, Seed, SeedHook, SeedRepo, SeedUser};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::world::app;
use crate::world::spec;

/// What signs the sandbox's deliveries.
pub(crate) const SECRET: &str = "what-signs-the-deliveries";

/// The repository the stories are about.
pub(crate) const REPO: &str = "acme/infra";

/// Who works on it, and what each may do. `tide` is the account we act as.
pub(crate) const PEOPLE: [(&str, &str); 4] = [
    ("ada", "write"),
    ("grace", "admin"),
    ("mallory", "read"),
    ("tide", "write"),
];

/// As whom we act on the forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    User,
    App,
}

impl Account {
    /// Its login.
    pub(crate) fn login(self) -> &'static str {
        match self {
            Self::User => "tide",
            Self::App => "tide-app[bot]",
        }
    }
}

/// A delivery as it arrived.
pub(crate) struct Letter {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Deliveries in the order they arrive.
pub(crate) struct Letters(mpsc::UnboundedReceiver<Letter>);

impl Letters {
    /// The next delivery. It is on its way already, so ten seconds mean that it never comes.
    pub(crate) async fn next(&mut self) -> Letter {
        let letter = tokio::time::timeout(Duration::from_secs(10), self.0.recv()).await;
        letter.expect("a delivery arrives").unwrap()
    }
}

/// A running sandbox. It stops when it is dropped.
pub(crate) struct Site {
    /// Its address, without a slash at the end.
    pub(crate) address: String,
    folder: TempDir,
    http: reqwest::Client,
    _stop: DropGuard,
}

impl Site {
    /// Starts a sandbox whose branch `main` has one commit, and a receiver of its deliveries.
    pub(crate) async fn start(account: Account) -> (Self, Letters) {
        let (hook, letters) = receive().await;
        let site = Self::with(hook, account).await;
        site.push("ada", "main", "main.tf").await;
        (site, letters)
    }

    /// Starts a sandbox with [`PEOPLE`] and an empty repository whose deliveries go to an address.
    pub(crate) async fn delivering_to(hook: String) -> Self {
        Self::with(hook, Account::User).await
    }

    /// The same, where we are the account.
    pub(crate) async fn with(hook: String, account: Account) -> Self {
        let folder = TempDir::new().unwrap();
        let data = folder.path().join("sandbox");
        sandbox::create(&data, &seed(hook, account)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let told = stop.clone();
        tokio::spawn(async move { sandbox::serve(&data, listener, told).await.unwrap() });
        let site = Self {
            address,
            folder,
            http: reqwest::Client::new(),
            _stop: stop.drop_guard(),
        };
        site.git(&["init", "--quiet", "--initial-branch=main", "."])
            .await;
        site
    }

    /// Commits a change of one file on top of what is checked out, as a branch, and pushes it. Answers the commit.
    pub(crate) async fn push(&self, who: &str, branch: &str, file: &str) -> String {
        self.git(&["checkout", "--quiet", "-B", branch]).await;
        let path = self.checkout().join(file);
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, format!("{text}# {branch}\n")).unwrap();
        self.commit("Deepen the harbour").await;
        self.publish(who, REPO, branch).await
    }

    /// Commits everything in the checkout, also when it is the same as before.
    pub(crate) async fn commit(&self, message: &str) {
        self.git(&["add", "."]).await;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message])
            .await;
    }

    /// Pushes what is checked out to a branch of a repository, and answers the commit.
    pub(crate) async fn publish(&self, who: &str, repo: &str, branch: &str) -> String {
        let refs = format!("HEAD:refs/heads/{branch}");
        self.git_as(who, repo, &["push", "--quiet"], &[&refs]).await;
        self.git(&["rev-parse", "HEAD"]).await
    }

    /// Runs a git command on a repository of the forge in somebody's name.
    pub(crate) async fn git_as(&self, who: &str, repo: &str, command: &[&str], refs: &[&str]) {
        let header = format!("http.extraHeader=Authorization: {}", basic(who));
        let url = format!("{}/{repo}.git", self.address);
        let whole = [&["-c", &header], command, &[&url], refs].concat();
        self.git(&whole).await;
    }

    /// Opens a pull request from a branch to `main`, and answers its number.
    pub(crate) async fn open(&self, who: &str, branch: &str) -> u64 {
        let body = json!({"title": "Deepen the harbour", "head": branch, "base": "main"});
        let path = format!("/repos/{REPO}/pulls");
        let pull = self.ask(who, Method::POST, &path, body).await;
        pull["number"].as_u64().unwrap()
    }

    /// Comments on a pull request, and answers the comment's number.
    pub(crate) async fn comment(&self, who: &str, pull: u64, text: &str) -> u64 {
        let path = format!("/repos/{REPO}/issues/{pull}/comments");
        let comment = self
            .ask(who, Method::POST, &path, json!({"body": text}))
            .await;
        comment["id"].as_u64().unwrap()
    }

    /// Who wrote what on a pull request, oldest first.
    pub(crate) async fn comments(&self, pull: u64) -> Vec<(String, String)> {
        let path = format!("/repos/{REPO}/issues/{pull}/comments");
        let comments = self.ask("grace", Method::GET, &path, Value::Null).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let comments = comments.as_array().unwrap().iter();
        comments
            .map(|it| (text(&it["user"]["login"]), text(&it["body"])))
            .collect()
    }

    /// Reviews a pull request, and answers the review's number.
    pub(crate) async fn review(&self, who: &str, pull: u64, event: &str) -> u64 {
        let path = format!("/repos/{REPO}/pulls/{pull}/reviews");
        let body = json!({"event": event, "body": "seen"});
        let review = self.ask(who, Method::POST, &path, body).await;
        review["id"].as_u64().unwrap()
    }

    /// Asks the forge's API in somebody's name; what is refused ends the test.
    pub(crate) async fn ask(&self, who: &str, method: Method, path: &str, body: Value) -> Value {
        self.ask_with(&token(who), method, path, body).await
    }

    /// Asks the forge's API with a token; what is refused ends the test.
    pub(crate) async fn ask_with(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Value,
    ) -> Value {
        let url = format!("{}/api/v3{path}", self.address);
        let mut request = self.http.request(method, url).bearer_auth(token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        let answer = response.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {answer}");
        serde_json::from_str(&answer).unwrap_or_default()
    }

    /// The repository's number.
    pub(crate) async fn repo_id(&self) -> u64 {
        let path = format!("/repos/{REPO}");
        let repo = self.ask("ada", Method::GET, &path, Value::Null).await;
        repo["id"].as_u64().unwrap()
    }

    /// Tells the sandbox something that no forge has an API for; what is refused ends the test.
    pub(crate) async fn tell(&self, method: Method, path: &str) {
        let url = format!("{}/{path}", self.address);
        let response = self.http.request(method, url).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {response:?}");
    }

    /// Runs git where the people work, and answers what it printed.
    pub(crate) async fn git(&self, args: &[&str]) -> String {
        fs::create_dir_all(self.checkout()).unwrap();
        let ran = Command::new("git")
            .args(args)
            .current_dir(self.checkout())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .envs([
                ("GIT_AUTHOR_NAME", "ada"),
                ("GIT_AUTHOR_EMAIL", "ada@acme.example"),
            ])
            .envs([
                ("GIT_COMMITTER_NAME", "ada"),
                ("GIT_COMMITTER_EMAIL", "ada@acme.example"),
            ])
            .output()
            .await
            .unwrap();
        let complaint = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "git {args:?}: {complaint}");
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// Checks all that was asked of the forge, and all that it delivered, against its published description.
    pub(crate) fn check_against_the_description(&self) {
        let requests = self.journal("requests.jsonl");
        assert!(!requests.is_empty(), "nothing was asked");
        let mut complaints = Vec::new();
        for line in &requests {
            let text = |key: &str| line[key].as_str().unwrap();
            let path = text("path");
            // Forking is for people, and not among the operations that the description was cut to.
            if path.ends_with(&format!("/repos/{REPO}/forks")) {
                continue;
            }
            complaints.extend(
                spec::check_request(text("method"), path, text("query"), &line["body"]).err(),
            );
        }
        for line in self.journal("deliveries.jsonl") {
            let text = |key: &str| line[key].as_str().unwrap();
            let checked = spec::check_webhook(text("forge"), text("event"), &line["payload"]);
            complaints.extend(checked.err());
        }
        assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
    }

    /// How often an operation of the API was asked for; `end` is how its path ends.
    pub(crate) fn asked(&self, method: Method, end: &str) -> usize {
        let is_it = |it: &&Value| {
            it["method"] == method.as_str() && it["path"].as_str().unwrap().ends_with(end)
        };
        self.journal("requests.jsonl").iter().filter(is_it).count()
    }

    fn journal(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.data().join(name)).unwrap();
        text.lines()
            .map(|it| serde_json::from_str(it).unwrap())
            .collect()
    }

    /// Where the people work.
    pub(crate) fn checkout(&self) -> PathBuf {
        self.folder.path().join("checkout")
    }

    /// What the sandbox keeps.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("sandbox")
    }

    /// The forge's own git repository of [`REPO`]: the only one before anybody forks it.
    pub(crate) fn bare_repository(&self) -> PathBuf {
        let all = fs::read_dir(self.data().join("git")).unwrap();
        let mut all = all.map(|it| it.unwrap().path());
        all.find(|it| it.extension().is_some_and(|it| it == "git"))
            .unwrap()
    }

    /// A folder for whoever lives beside the sandbox.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The access token of somebody.
pub(crate) fn token(who: &str) -> String {
    format!("{who}-secret")
}

fn basic(who: &str) -> String {
    let pair = format!("{who}:{}", token(who));
    format!("Basic {}", BASE64_STANDARD.encode(pair))
}

fn seed(hook: String, account: Account) -> Seed {
    let users = PEOPLE.map(|(login, _)| SeedUser {
        login: login.to_owned(),
        is_bot: login == "tide",
        token: token(login),
        ..SeedUser::default()
    });
    let collaborators = PEOPLE.map(|(login, role)| (login.to_owned(), role.to_owned()));
    let hook = SeedHook {
        url: hook,
        secret: SECRET.to_owned(),
        ..SeedHook::default()
    };
    let (hooks, apps) = match account {
        Account::User => (vec![hook], vec![]),
        Account::App => (vec![], vec![app::seed(hook)]),
    };
    Seed {
        users: users.into(),
        repos: vec![SeedRepo {
            name: REPO.to_owned(),
            collaborators: collaborators.into(),
            hooks,
            ..SeedRepo::default()
        }],
        apps,
    }
}

/// Listens for deliveries, and keeps them in the order they arrive.
async fn receive() -> (String, Letters) {
    let (sender, letters) = mpsc::unbounded_channel();
    let door = move |headers: HeaderMap, body: Bytes| {
        let sender = sender.clone();
        async move {
            // Nobody reads on once the test has ended.
            let _ = sender.send(Letter { headers, body });
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/hook", post(door));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, Letters(letters))
}
