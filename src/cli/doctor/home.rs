//! What a server has on its own machine: its file, data folder, key, secrets, and what its jobs get.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

use crate::cli::closed::Guests;
use crate::cli::serve;
use crate::core::config::server::{self, ExecutorOptions, ForgeOptions, ServerOptions};
use crate::core::finding::Finding;
use crate::core::key::MasterKey;

/// Below this much free space a mirror or a plan may not fit, in bytes; and below that nothing does.
const LITTLE: u64 = 2 << 30;
const NOTHING: u64 = 100 << 20;

/// Reads the server's file; none when it is not there or not right, which the findings then say.
pub(super) fn server_file(file: &Path) -> (Vec<Finding>, Option<ServerOptions>) {
    let name = file.display().to_string();
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            let what = format!("cannot read {name}: {error}");
            let hint =
                "say where it is with `--config`, or write one as docs/configuration.md says";
            return (vec![Finding::fail("server file", what, hint)], None);
        }
    };
    match server::read(&name, &text) {
        Ok(options) => {
            let mut findings = vec![Finding::ok("server file", format!("{name} is right"))];
            if options.database.is_some() {
                // The database's address may hold a password.
                findings.extend(secret_mode("server file", file));
            }
            (findings, Some(options))
        }
        Err(complaints) => {
            let findings = complaints.iter().map(|it| {
                let place = format!("{}:{}:{}: ", it.file, it.line, it.column);
                let path = match it.path.as_str() {
                    "" => String::new(),
                    path => format!("{path}: "),
                };
                Finding::fail("server file", format!("{place}{path}{}", it.what), &it.hint)
            });
            (findings.collect(), None)
        }
    }
}

/// The folder that paths in a server's file start from.
pub(super) fn folder_of(file: &Path) -> PathBuf {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    file.parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// Whether the data folder can be written, is closed to others, and has room.
pub(super) fn data_folder(data: &Path) -> Vec<Finding> {
    let name = data.display();
    let existing = data
        .ancestors()
        .find(|it| it.exists() || it.as_os_str().is_empty());
    let existing = match existing {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    if access(existing, AccessFlags::W_OK | AccessFlags::X_OK).is_err() {
        let what = format!("{} cannot be written by this user", existing.display());
        let hint = "run `tidegate doctor` as the user of the server, and give that user the folder";
        return vec![Finding::fail("data folder", what, hint)];
    }
    let mut findings = Vec::new();
    if existing != data {
        let what = format!("there is no {name} yet; the server makes it at its first start");
        findings.push(Finding::ok("data folder", what));
    } else if mode(data).is_some_and(|it| it & 0o006 != 0) {
        let what = format!("others on this machine can look into {name}");
        findings.push(Finding::warn(
            "data folder",
            what,
            format!("close it with `chmod o-rw {name}`"),
        ));
    } else {
        findings.push(Finding::ok("data folder", format!("{name} can be written")));
    }
    findings.extend(space(existing));
    findings
}

fn space(folder: &Path) -> Option<Finding> {
    let found = statvfs(folder).ok()?;
    let free = found.blocks_available() * found.fragment_size();
    let what = format!("{} MiB are free below {}", free >> 20, folder.display());
    let hint = "make room, or move `data` to a larger disk";
    Some(match free {
        free if free < NOTHING => Finding::fail("disk", what, hint),
        free if free < LITTLE => Finding::warn("disk", what, hint),
        _ => Finding::ok("disk", what),
    })
}

/// Whether the installation's key is one, and nobody else's; and the key.
pub(super) fn key(
    options: &ServerOptions,
    home: &Path,
    data: &Path,
) -> (Vec<Finding>, Option<MasterKey>) {
    let hint = "put the key back from a copy: with another one, waiting approvals are void";
    if let Ok(text) = std::env::var("TIDEGATE_KEY") {
        return match serve::from_hex(text.trim()) {
            Some(bytes) => {
                let found = Finding::ok("key", "TIDEGATE_KEY is a key");
                (vec![found], Some(MasterKey::new(bytes)))
            }
            None => {
                let what = "TIDEGATE_KEY is not a key: it must be 64 hex digits (32 bytes)";
                (vec![Finding::fail("key", what, hint)], None)
            }
        };
    }
    let file = serve::key_file(options, home, data);
    if !file.exists() {
        let what = format!(
            "there is no {} yet; the server makes it at its first start",
            file.display()
        );
        return (vec![Finding::ok("key", what)], None);
    }
    key_in(&file, hint)
}

fn key_in(file: &PathBuf, hint: &str) -> (Vec<Finding>, Option<MasterKey>) {
    let name = file.display();
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            let what = format!("cannot read {name}: {error}");
            let hint = "run `tidegate doctor` as the user of the server";
            return (vec![Finding::fail("key", what, hint)], None);
        }
    };
    let Some(bytes) = serve::from_hex(text.trim()) else {
        let what = format!("{name} holds no key: it must be 64 hex digits (32 bytes)");
        return (vec![Finding::fail("key", what, hint)], None);
    };
    let mut findings = vec![Finding::ok("key", format!("{name} holds a key"))];
    findings.extend(secret_mode("key", file));
    (findings, Some(MasterKey::new(bytes)))
}

/// Complains about a secret's file that others can read.
pub(super) fn secret_mode(check: &str, file: &Path) -> Vec<Finding> {
    let Some(mode) = mode(file).filter(|it| it & 0o077 != 0) else {
        return Vec::new();
    };
    let name = file.display();
    let what = format!("{name} is open to others than its owner (mode {mode:04o})");
    let hint = format!("close it with `chmod 600 {name}`");
    vec![match mode & 0o007 {
        0 => Finding::warn(check, what, hint),
        _ => Finding::fail(check, what, hint),
    }]
}

fn mode(path: &Path) -> Option<u32> {
    let found = fs::metadata(path).ok()?;
    Some(found.permissions().mode() & 0o7777)
}

/// Whether each file with a webhook secret holds one, for us alone.
pub(super) fn webhook_secrets(forge: &ForgeOptions, home: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in forge.webhook_secret_files.iter().map(|it| home.join(it)) {
        match serve::read_secret(&file) {
            Ok(_) => findings.extend(secret_mode("webhook secret", &file)),
            Err(error) => {
                let hint = "write the secret that the forge signs with into it, such as one of `openssl rand -hex 32`";
                findings.push(Finding::fail("webhook secret", format!("{error:#}"), hint));
            }
        }
    }
    findings
}

/// Whether jobs run as a user who can read nothing of ours.
pub(super) fn job_user(options: &ServerOptions, data: &Path, secrets: &[PathBuf]) -> Finding {
    let checked = Guests::find(&options.executor).and_then(|guests| match data.exists() {
        true => guests.check(data, secrets),
        false => Ok(()),
    });
    match checked {
        Ok(()) => options.executor.isolation(),
        Err(error) => {
            let hint = "the server does not start until then";
            Finding::fail("job user", format!("{error:#}"), hint)
        }
    }
}

/// What jobs get from the server's environment.
pub(super) fn executor(options: &ExecutorOptions) -> Vec<Finding> {
    let names = options.plan_env.iter().chain(&options.apply_env);
    let mut missing: Vec<&str> = names
        .filter(|it| std::env::var_os(it).is_none())
        .map(String::as_str)
        .collect();
    missing.dedup();
    let mut findings = Vec::new();
    if !missing.is_empty() {
        let what = format!("jobs are to get {}, not set here", missing.join(", "));
        let hint = "set them where the server starts; without them it does not start";
        findings.push(Finding::warn("job environment", what, hint));
    }
    findings
}
