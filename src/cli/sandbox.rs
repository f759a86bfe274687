//! `tidegate sandbox`: a small forge on this machine.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::cli::stop;
use crate::core::outcome::Outcome;
use crate::sandbox;
use crate::sandbox::Seed;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  tidegate sandbox --data /tmp/forge --seed seed.json
  tidegate sandbox --data /tmp/forge --listen 127.0.0.1:4000 --json

A seed:
  {\"users\": [{\"login\": \"ada\", \"token\": \"ada-secret\"},
             {\"login\": \"tide\", \"is_bot\": true, \"token\": \"tide-secret\"}],
   \"repos\": [{\"name\": \"acme/infra\", \"collaborators\": {\"ada\": \"write\", \"tide\": \"admin\"},
              \"hooks\": [{\"url\": \"http://127.0.0.1:4141/webhooks/github\", \"secret\": \"shared\"}]}]}

Then:
  git clone http://127.0.0.1:4000/acme/infra.git     (any user name; the password is the token)
  curl -H 'Authorization: Bearer ada-secret' http://127.0.0.1:4000/api/v3/repos/acme/infra/pulls
  Terraform's http backend: address http://127.0.0.1:4000/state/acme/infra/<name>, and /lock behind it";

/// Runs a small forge on this machine: git, GitHub's API and webhooks, a Terraform state backend, pages.
///
/// Whoever can open its pages can act as anybody in it: keep it on this machine.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Its folder; what is in it survives a restart.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Where it listens; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Users, repositories and hooks to start with (JSON); not read again once the folder holds a sandbox.
    #[arg(long, value_name = "FILE")]
    seed: Option<PathBuf>,
    /// Say the address as JSON.
    #[arg(long)]
    json: bool,
}

/// Serves until it is interrupted or told to stop. The first line it prints is its address.
pub(super) async fn run(args: Args) -> anyhow::Result<Outcome> {
    if sandbox::is_created(&args.data) {
        if args.seed.is_some() {
            eprintln!("the folder holds a sandbox already: its state stays, the seed is not read");
        }
    } else {
        let seed = args.seed.as_deref().map(read_seed).transpose()?;
        sandbox::create(&args.data, &seed.unwrap_or_default())?;
    }
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("cannot listen on {}", args.listen))?;
    let address = format!("http://{}", listener.local_addr()?);
    let stop = CancellationToken::new();
    stop::on_signal(&stop)?;
    let line = if args.json {
        json!({ "address": address }).to_string()
    } else {
        address
    };
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{line}")?;
    stdout.flush()?;
    sandbox::serve(&args.data, listener, stop).await?;
    Ok(Outcome::Done)
}

fn read_seed(file: &Path) -> anyhow::Result<Seed> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is no seed", file.display()))
}
