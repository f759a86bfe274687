//! One file per command: arguments, one call, what it prints.

mod job;
mod leash;
mod sandbox;
mod serve;
mod testdrive;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::core::outcome::Outcome;

/// Lets infrastructure changes out in waves that pass their gate only with plans somebody approved.
#[derive(Parser)]
#[command(name = "tidegate", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Args),
    Testdrive(testdrive::Args),
    Sandbox(sandbox::Args),
    #[command(hide = true)]
    Job(job::Args),
    #[command(hide = true)]
    Leash(leash::Args),
}

const EXIT_CODES: &str = "Exit codes:\n  \
    0  done\n  \
    1  a plan or an apply failed\n  \
    2  usage or configuration error, nothing was changed\n  \
    3  waits for an approval\n  \
    4  refused: plans moved after an approval\n  \
    6  stood down for a newer push";

/// What a person asked on the command line or wrote in a configuration file cannot be: nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Parses the command line, runs the command, and answers its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = match cli.command {
        // It becomes another program, which wants no runtime's threads beside it.
        Command::Leash(args) => leash::run(&args),
        command => tokio::runtime::Runtime::new().map_err(anyhow::Error::from).and_then(|it| it.block_on(run(command))),
    };
    let outcome = ended.unwrap_or_else(|error| {
        eprintln!("tidegate: {error:#}");
        if error.is::<Usage>() { Outcome::Usage } else { Outcome::Failed }
    });
    ExitCode::from(outcome.code())
}

async fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Serve(args) => serve::run(args).await,
        Command::Testdrive(args) => testdrive::run(args).await,
        Command::Sandbox(args) => sandbox::run(args).await,
        Command::Job(args) => job::run(args).await,
        Command::Leash(args) => leash::run(&args),
    }
}
