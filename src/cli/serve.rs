//! `tidegate serve`: the server.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::cli::Usage;
use crate::core::config::server::{ExecutorKind, ForgeOptions, ServerOptions};
use crate::core::key::MasterKey;
use crate::core::outcome::Outcome;
use crate::executor::local::Local;
use crate::executor::Executor;
use crate::forge::{Forge, ServedForge};
use crate::handlers::App;
use crate::serve::Server;
use crate::store::Store;

/// Answers pull requests: receives webhooks, starts jobs, keeps the gates.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tidegate serve\n  tidegate serve --config /etc/tidegate/tidegate-server.yml")]
pub struct Args {
    /// The server's file; paths in it are relative to its folder.
    #[arg(long, env = "TIDEGATE_CONFIG", default_value = "tidegate-server.yml", value_name = "FILE")]
    config: PathBuf,
    /// Log as JSON lines instead of text.
    #[arg(long)]
    log_json: bool,
}

/// Runs the server until it is interrupted or told to stop; running jobs go on and find the restarted server.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    start_log(args.log_json);
    let (options, home) = read_options(&args.config)?;
    let server = build(&options, &home).await?;
    let stop = CancellationToken::new();
    tokio::spawn(stop_on_signal(stop.clone()));
    crate::serve::run(server, stop).await?;
    Ok(Outcome::Done)
}
