//! A program that outlives us: its output goes to a file, and it is found again by its number and start time.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::process::ExitStatus;
use std::str::FromStr;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::Child;

use crate::process::Program;

/// A process by its number and the moment it started, so that a number used again is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    pid: i32,
    /// Clock ticks since boot, as the kernel counts them.
    started: u64,
}

/// A program started on its own; dropping this does not end it.
pub struct Detached {
    child: Child,
    id: ProcessId,
    input: Vec<u8>,
}

impl Program {
    /// Starts it with both outputs in `log` and returns. It is on its own: no limit, no stop, no group made for it.
    /// What it reads comes when it is fed; should we die before, its input is empty.
    pub fn detach(mut self, log: &File) -> io::Result<Detached> {
        let input = std::mem::take(&mut self.stdin);
        let child = self
            .command()
            .stdin(std::process::Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .spawn()?;
        let id = ProcessId::of(child.id())?;
        Ok(Detached { child, id, input })
    }
}

impl Detached {
    /// How it is found again.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Writes its input and closes it.
    pub async fn feed(&mut self) {
        if let Some(mut pipe) = self.child.stdin.take() {
            // A program that does not read its input closes the pipe; its exit code says what it thinks of that.
            let _ = pipe.write_all(&self.input).await;
        }
    }

    /// Waits for its end.
    pub async fn wait(mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }
}

impl ProcessId {
    /// A child that was not waited for yet: even when it ended, its number is still its own.
    fn of(pid: Option<u32>) -> io::Result<Self> {
        let pid = pid
            .and_then(|it| i32::try_from(it).ok())
            .ok_or_else(|| io::Error::other("the process ended before it could be looked at"))?;
        let stat = Stat::read(pid)?;
        Ok(Self {
            pid,
            started: stat.started,
        })
    }

    /// Whether it still runs.
    pub fn is_alive(self) -> bool {
        Stat::read(self.pid).is_ok_and(|it| it.started == self.started && !it.has_ended)
    }

    /// Asks it to stop, if it still runs.
    pub fn interrupt(self) {
        if self.is_alive() {
            let _ = kill(Pid::from_raw(self.pid), Signal::SIGINT);
        }
    }

    /// Kills it and the process group it leads, if it still runs.
    pub fn kill(self) {
        if self.is_alive() {
            let _ = killpg(Pid::from_raw(self.pid), Signal::SIGKILL);
            let _ = kill(Pid::from_raw(self.pid), Signal::SIGKILL);
        }
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.started)
    }
}

impl FromStr for ProcessId {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let numbers = text.trim().split_once(' ').and_then(|(pid, started)| {
            Some(Self {
                pid: pid.parse().ok().filter(|it| *it > 1)?,
                started: started.parse().ok()?,
            })
        });
        numbers.ok_or_else(|| io::Error::other(format!("{text:?} names no process")))
    }
}

/// What `/proc/<pid>/stat` says of a process.
struct Stat {
    started: u64,
    has_ended: bool,
}

impl Stat {
    fn read(pid: i32) -> io::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        Self::parse(&text).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat: {text:?}")))
    }

    /// The program's name stands in parentheses and may hold anything, so the fields are counted after the last one.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        Some(Self {
            started,
            has_ended: matches!(state, "Z" | "X"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20";
        let stat = Stat::parse(&format!("7 (a) Z (b) {fields}")).unwrap();
        assert_eq!((stat.started, stat.has_ended), (4242, false));
    }

    #[tokio::test]
    async fn a_process_is_found_by_what_was_written_down() {
        let log = tempfile::tempfile().unwrap();
        let sleep = Program::new("sleep").args(["600"]);
        let started = sleep.detach(&log).unwrap();
        let found: ProcessId = started.id().to_string().parse().unwrap();
        assert!(found.is_alive());
        found.kill();
        started.wait().await.unwrap();
        assert!(!found.is_alive());
    }

    #[tokio::test]
    async fn a_program_whose_starter_is_gone_before_it_was_fed_reads_nothing() {
        let log = tempfile::tempfile().unwrap();
        let program = Program::new("sh").args(["-c", "cat; echo over"]);
        let mut started = program.stdin(b"secret".to_vec()).detach(&log).unwrap();
        drop(started.child.stdin.take());
        started.wait().await.unwrap();
        let mut said = String::new();
        (&log).rewind().unwrap();
        (&log).read_to_string(&mut said).unwrap();
        assert_eq!(said, "over\n");
    }

    #[tokio::test]
    async fn another_process_under_the_same_number_is_not_taken_for_it() {
        let log = tempfile::tempfile().unwrap();
        let started = Program::new("sleep").args(["600"]).detach(&log).unwrap();
        let other = ProcessId {
            started: started.id().started + 1,
            ..started.id()
        };
        other.kill();
        assert!(!other.is_alive());
        assert!(started.id().is_alive());
        started.id().kill();
    }
}
