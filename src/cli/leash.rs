//! `tidegate leash`: runs a program that is interrupted when its parent dies. Hidden: it is for our own use.
//!
//! # Why
//!
//! Terraform killed in the middle loses state, and Terraform left alone applies with nobody to report to. The kernel
//! tells a process of its parent's death, but once for each thread that the process is handed on to on the way, and
//! Terraform takes a second interrupt for the order to drop everything. So our own binary stays between the two: it has
//! one thread, hears of the death as often as it may come, and passes on one interrupt.
//!
//! It holds signals back so that none is lost, and a program that it starts inherits that; code between fork and exec
//! is `unsafe`. So it starts itself once more, and that one lets signals in again and becomes the program.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus};

use anyhow::Context;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::unistd::{Pid, getppid};

/// What the kernel tells us with that the parent died.
const PARENT_DIED: Signal = Signal::SIGUSR1;

/// Runs a program that gets one interrupt when its parent dies.
#[derive(Debug, clap::Args)]
pub(super) struct Leash {
    /// The process that must live; when it is gone already, nothing is started.
    #[arg(long)]
    parent: i32,
    /// Become the program instead of staying beside it.
    #[arg(long = "become")]
    becomes: bool,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    argv: Vec<OsString>,
}

impl Leash {
    /// Runs the program and ends as it does. Must be called on the only thread there is: signals wait for it here.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        if self.becomes {
            match self.become_it()? {}
        }
        held_back()
            .thread_block()
            .context("cannot hold signals back")?;
        ask_for(PARENT_DIED, self.parent)?;
        let mut child = self.start()?;
        let status = watch(&mut child)?;
        held_back()
            .thread_unblock()
            .context("cannot let signals in")?;
        Ok(end_as(status))
    }

    fn start(&self) -> anyhow::Result<Child> {
        let tidegate = std::env::current_exe().context("cannot find our own program")?;
        Command::new(tidegate)
            .args(["leash", "--become", "--parent"])
            .arg(std::process::id().to_string())
            .arg("--")
            .args(&self.argv)
            .spawn()
            .context("cannot start our own program")
    }

    /// Returns only when it cannot be done.
    fn become_it(self) -> anyhow::Result<Infallible> {
        ask_for(Signal::SIGINT, self.parent)?;
        held_back()
            .thread_unblock()
            .context("cannot let signals in")?;
        let failure = Command::new(&self.argv[0]).args(&self.argv[1..]).exec();
        Err(failure).with_context(|| format!("cannot run {}", self.argv[0].display()))
    }
}

/// Asks for a signal when the parent dies, unless it has.
fn ask_for(signal: Signal, parent: i32) -> anyhow::Result<()> {
    set_pdeathsig(signal).context("cannot ask for a signal at the parent's death")?;
    if getppid().as_raw() != parent {
        anyhow::bail!("the process that asked for the program is gone; nothing was started");
    }
    Ok(())
}

/// Signals that wait until we look.
fn held_back() -> SigSet {
    [
        Signal::SIGCHLD,
        Signal::SIGINT,
        Signal::SIGTERM,
        PARENT_DIED,
    ]
    .into_iter()
    .collect()
}

/// Passes signals on until the program ends. When the parent dies it is interrupted, unless it was already.
fn watch(child: &mut Child) -> anyhow::Result<ExitStatus> {
    let id = Pid::from_raw(i32::try_from(child.id())?);
    let mut was_interrupted = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let signal = match held_back().wait()? {
            Signal::SIGCHLD => continue,
            PARENT_DIED if was_interrupted => continue,
            PARENT_DIED => Signal::SIGINT,
            other => other,
        };
        was_interrupted = true;
        kill(id, signal).context("cannot pass a signal on")?;
    }
}

/// The exit code of a program, or the same death by the same signal.
fn end_as(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        if let Ok(signal) = Signal::try_from(signal) {
            // Our runtime takes the first of some signals and gives way to the second. Where neither ends us, the code
            // below does.
            let _ = raise(signal).and_then(|()| raise(signal));
        }
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    let code = status.code().and_then(|it| u8::try_from(it).ok());
    ExitCode::from(code.unwrap_or(u8::MAX))
}
