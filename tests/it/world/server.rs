//! The server as a process of its own, over folders and addresses that outlive it, so that it can be killed and started
//! again.

use std::env;
use std::fs::{self, OpenOptions, Permissions};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tidegate::store::Store;
use tokio::process::{Child, Command};

use crate::world::app;
use crate::world::database::Database;
use crate::world::site::{Account, REPO, SECRET, token};

/// What the roots' provider would sign in with; nobody but Terraform ever sees it.
pub(crate) const PASSWORD: &str = "correct-horse-battery-staple";

/// What a server has from the machine it runs on.
const INHERITED: [&str; 5] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "CHECKPOINT_DISABLE",
    "TF_CLI_CONFIG_FILE",
];

/// Where a server listens and what it keeps.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) listen: SocketAddr,
    pub(crate) pages: SocketAddr,
    /// What it keeps: database, key, mirrors, jobs.
    pub(crate) folder: PathBuf,
    pub(crate) database: Database,
    /// Its file, its secrets, and its log.
    pub(crate) home: PathBuf,
    /// The forge's address.
    pub(crate) forge: String,
    /// Where the server finds the forge's API.
    pub(crate) api: SocketAddr,
    /// Where jobs find the server.
    pub(crate) runner: SocketAddr,
    /// Folders with programs that stand before the machine's own.
    pub(crate) programs: Option<String>,
    /// How large a file may grow, in KiB.
    pub(crate) largest_file: Option<u64>,
    /// How it proves there who it is.
    pub(crate) account: Account,
}

impl Place {
    /// All that servers here have logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.home.join("log")).unwrap_or_default()
    }

    /// The end of the log, for somebody who reads why a story broke off.
    pub(crate) fn last_words(&self) -> String {
        let text = self.log();
        let from = text.lines().count().saturating_sub(30);
        text.lines().skip(from).collect::<Vec<_>>().join("\n")
    }

    fn file(&self) -> String {
        let Self {
            listen,
            pages,
            folder,
            forge,
            api,
            runner,
            account,
            database,
            ..
        } = self;
        let database = database.line();
        let account = match account {
            Account::User => "token_file: token".to_owned(),
            Account::App => format!("app_id: {}\n    app_key_file: key.pem", app::ID),
        };
        format!(
            "public_url: http://{runner}
listen: {listen}
listen_pages: \"{pages}\"
data: {}
{database}forges:
  - kind: github
    url: {forge}
    api_url: http://{api}/api/v3
    {account}
    webhook_secret_files: [secret]
    repos: [{REPO}]
executor:
  parallel: 1
  lease: 30s
  plan_env: [TF_HTTP_USERNAME, TF_HTTP_PASSWORD, TF_VAR_password]
  apply_env: [TF_HTTP_USERNAME, TF_HTTP_PASSWORD, TF_VAR_password]
",
            folder.display()
        )
    }

    /// Writes the server's file and its secrets.
    pub(crate) fn furnish(&self) {
        fs::create_dir_all(&self.home).unwrap();
        fs::write(self.home.join("tidegate-server.yml"), self.file()).unwrap();
        fs::write(self.home.join("token"), token("tide")).unwrap();
        fs::write(self.home.join("secret"), SECRET).unwrap();
        let key = self.home.join("key.pem");
        fs::write(&key, app::private_key()).unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    }
}

/// A running server.
pub(crate) struct Running {
    /// Its store, as somebody beside it reads it.
    pub(crate) store: Store,
    process: Child,
}

impl Running {
    /// Starts a server; it answers when this returns.
    pub(crate) async fn start(place: &Place) -> Self {
        let mut process = spawn(place);
        let ready = format!("http://{}/readyz", place.pages);
        for _ in 0..1000 {
            let ended = process.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "the server did not start:\n{}",
                place.last_words()
            );
            let answer = reqwest::get(&ready).await;
            if answer.is_ok_and(|it| it.status().is_success()) {
                let store = Store::open(&place.database.url()).await.unwrap();
                return Self { store, process };
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!(
            "the server does not answer at {ready}:\n{}",
            place.last_words()
        );
    }

    /// Lets the server leave in order.
    pub(crate) async fn stop(mut self) {
        let id = self.process.id().unwrap();
        let id = nix::unistd::Pid::from_raw(id.try_into().unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
        let ended = self.process.wait().await.unwrap();
        assert_eq!(ended.code(), Some(0));
    }

    /// Takes the server away in the middle of whatever it does.
    pub(crate) async fn kill(mut self) {
        self.process.kill().await.unwrap();
    }
}

/// An address nobody listens on now: the forge must know it before anything listens.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn spawn(place: &Place) -> Child {
    let log = place.home.join("log");
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .unwrap();
    let inherited = INHERITED
        .into_iter()
        .filter_map(|it| Some((it, env::var_os(it)?)));
    let program = env!("CARGO_BIN_EXE_tidegate");
    let file = place.home.join("tidegate-server.yml");
    let mut command = match place.largest_file {
        None => Command::new(program),
        Some(size) => limited(size, program),
    };
    command
        .args(["serve", "--config"])
        .arg(file)
        .env_clear()
        .envs(inherited)
        .envs(place.programs.as_ref().map(|it| ("PATH", it)))
        .env("TIDEGATE_LOG", "tidegate=debug,info")
        .env("TF_HTTP_USERNAME", "tide")
        .env("TF_HTTP_PASSWORD", token("tide"))
        .env("TF_VAR_password", PASSWORD)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// A program whose writes fail beyond a size, as they do on a full disk.
fn limited(size: u64, program: &str) -> Command {
    let mut command = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -f {size}; exec \"$@\"");
    command.args(["-c", &script, "bash", program]);
    command
}
