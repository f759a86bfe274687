//! One file per command: arguments, one call, what it prints.

mod alone;
mod closed;
mod config;
mod doctor;
mod job;
mod leash;
mod ledger;
mod plan;
mod reference;
mod sample;
mod sandbox;
mod serve;
mod stop;
mod testdrive;
mod version;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::core::outcome::Outcome;

pub use reference::reference;

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
    Plan(plan::Args),
    Config(config::Args),
    Doctor(doctor::Args),
    Ledger(ledger::Args),
    Testdrive(testdrive::Args),
    Sandbox(sandbox::Args),
    Version(version::Args),
    #[command(hide = true)]
    Job(job::Job),
    #[command(hide = true)]
    Leash(leash::Leash),
    #[command(hide = true)]
    SampleRoot(sample::Args),
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
    run(Cli::parse().command).unwrap_or_else(|error| {
        eprintln!("tidegate: {error:#}");
        let outcome = if error.is::<Usage>() {
            Outcome::Usage
        } else {
            Outcome::Failed
        };
        ExitCode::from(outcome.code())
    })
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let outcome = match command {
        // These two shape their own process before any thread is started; the first ends as the program it runs.
        Command::Leash(leash) => return leash.run(),
        Command::Job(job) => job.run(),
        Command::Serve(args) => in_runtime(serve::run(args)),
        Command::Plan(args) => in_runtime(plan::run(args)),
        Command::Config(args) => in_runtime(config::run(args)),
        Command::Doctor(args) => in_runtime(doctor::run(args)),
        Command::Ledger(args) => in_runtime(ledger::run(args)),
        Command::Testdrive(args) => in_runtime(testdrive::run(args)),
        Command::Sandbox(args) => in_runtime(sandbox::run(args)),
        Command::Version(args) => version::run(&args),
        Command::SampleRoot(args) => in_runtime(sample::run(args)),
    };
    Ok(ExitCode::from(outcome?.code()))
}

fn in_runtime(work: impl Future<Output = anyhow::Result<Outcome>>) -> anyhow::Result<Outcome> {
    tokio::runtime::Runtime::new()?.block_on(work)
}
