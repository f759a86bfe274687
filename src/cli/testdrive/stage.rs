//! The stage of the story: a folder, a sandbox and a server, each a process of its own.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::Value;
use tokio::process::{Child, Command};
use url::Url;

use crate::cli::testdrive::estate::Estate;
use crate::cli::testdrive::people::{Person, REPO};
use crate::cli::testdrive::tool::Tool;
use crate::core::key::hex;
use crate::sandbox;

/// Who plays: an author, a writer, a reader, and the account tidegate acts as.
const PEOPLE: [(&str, &str); 4] = [
    ("ada", "write"),
    ("grace", "write"),
    ("mallory", "read"),
    ("tidegate", "admin"),
];

/// A running sandbox and server, and the people who use them.
pub(super) struct Stage {
    pub(super) dir: PathBuf,
    /// The sandbox's pages.
    pub(super) forge: Url,
    /// The server's pages.
    pub(super) pages: Url,
    pub(super) estate: Estate,
    pub(super) http: reqwest::Client,
    tokens: Vec<(&'static str, String)>,
    processes: Vec<Child>,
}

/// Where each listener of the stage is.
struct Addresses {
    forge: SocketAddr,
    server: SocketAddr,
    pages: SocketAddr,
}

impl Stage {
    /// Builds the stage in `dir` and starts both processes; returns when both answer.
    pub(super) async fn start(dir: &Path, tool: Tool) -> anyhow::Result<Self> {
        let at = Addresses {
            forge: free_address()?,
            server: free_address()?,
            pages: free_address()?,
        };
        let tokens: Vec<_> = PEOPLE.map(|(login, _)| (login, random_secret())).to_vec();
        let secret = random_secret();
        let forge = Url::parse(&format!("http://{}/", at.forge))?;
        let mut stage = Self {
            dir: dir.to_owned(),
            pages: Url::parse(&format!("http://{}/", at.pages))?,
            estate: Estate {
                states: forge.join(&format!("state/{REPO}/"))?,
                tool,
            },
            forge,
            http: reqwest::Client::builder()
                .timeout(Duration::from_secs(30))
                .build()?,
            tokens,
            processes: Vec::new(),
        };
        sandbox::create(&dir.join("sandbox"), &stage.seed(&at, &secret))
            .context("cannot make the sandbox")?;
        stage.write_server_files(&at, &secret)?;
        stage.launch(
            "sandbox",
            &["--data", "sandbox", "--listen", &at.forge.to_string()],
        )?;
        stage.launch("serve", &["--config", "tidegate-server.yml"])?;
        let (forge, ready) = (stage.forge.clone(), stage.pages.join("readyz")?);
        stage.wait_until_up(&forge, "sandbox").await?;
        stage.wait_until_up(&ready, "serve").await?;
        Ok(stage)
    }

    /// One of the people of the story.
    pub(super) fn person(&self, login: &'static str) -> Person {
        Person::new(
            login,
            self.token(login),
            &self.forge.join("api/v3/").expect("a fixed path"),
            &self.http,
        )
    }

    /// The newest state of a root.
    pub(super) async fn state(&self, root: &str) -> anyhow::Result<Value> {
        let answer = self.ask_for_state(Method::GET, root).send().await?;
        Ok(answer.error_for_status()?.json().await?)
    }

    /// Writes a root's state, as a tool would.
    pub(super) async fn write_state(&self, root: &str, state: &Value) -> anyhow::Result<()> {
        let request = self.ask_for_state(Method::POST, root).json(state);
        request.send().await?.error_for_status()?;
        Ok(())
    }

    fn ask_for_state(&self, method: Method, root: &str) -> reqwest::RequestBuilder {
        let [(_, user), (_, password)] = self.state_variables();
        let request = self.http.request(method, self.estate.address(root));
        request.basic_auth(user, Some(password))
    }

    /// The variables under which the tool reaches the states.
    pub(super) fn state_variables(&self) -> [(&'static str, String); 2] {
        [
            ("TF_HTTP_USERNAME", "tidegate".to_owned()),
            ("TF_HTTP_PASSWORD", self.token("tidegate").to_owned()),
        ]
    }

    /// Stops both processes and waits for them to leave.
    pub(super) async fn stop(mut self) {
        for process in &mut self.processes {
            if let Some(id) = process.id().and_then(|it| i32::try_from(it).ok()) {
                let _ = nix::sys::signal::kill(
                    nix::unistd::Pid::from_raw(id),
                    nix::sys::signal::Signal::SIGTERM,
                );
            }
            let _ = tokio::time::timeout(Duration::from_secs(20), process.wait()).await;
        }
    }

    fn token(&self, login: &str) -> &str {
        let found = self.tokens.iter().find(|(name, _)| *name == login);
        found
            .map(|(_, token)| token.as_str())
            .expect("the story names only its own people")
    }

    fn seed(&self, at: &Addresses, secret: &str) -> sandbox::Seed {
        let hook = sandbox::SeedHook {
            url: format!("http://{}/webhooks/github", at.server),
            secret: secret.to_owned(),
            ..sandbox::SeedHook::default()
        };
        sandbox::Seed {
            users: self
                .tokens
                .iter()
                .map(|(login, token)| sandbox::SeedUser {
                    login: (*login).to_owned(),
                    is_bot: *login == "tidegate",
                    token: token.clone(),
                    ..sandbox::SeedUser::default()
                })
                .collect(),
            repos: vec![sandbox::SeedRepo {
                name: REPO.to_owned(),
                is_public: true,
                collaborators: PEOPLE
                    .iter()
                    .map(|(login, role)| ((*login).to_owned(), (*role).to_owned()))
                    .collect(),
                hooks: vec![hook],
                ..sandbox::SeedRepo::default()
            }],
            apps: Vec::new(),
        }
    }

    fn write_server_files(&self, at: &Addresses, secret: &str) -> anyhow::Result<()> {
        write_private(&self.dir.join("token"), self.token("tidegate"))?;
        write_private(&self.dir.join("webhook-secret"), secret)?;
        let names = "[TF_HTTP_USERNAME, TF_HTTP_PASSWORD]";
        let text = format!(
            "public_url: http://{}\nlisten: {}\nlisten_pages: {}\ndata: server\nforges:\n  - kind: github\n    url: {}\n    \
             token_file: token\n    webhook_secret_files: [webhook-secret]\n    repos: [{REPO}]\nexecutor:\n  kind: local\n  \
             plan_env: {names}\n  apply_env: {names}\n",
            at.server, at.server, at.pages, self.forge
        );
        std::fs::write(self.dir.join("tidegate-server.yml"), text)
            .context("cannot write the server's file")
    }

    /// Starts this program again as `command`, with its output in a file of the stage.
    fn launch(&mut self, command: &str, args: &[&str]) -> anyhow::Result<()> {
        let log = std::fs::File::create(self.log(command))?;
        let process = Command::new(std::env::current_exe()?)
            .arg(command)
            .args(args)
            .envs(self.state_variables())
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start `tidegate {command}`"))?;
        self.processes.push(process);
        Ok(())
    }

    async fn wait_until_up(&mut self, url: &Url, command: &str) -> anyhow::Result<()> {
        for _ in 0..200 {
            if self
                .http
                .get(url.clone())
                .send()
                .await
                .is_ok_and(|it| it.status().as_u16() < 500)
            {
                return Ok(());
            }
            for process in &mut self.processes {
                if let Some(status) = process.try_wait()? {
                    bail!(
                        "`tidegate {command}` did not start ({status}): {}",
                        self.last_words(command)
                    );
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!(
            "`tidegate {command}` does not answer at {url}; its log is {}",
            self.log(command).display()
        )
    }

    fn last_words(&self, command: &str) -> String {
        let log = std::fs::read_to_string(self.log(command)).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(3).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    }

    fn log(&self, command: &str) -> PathBuf {
        self.dir.join(format!("{command}.log"))
    }
}

/// A port nobody listens on now; the sample estate names it, so it must be known before anything listens.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")
        .context("cannot find a free port")?
        .local_addr()?)
}

fn random_secret() -> String {
    let mut bytes = [0; 20];
    getrandom::fill(&mut bytes).expect("this machine has randomness");
    hex(&bytes)
}

fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
