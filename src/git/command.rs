//! One git process: its configuration is only what stands here.

use std::path::Path;

use anyhow::{Context, bail};
use secrecy::ExposeSecret;

use crate::core::remote::Remote;
use crate::process::{Program, Ran};

/// What git is told about itself, whatever the machine or the repository says.
const CONFIGURATION: [(&str, &str); 11] = [
    ("core.hooksPath", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("credential.helper", ""),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("init.defaultBranch", "main"),
    // A collection that detached itself would outlive the lock of its folder.
    ("gc.autoDetach", "false"),
    // Commits of a branch that was forced elsewhere are still asked for.
    ("gc.pruneExpire", "never"),
    ("advice.detachedHead", "false"),
];

/// A git process in `dir` that reaches no remote.
pub(super) fn git(dir: &Path) -> Program {
    configured(dir, None)
}

/// A git process in `dir` that may use `remote`.
pub(super) fn git_with(dir: &Path, remote: &Remote) -> Program {
    configured(dir, Some(remote))
}

fn configured(dir: &Path, remote: Option<&Remote>) -> Program {
    let authorization = remote
        .and_then(|it| it.authorization.as_ref())
        .map(|it| format!("Authorization: {}", it.expose_secret()));
    let header = authorization.as_deref().map(|it| ("http.extraHeader", it));
    let mut program = Program::new("git")
        .dir(dir)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_ALLOW_PROTOCOL", remote.map_or("", protocol));
    if let Some(above) = dir.parent() {
        // A folder that is no repository is an error, not a reason to look for one around it.
        program = program.env("GIT_CEILING_DIRECTORIES", above);
    }
    let mut count = 0;
    for (key, value) in CONFIGURATION.into_iter().chain(header) {
        program = program
            .env(format!("GIT_CONFIG_KEY_{count}"), key)
            .env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    program.env("GIT_CONFIG_COUNT", count.to_string())
}

/// The only way of reaching others that a remote needs: nothing that a repository names opens another.
fn protocol(remote: &Remote) -> &str {
    let (scheme, _) = remote.url.split_once("://").unwrap_or(("file", ""));
    // Of other ways git knows some that start programs.
    match scheme {
        "http" | "https" | "file" => scheme,
        _ => "",
    }
}

/// Runs a git process whatever its exit code; `what` completes "cannot …" when it could not be run to its end.
pub(super) async fn ran(program: Program, what: &str) -> anyhow::Result<Ran> {
    let ran = program
        .run()
        .await
        .with_context(|| format!("cannot {what}: git could not be started"))?;
    if ran.was_stopped {
        bail!("cannot {what}: git took too long and was stopped");
    }
    if ran.was_cut {
        bail!("cannot {what}: git said more than is kept");
    }
    Ok(ran)
}

/// Runs a git process that must succeed, and gives what it printed.
pub(super) async fn output(program: Program, what: &str) -> anyhow::Result<Vec<u8>> {
    let ran = ran(program, what).await?;
    if !ran.status.success() {
        bail!("cannot {what}: {}", complaint(&ran));
    }
    Ok(ran.stdout)
}

/// What git says of a commit that it has not.
const MISSING: [&str; 4] = [
    "not a tree object",
    "bad object",
    "Not a valid commit name",
    "Not a valid object name",
];

/// What git complained about, or how it ended when it said nothing.
pub(super) fn complaint(ran: &Ran) -> String {
    let text = ran.complaint();
    if text.is_empty() {
        format!("git ended with {}", ran.status)
    } else if MISSING.iter().any(|it| text.contains(it)) {
        format!("a commit is not in this copy of the repository ({text})")
    } else {
        text
    }
}
