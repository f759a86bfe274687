//! `tidegate version`: which program this is.

use std::io::Write;

use serde_json::json;

use crate::core::outcome::Outcome;
use crate::core::plan::digest::PLAN_KIND;

/// Says which version this is, what it was built for, and which form of plan digests it makes.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tidegate version\n  tidegate version --json | jq -r .version")]
pub(super) struct Args {
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the version.
pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let version = env!("CARGO_PKG_VERSION");
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let mut stdout = std::io::stdout().lock();
    if args.json {
        let said =
            json!({ "version": version, "os": system, "arch": machine, "digests": PLAN_KIND });
        writeln!(stdout, "{said}")?;
    } else {
        writeln!(
            stdout,
            "tidegate {version} ({system}, {machine}; digests {PLAN_KIND})"
        )?;
    }
    Ok(Outcome::Done)
}
