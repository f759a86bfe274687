//! `tidegate job`: carries out one job for a server. Executors start it; people need not.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use nix::sys::prctl::set_dumpable;
use nix::unistd::setsid;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::cli::closed;
use crate::cli::stop;
use crate::core::outcome::Outcome;
use crate::jobs::{self, JobOptions};
use crate::process::orphan;
use crate::runner::Runner;

/// No token is longer.
const LONGEST_TOKEN: u64 = 64 << 10;

/// Carries out one job for a server, in the current folder. Its token is read from standard input.
#[derive(Debug, clap::Args)]
pub(super) struct Job {
    /// The server's address.
    #[arg(long, env = "TIDEGATE_SERVER")]
    server: Url,
    /// Names of the variables that Terraform gets, separated by spaces.
    #[arg(long, env = "TIDEGATE_PASS", value_delimiter = ' ', default_value = "")]
    pass: Vec<String>,
    /// The program that plans and applies, when the repository is not to be asked.
    #[arg(long, env = "TIDEGATE_TOOL")]
    tool: Option<PathBuf>,
}

impl Job {
    /// Carries out the job; its outcome is the exit code.
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        // A job outlives the terminal its server was started from, and nothing in it may ask there. A process that
        // leads a group already has one of its own.
        let _ = setsid();
        // The token is in this process's memory, and code of the repository runs beside it as the same user.
        set_dumpable(false).context("cannot close this process to others")?;
        orphan::adopt().context("cannot adopt what programs leave behind")?;
        closed::open_new_files();
        start_log();
        give_way();
        let token = read_token()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .context("cannot start")?;
        let ended = runtime.block_on(self.carry_out(token));
        // Code of the repository must not live on beside the jobs of others.
        orphan::kill_all();
        ended
    }

    async fn carry_out(self, token: SecretString) -> anyhow::Result<Outcome> {
        let stop = CancellationToken::new();
        // Terraform is interrupted once, writes its state, and the job reports.
        stop::on_signal(&stop)?;
        let options = JobOptions {
            folder: std::env::current_dir().context("cannot find the current folder")?,
            env: self.passed(),
            tool: self.tool.clone(),
            wrapper: Some(std::env::current_exe().context("cannot find our own program")?),
            stop,
        };
        let runner = Arc::new(Runner::new(self.server, token)?);
        jobs::carry_out(runner, &options).await
    }

    fn passed(&self) -> Vec<(String, String)> {
        let names = self.pass.iter().filter(|it| !it.is_empty());
        names
            .filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)))
            .collect()
    }
}

/// The executor keeps standard error as the job's log.
fn start_log() {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
}

/// Lets the server beside it answer first: a forge waits some seconds for that, a plan may take a moment longer.
fn give_way() {
    const LESS_URGENT: i32 = 10;
    if let Err(error) = rustix::process::nice(LESS_URGENT) {
        tracing::debug!(%error, "this job is as urgent as the server");
    }
}

fn read_token() -> anyhow::Result<SecretString> {
    let mut token = String::new();
    std::io::stdin()
        .take(LONGEST_TOKEN)
        .read_to_string(&mut token)
        .context("cannot read the job's token from standard input")?;
    ensure!(
        !token.trim().is_empty(),
        "there is no token on standard input"
    );
    Ok(token.trim().into())
}
