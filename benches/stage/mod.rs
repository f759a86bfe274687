//! A server as a process of its own that reaches no forge, and repositories for its jobs.

#![allow(dead_code, reason = "each benchmark uses its own part of this")]

pub(crate) mod plans;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tidegate::core::config::server;
use tidegate::core::ids::{ForgeHost, Repo, RepoId, RepoName, Sha};
use tidegate::forge::ServedForge;
use tidegate::git::Mirror;
use tidegate::store::Store;

/// What signs the deliveries.
pub(crate) const SECRET: &str = "what-signs-the-deliveries";

/// A running server over a folder of its own; it ends with this.
pub(crate) struct Stage {
    pub(crate) home: TempDir,
    pub(crate) address: SocketAddr,
    /// Its store, as somebody beside it uses it.
    pub(crate) store: Store,
    /// The forge that it serves.
    pub(crate) forge: ServedForge,
    process: tokio::process::Child,
}

impl Stage {
    /// Starts a server; it answers when this returns. `env` is what it and its jobs get beside `PATH` and `HOME`.
    pub(crate) async fn start(env: &[(String, String)]) -> Self {
        let home = TempDir::new().unwrap();
        let (listen, pages) = (free_address(), free_address());
        let file = file((listen, pages), env);
        fs::write(home.path().join(server::FILE), &file).unwrap();
        fs::write(home.path().join("token"), "unused").unwrap();
        fs::write(home.path().join("secret"), SECRET).unwrap();
        let mut process = spawn(home.path(), env);
        let ready = format!("http://{pages}/readyz");
        while !reqwest::get(&ready)
            .await
            .is_ok_and(|it| it.status().is_success())
        {
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none(), "the server did not start: {ended:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let database = home.path().join("data/tidegate.db");
        let store = Store::open(&format!("sqlite:{}", database.display())).await;
        let options = server::read(server::FILE, &file).unwrap().forges.remove(0);
        Self {
            home,
            address: listen,
            store: store.unwrap(),
            forge: ServedForge::new(options, vec![SECRET.into()]).unwrap(),
            process,
        }
    }

    /// What the server itself holds in memory, without its jobs, in MiB.
    pub(crate) fn memory(&self) -> u64 {
        let file = format!("/proc/{}/status", self.process.id().unwrap());
        let status = fs::read_to_string(file).unwrap();
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
        let kib = line.unwrap().trim().trim_end_matches("kB").trim();
        kib.parse::<u64>().unwrap() >> 10
    }

    /// Where the server keeps what it knows of the repository.
    pub(crate) fn mirror(&self) -> PathBuf {
        Mirror::folder(&self.home.path().join("data/mirrors"), &repo())
    }
}

/// The repository that all is about.
pub(crate) fn repo() -> Repo {
    Repo {
        forge: ForgeHost::try_from("git.invalid").unwrap(),
        id: RepoId(7),
        name: RepoName::try_from("acme/infra").unwrap(),
    }
}

/// Commits files on top of what a folder's repository has, and answers the commit.
pub(crate) fn commit(folder: &Path, files: &[(String, String)]) -> Sha {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    git(folder, &["init", "--quiet", "."]);
    git(folder, &["add", "."]);
    git(
        folder,
        &["commit", "--quiet", "--message", "Deepen the harbour"],
    );
    Sha::try_from(git(folder, &["rev-parse", "HEAD"]).trim()).unwrap()
}

/// Runs git in a folder and answers what it said.
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let ran = Command::new("git")
        .args(who)
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{args:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

fn file((listen, pages): (SocketAddr, SocketAddr), env: &[(String, String)]) -> String {
    let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
    format!(
        "public_url: http://{listen}
listen: {listen}
listen_pages: \"{pages}\"
data: data
forges:
  - kind: github
    url: https://git.invalid
    token_file: token
    webhook_secret_files: [secret]
    repos: [acme/*]
executor:
  parallel: 1
  plan_env: [{}]
",
        names.join(", ")
    )
}

fn spawn(home: &Path, env: &[(String, String)]) -> tokio::process::Child {
    let inherited = ["PATH", "HOME"]
        .into_iter()
        .filter_map(|it| Some((it, std::env::var_os(it)?)));
    let log = fs::File::create(home.join("log")).unwrap();
    tokio::process::Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["serve", "--config"])
        .arg(home.join(server::FILE))
        .env_clear()
        .envs(inherited)
        .envs(env.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}
