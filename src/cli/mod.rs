//! One file per command: arguments, one call, what it prints.

pub mod sandbox;

use std::process::ExitCode;

/// Parses the command line, runs the command, and answers its exit code.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
