//! Jobs on this machine: a child process in a session of its own with a scrubbed environment.
//!
//! # Why two folders a job
//!
//! A job may run as a user of its own, and what it runs may be hostile. So what the server writes of a job (its log,
//! which process it is, how it ended) stands in a folder that only the server writes to, and the job works in the
//! folder `work` below it: a link that a job leaves there never leads the server to another file.
//!
//! # Why a job is written down before it gets its token
//!
//! A server may die between any two lines. A process without a token can do nothing and ends by itself, so a job of
//! which no process is written down has done nothing, and can be started again.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use url::Url;

use crate::core::job::{JobKey, JobSpec};
use crate::core::key::hex;
use crate::executor::{Executor, Seen};
use crate::process::Program;
use crate::process::account::Account;
use crate::process::detached::{Detached, ProcessId};

/// What a job wrote while it ran.
const LOG: &str = "log";
/// Which process it is.
const PROCESS: &str = "process";
/// The same, while it is being written.
const WRITTEN: &str = "process.new";
/// The exit code, written by the server that saw its end.
const EXIT: &str = "exit";
/// The folder in which a job works, which is its user's.
const WORK: &str = "work";
/// What a job that runs as another user finds as its home and for its temporary files: new in each job, so that none
/// finds what another one left.
const HOME: &str = "home";
const TEMPORARY: &str = "tmp";
/// A folder in which a job leaves what must outlive it: a state that could not be uploaded.
const KEPT: &str = "kept";
/// Exit codes after which nobody needs the log: done, waits, refused, stood down.
const CALM: [&str; 4] = ["0", "3", "4", "6"];

/// How long an interrupted job may usually take: a tool in it has ten minutes, and then the job reports.
pub const GRACE: Duration = Duration::from_secs(15 * 60);

/// What the local executor is told once.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// Our own program.
    pub program: PathBuf,
    /// Where jobs reach the server.
    pub server: Url,
    /// One folder a job is made in here.
    pub folder: PathBuf,
    /// Names and values that jobs get which only plan.
    pub plan_env: Vec<(String, String)>,
    /// Names and values that jobs get which apply.
    pub apply_env: Vec<(String, String)>,
    /// Whom jobs run as which only plan; none is whoever we are.
    pub plan_account: Option<Account>,
    /// Whom jobs run as which apply.
    pub apply_account: Option<Account>,
    /// How long an interrupted job may take before it is killed: longer than a tool may take to write its state.
    pub grace: Duration,
}

/// Starts jobs as children of this process. They outlive it: a restarted server finds them by their folders.
#[derive(Clone, Debug)]
pub struct Local {
    options: LocalOptions,
}

impl Local {
    /// An executor for these options. Makes the folder of jobs, which other users can pass through when jobs are theirs.
    pub fn open(options: LocalOptions) -> anyhow::Result<Self> {
        let local = Self { options };
        let folder = &local.options.folder;
        private_folder()
            .recursive(true)
            .create(folder)
            .and_then(|()| local.let_through(folder))
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(local)
    }

    async fn launch(&self, job: &JobSpec, token: &SecretString) -> io::Result<Detached> {
        let folder = self.folder_of(&job.key);
        let log = private_file(&folder.join(LOG))?;
        let (passed, account) = self.given(job);
        let names: Vec<&str> = passed.iter().map(|(name, _)| name.as_str()).collect();
        let work = folder.join(WORK);
        let mut program = Program::new(&self.options.program)
            .args(["job"])
            .dir(&work)
            .stdin(token.expose_secret().as_bytes().to_vec());
        private_folder().create(&work)?;
        if let Some(account) = account {
            program = program.account(account);
            for (name, folder) in [("HOME", HOME), ("TMPDIR", TEMPORARY)] {
                let folder = work.join(folder);
                private_folder().create(&folder)?;
                account.own(&folder)?;
                program = program.env(name, folder);
            }
            account.own(&work)?;
            self.let_through(&folder)?;
        }
        for (name, value) in passed {
            program = program.env(name, value);
        }
        let mut started = program
            .env("TIDEGATE_SERVER", self.options.server.as_str())
            .env("TIDEGATE_PASS", names.join(" "))
            .detach(&log)?;
        let written = folder.join(WRITTEN);
        fs::write(&written, started.id().to_string())?;
        fs::rename(written, folder.join(PROCESS))?;
        started.feed().await;
        Ok(started)
    }

    /// Makes a job's folder, which is the lock: whoever made it starts the job. False when the job was started before.
    fn make_folder(&self, folder: &Path) -> io::Result<bool> {
        match private_folder().create(folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| true),
        }
        if read_process(folder)?.is_some() {
            return Ok(false);
        }
        // Another server died in the middle of starting it; each attempt at that has a folder to itself.
        fs::remove_dir_all(folder)?;
        private_folder().create(folder)?;
        Ok(true)
    }

    /// The variables a job gets, and whom it runs as: a job that only plans runs code that nobody has looked at.
    fn given(&self, job: &JobSpec) -> (&[(String, String)], Option<Account>) {
        let options = &self.options;
        if job.work.applies() {
            (&options.apply_env, options.apply_account)
        } else {
            (&options.plan_env, options.plan_account)
        }
    }

    /// Lets jobs of other users pass through a folder to their own, without seeing what else is in it.
    fn let_through(&self, folder: &Path) -> io::Result<()> {
        let options = &self.options;
        if options.plan_account.is_none() && options.apply_account.is_none() {
            return Ok(());
        }
        fs::set_permissions(folder, Permissions::from_mode(0o711))
    }

    fn folder_of(&self, key: &JobKey) -> PathBuf {
        self.options.folder.join(folder_name(key))
    }

    fn process_of(&self, key: &JobKey) -> io::Result<Option<ProcessId>> {
        read_process(&self.folder_of(key))
    }
}

#[async_trait]
impl Executor for Local {
    async fn start(&self, job: &JobSpec, token: &SecretString) -> anyhow::Result<()> {
        let folder = self.folder_of(&job.key);
        let is_ours = self.make_folder(&folder);
        if !is_ours.with_context(|| format!("cannot make {}", folder.display()))? {
            return Ok(());
        }
        match self.launch(job, token).await {
            Ok(started) => {
                tokio::spawn(wait(started, folder));
                Ok(())
            }
            Err(error) => {
                fs::remove_dir_all(&folder)?;
                Err(error).with_context(|| format!("cannot start the job {}", job.key))
            }
        }
    }

    async fn look(&self, key: &JobKey) -> anyhow::Result<Seen> {
        let process = self.process_of(key)?;
        Ok(match process {
            Some(id) if id.is_alive() => Seen::Alive,
            Some(_) => Seen::Gone,
            None => Seen::Unstarted,
        })
    }

    async fn cancel(&self, key: &JobKey) -> anyhow::Result<()> {
        if let Some(id) = self.process_of(key)? {
            id.interrupt();
            let grace = self.options.grace;
            tokio::spawn(async move {
                tokio::time::sleep(grace).await;
                id.kill();
            });
        }
        Ok(())
    }

    /// Of a job that failed the log stays, and any state that could not be uploaded.
    async fn sweep(&self, before: Timestamp) -> anyhow::Result<()> {
        let jobs = self.options.folder.clone();
        tokio::task::spawn_blocking(move || sweep_all(&jobs, before)).await?
    }
}

/// Waits for a job's end, so that it does not stay behind as a zombie, and notes how it ended.
async fn wait(started: Detached, folder: PathBuf) {
    let noted = match started.wait().await {
        Ok(status) => {
            let code = status
                .code()
                .map_or("signal".to_owned(), |it| it.to_string());
            fs::write(folder.join(EXIT), code)
        }
        Err(error) => Err(error),
    };
    if let Err(error) = noted {
        tracing::warn!(folder = %folder.display(), %error, "cannot note how a job ended");
    }
}

/// A readable name that no two keys share: the key without what a path cannot hold, and the start of its hash.
fn folder_name(key: &JobKey) -> String {
    let text = key.to_string();
    let readable: String = text
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' })
        .take(120)
        .collect();
    let hash = hex(&Sha256::digest(text.as_bytes())[..6]);
    format!("{readable}-{hash}")
}

fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// None when the job never came up.
fn read_process(folder: &Path) -> io::Result<Option<ProcessId>> {
    match fs::read_to_string(folder.join(PROCESS)) {
        Ok(text) => text.parse().map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A folder that cannot be cleared away keeps no other from it; the last such error is answered. What is no folder is
/// not ours.
fn sweep_all(jobs: &Path, before: Timestamp) -> anyhow::Result<()> {
    let mut all = Ok(());
    for entry in fs::read_dir(jobs).context("cannot list the jobs' folders")? {
        let folder = entry?.path();
        if !folder.is_dir() {
            continue;
        }
        let swept = sweep_one(&folder, before);
        all = swept
            .with_context(|| format!("cannot clear away {}", folder.display()))
            .and(all);
    }
    all
}

fn sweep_one(folder: &Path, before: Timestamp) -> anyhow::Result<()> {
    let changed = Timestamp::try_from(fs::metadata(folder)?.modified()?)?;
    if changed >= before || read_process(folder)?.is_some_and(ProcessId::is_alive) {
        return Ok(());
    }
    let exit = fs::read_to_string(folder.join(EXIT)).unwrap_or_default();
    let work = folder.join(WORK);
    if CALM.contains(&exit.as_str()) && work.join(KEPT).symlink_metadata().is_err() {
        fs::remove_dir_all(folder)?;
        return Ok(());
    }
    if !work.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(work)? {
        let entry = entry?;
        if entry.file_name() == KEPT {
            continue;
        }
        // Of a link only the link goes.
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
