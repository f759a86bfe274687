//! The tidegate program: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidegate::cli::main()
}
