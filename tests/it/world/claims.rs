//! What a story can see: notes, replies, statuses, the ledger, the states, how jobs ended.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use http::Method;
use serde_json::Value;
use tidegate::core::rollout::Rollout;

use crate::world::site::{REPO, token};
use crate::world::{ADA, Pull, TIDE, World};

/// No root at all.
pub(crate) const NOTHING: [&str; 0] = [];

impl World {
    /// The one note of a pull request.
    pub(crate) async fn note(&self, pull: &Pull) -> String {
        let mut notes = self.said_by_the_server(pull, "<!-- tidegate:note").await;
        assert_eq!(notes.len(), 1, "{notes:#?}");
        notes.remove(0)
    }

    /// What the server answered to comments, oldest first.
    pub(crate) async fn replies(&self, pull: &Pull) -> Vec<String> {
        self.said_by_the_server(pull, "<!-- tidegate:reply").await
    }

    /// The newest answer to a comment.
    pub(crate) async fn last_reply(&self, pull: &Pull) -> String {
        self.replies(pull).await.pop().unwrap()
    }

    async fn said_by_the_server(&self, pull: &Pull, start: &str) -> Vec<String> {
        let comments = self.site.comments(pull.number).await;
        let own = comments
            .into_iter()
            .filter(|(who, _)| who == self.place.account.login());
        own.map(|(_, text)| text)
            .filter(|it| it.starts_with(start))
            .collect()
    }

    /// The newest status of a context on a commit, such as `success: nothing to do`.
    pub(crate) async fn status(&self, commit: &str, context: &str) -> String {
        let path = format!("/repos/{REPO}/commits/{commit}/statuses");
        let all = self.read(ADA, &path).await;
        let mut all = all.as_array().unwrap().iter();
        let newest = all.find(|it| it["context"] == context);
        newest.map_or_else(String::new, |it| {
            let text = |key: &str| it[key].as_str().unwrap().to_owned();
            format!("{}: {}", text("state"), text("description"))
        })
    }

    /// What the forge's API shows somebody.
    pub(crate) async fn read(&self, who: &str, path: &str) -> Value {
        self.site.ask(who, Method::GET, path, Value::Null).await
    }

    /// The forge's host, as the ledger names it.
    pub(crate) fn host(&self) -> String {
        self.site.address.replace("http://", "")
    }

    /// Pending facts and approvals, in the order of the ledger.
    pub(crate) async fn ledger(&self) -> Vec<Value> {
        self.ledger_file("_gates/tf-apply.jsonl").await
    }

    /// What each line of the ledger is: `pending wave-1`.
    pub(crate) async fn ledger_lines(&self) -> Vec<String> {
        let lines = self.ledger().await;
        let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
        let line = |it: &Value| format!("{} {}", text(it, "kind"), text(it, "gate"));
        lines.iter().map(line).collect()
    }

    /// Uses of approvals and how they ended: `applied`, `finished`.
    pub(crate) async fn uses(&self) -> Vec<String> {
        let lines = self.ledger_file("_gates/tf-apply/applied.jsonl").await;
        let kind = |it: &Value| it["kind"].as_str().unwrap().to_owned();
        lines.iter().map(kind).collect()
    }

    /// Tells at any moment whether pending facts and approvals hold a text.
    pub(crate) fn ledger_has(&self, text: &'static str) -> impl Fn() -> bool + Send + 'static {
        self.watch("_gates/tf-apply.jsonl", text)
    }

    /// Tells at any moment whether an approval was used.
    pub(crate) fn ledger_has_use(&self) -> impl Fn() -> bool + Send + 'static {
        self.watch("_gates/tf-apply/applied.jsonl", "applied")
    }

    fn watch(&self, file: &str, text: &'static str) -> impl Fn() -> bool + Send + 'static {
        let object = format!("refs/heads/chant/lifecycle:{file}");
        let repo = self.site.bare_repository();
        move || {
            let shown = std::process::Command::new("git")
                .arg("-C")
                .arg(&repo)
                .args(["show", &object])
                .output()
                .unwrap();
            String::from_utf8_lossy(&shown.stdout).contains(text)
        }
    }

    async fn ledger_file(&self, file: &str) -> Vec<Value> {
        let all = ["+refs/heads/*:refs/remotes/forge/*"];
        self.site
            .git_as(ADA, REPO, &["fetch", "--quiet"], &all)
            .await;
        let branch = "forge/chant/lifecycle";
        let there = ["for-each-ref", "refs/remotes/forge/chant/lifecycle"];
        if self.site.git(&there).await.is_empty() {
            return Vec::new();
        }
        let listed = self
            .site
            .git(&["ls-tree", "-r", "--name-only", branch])
            .await;
        if !listed.lines().any(|it| it == file) {
            return Vec::new();
        }
        let text = self.site.git(&["show", &format!("{branch}:{file}")]).await;
        text.lines()
            .map(|it| serde_json::from_str(it).unwrap())
            .collect()
    }

    /// Roots whose states jobs moved, in order; a root stands there once a time.
    pub(crate) fn applied(&self) -> Vec<String> {
        let mut moved: Vec<(SystemTime, String)> = self
            .versions()
            .into_iter()
            .filter(|it| !self.known.contains(it))
            .map(|it| (fs::metadata(&it).unwrap().modified().unwrap(), root_of(&it)))
            .collect();
        moved.sort();
        moved.into_iter().map(|(_, root)| root).collect()
    }

    /// Every version of every state, one file each.
    fn versions(&self) -> Vec<PathBuf> {
        let states = self.site.data().join("states");
        let roots = below(&states).into_iter().flat_map(|it| below(&it));
        let files = roots.flat_map(|it| below(&it));
        files
            .filter(|it| {
                let name = it.file_name().unwrap().to_str().unwrap();
                name.ends_with(".tfstate") && name != "current.tfstate"
            })
            .collect()
    }

    /// The state of a root as it is now.
    pub(crate) async fn state(&self, root: &str) -> Value {
        let answer = reqwest::Client::new()
            .get(format!("{}/{root}", self.states()))
            .basic_auth(TIDE, Some(token(TIDE)))
            .send()
            .await
            .unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    }

    /// Makes a state what it is, by nobody's job.
    pub(crate) async fn put_state(&mut self, root: &str, state: &Value) {
        let before = self.versions();
        let answer = reqwest::Client::new()
            .post(format!("{}/{root}", self.states()))
            .basic_auth(TIDE, Some(token(TIDE)))
            .json(state)
            .send()
            .await
            .unwrap();
        answer.error_for_status().unwrap();
        let own = self.versions().into_iter();
        self.known.extend(own.filter(|it| !before.contains(it)));
    }

    /// Takes a state's lock, as somebody who runs Terraform by hand does.
    pub(crate) async fn hold(&self, root: &str) {
        self.lock(Method::POST, root).await;
    }

    /// Whether somebody has a state's lock.
    pub(crate) fn is_held(&self, root: &str) -> bool {
        let states = self.site.data().join("states");
        let of_repo = below(&states).into_iter();
        of_repo
            .map(|it| it.join(root).join("lock.json"))
            .any(|it| it.exists())
    }

    /// Gives a state's lock back.
    pub(crate) async fn release(&self, root: &str) {
        self.lock(Method::DELETE, root).await;
    }

    async fn lock(&self, method: Method, root: &str) {
        let holder = serde_json::json!({ "ID": "by-hand", "Operation": "OperationTypeApply", "Who": "ada@laptop" });
        let answer = reqwest::Client::new()
            .request(method, format!("{}/{root}/lock", self.states()))
            .basic_auth(TIDE, Some(token(TIDE)))
            .json(&holder)
            .send()
            .await
            .unwrap();
        answer.error_for_status().unwrap();
    }

    /// Every rollout, oldest first.
    pub(crate) async fn rollouts(&self) -> Vec<Rollout> {
        let all = self.server().store.recent_rollouts(50).await.unwrap();
        all.into_iter().rev().map(|(rollout, _)| rollout).collect()
    }

    /// Checks a pull request's note against `tests/notes/story-<name>.md`; `TIDEGATE_BLESS=1` writes it instead.
    pub(crate) async fn check_note(&self, pull: &Pull, name: &str) {
        let file = format!("{}/tests/notes/story-{name}.md", env!("CARGO_MANIFEST_DIR"));
        let note = without_chance(&self.note(pull).await) + "\n";
        if std::env::var_os("TIDEGATE_BLESS").is_some() {
            fs::write(&file, &note).unwrap();
        }
        let wanted = fs::read_to_string(&file).unwrap_or_default();
        assert!(note == wanted, "{file} differs; the note is now:\n{note}");
    }
}

/// A text whose commits, digests, rollouts and ports are the same in every telling.
pub(crate) fn without_chance(text: &str) -> String {
    let mut said = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() {
            word.push(letter);
            continue;
        }
        said.push_str(&by_kind(&word, &said));
        word.clear();
        said.push(letter);
    }
    said.trim_end().to_owned()
}

fn by_kind(word: &str, before: &str) -> String {
    let is_hex = word.len() >= 12 && word.bytes().all(|it| it.is_ascii_hexdigit());
    if is_hex {
        "0".repeat(12)
    } else if before.ends_with("127.0.0.1:") {
        "4142".to_owned()
    } else {
        word.to_owned()
    }
}

fn root_of(version: &std::path::Path) -> String {
    let folder = version.parent().unwrap().file_name().unwrap();
    folder.to_str().unwrap().to_owned()
}

fn below(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|it| it.unwrap().path()).collect()
}
