//! `tidegate leash`: runs a program that is interrupted when its parent dies. Hidden: it is for our own use.
//!
//! # Why
//!
//! Terraform killed in the middle loses state, and Terraform left alone applies with nobody to report to. The kernel
//! can tell it of its parent's death, but the wish must be spoken in the new process before the program starts, and
//! code between fork and exec is `unsafe`. So our own binary goes first and becomes the program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

/// Runs a program that gets an interrupt when its parent dies.
#[derive(Debug, clap::Args)]
pub(super) struct Leash {
    /// The process that must live; when it is gone already, nothing is started.
    #[arg(long)]
    parent: i32,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    argv: Vec<OsString>,
}

impl Leash {
    /// Becomes the program; returns only when that cannot be done.
    pub(super) fn run(self) -> anyhow::Result<std::convert::Infallible> {
        set_pdeathsig(Signal::SIGINT).context("cannot ask for a signal at the parent's death")?;
        if getppid().as_raw() != self.parent {
            anyhow::bail!("the process that asked for the program is gone; nothing was started");
        }
        let failure = Command::new(&self.argv[0]).args(&self.argv[1..]).exec();
        Err(failure).with_context(|| format!("cannot run {}", self.argv[0].display()))
    }
}
