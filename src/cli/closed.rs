//! What the server keeps to itself: its process and its files, closed to the users that jobs run as.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use nix::sys::prctl::set_dumpable;
use nix::sys::stat::{Mode, umask};

use crate::cli::Usage;
use crate::core::config::server::{ExecutorOptions, JobUser};
use crate::process::account::Account;

/// The folder of jobs in the data folder.
pub(super) const JOBS: &str = "jobs";

/// A user that jobs run as, found on this machine.
pub(super) struct Guest {
    user: JobUser,
    pub(super) account: Account,
}

/// The users that jobs run as; none is the server's own.
pub(super) struct Guests {
    pub(super) plan: Option<Guest>,
    pub(super) apply: Option<Guest>,
}

/// Closes this process: others of its user cannot read its environment and memory, and what it writes is its own.
pub(super) fn close_process() -> anyhow::Result<()> {
    set_dumpable(false).context("cannot close this process to others")?;
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    Ok(())
}

/// Has a job's programs write files as programs do, whatever the server that started it keeps to itself.
pub(super) fn open_new_files() {
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
}

impl Guests {
    /// Finds the users that the executor's options name.
    pub(super) fn find(options: &ExecutorOptions) -> anyhow::Result<Self> {
        let find = |key, user: Option<&JobUser>| user.map(|it| Guest::find(key, it)).transpose();
        Ok(Self {
            plan: find("user", options.user.as_ref())?,
            apply: find("apply_user", options.applying_user())?,
        })
    }

    /// Closes the data folder to them, but for the way to the folder of jobs.
    pub(super) fn close(&self, data: &Path) -> anyhow::Result<()> {
        if self.plan.is_none() {
            return Ok(());
        }
        for entry in fs::read_dir(data).context("cannot list the data folder")? {
            let path = entry?.path();
            // What stands in the folder of jobs is closed by itself, and jobs that run are on their way through it.
            if !path.ends_with(JOBS) && !path.is_symlink() {
                close(&path, 0o000)?;
            }
        }
        close(data, 0o011)
    }

    /// Refuses to start where they could read or replace what the server keeps to itself, or could not work.
    pub(super) fn check(&self, data: &Path, secrets: &[PathBuf]) -> anyhow::Result<()> {
        let program = std::env::current_exe().context("cannot find our own program")?;
        for guest in [&self.plan, &self.apply].into_iter().flatten() {
            guest.check_way("reach its folder in", data)?;
            guest.check_way("run", &program)?;
            guest.check_data(data)?;
            for secret in secrets {
                guest.check_secret(secret)?;
            }
        }
        Ok(())
    }
}

impl Guest {
    fn find(key: &str, user: &JobUser) -> anyhow::Result<Self> {
        let found = match user {
            JobUser::Name(name) => Account::named(name),
            JobUser::Id(id) => Account::numbered(*id).map(Some),
        };
        let found = found.with_context(|| format!("cannot look for the user {user}"))?;
        let Some(account) = found else {
            return refuse(format!(
                "`executor.{key}`: there is no user {user} on this machine; make one, such as with `useradd --system {user}`"
            ));
        };
        if account.is_root() {
            return refuse(format!(
                "`executor.{key}`: {user} is root, who may read all that the server keeps"
            ));
        }
        if !Account::can_be_changed() {
            return refuse(format!(
                "`executor.{key}`: only a server that runs as root can start jobs as {user}; start it as root"
            ));
        }
        Ok(Self {
            user: user.clone(),
            account,
        })
    }

    fn check_way(&self, what: &str, path: &Path) -> anyhow::Result<()> {
        match self.account.stopped_at(path)? {
            None => Ok(()),
            Some(folder) => refuse(format!(
                "jobs run as {}, who cannot {what} {}: {} is closed to it",
                self.user,
                path.display(),
                folder.display()
            )),
        }
    }

    fn check_data(&self, data: &Path) -> anyhow::Result<()> {
        if self.account.may_write(data)? {
            return refuse(format!(
                "jobs run as {}, who could replace what is in {}: make root its owner",
                self.user,
                data.display()
            ));
        }
        Ok(())
    }

    fn check_secret(&self, file: &Path) -> anyhow::Result<()> {
        if file.exists() && self.account.may_read(file)? {
            return refuse(format!(
                "jobs run as {}, who could read the secret in {}: close it with `chmod 600`, and make root its owner",
                self.user,
                file.display()
            ));
        }
        Ok(())
    }
}

fn refuse<T>(why: String) -> anyhow::Result<T> {
    bail!(Usage(why))
}

/// Takes away what others than its owner may do with a file or folder, but for `left`.
fn close(path: &Path, left: u32) -> anyhow::Result<()> {
    let mode = fs::symlink_metadata(path)?.permissions().mode() & 0o700 | left;
    fs::set_permissions(path, Permissions::from_mode(mode))
        .with_context(|| format!("cannot close {} to others", path.display()))
}
