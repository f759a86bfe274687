//! The binary in a cleared environment: what it prints, which files it leaves, and its exit code.

mod alone;
mod doctor;
mod forge;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// What a run of the binary left.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The binary in a folder, with nothing in its environment but what finds programs.
pub(crate) fn tidegate(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments).current_dir(folder).env_clear();
    for name in ["PATH", "HOME", "TMPDIR"] {
        command.envs(std::env::var_os(name).map(|it| (name, it)));
    }
    command
}

/// Runs the binary to its end.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Ran {
    tidegate(folder, arguments).output().unwrap().into()
}
