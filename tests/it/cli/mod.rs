//! The binary in a cleared environment: what it prints, which files it leaves, and its exit code.

mod config;
mod doctor;
mod forge;
mod plan;
mod start;

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

/// Compares what people see with the file in `tests/cli`; `TIDEGATE_BLESS=1` rewrites it.
pub(crate) fn check(name: &str, seen: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli")
        .join(name);
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, seen).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(seen, known, "{}", file.display());
}

/// Runs the binary to its end.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Ran {
    tidegate(folder, arguments).output().unwrap().into()
}
