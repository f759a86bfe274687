//! Runs a program: argv (never a shell), folder, environment, time limit, output cap, interrupt before kill.

pub mod account;
pub mod detached;
pub mod orphan;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::task::{Context, Poll};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use crate::process::account::Account;

/// What a program inherits when nothing else is said: enough to find tools and a home, no secret of ours.
const INHERITED: [&str; 5] = ["PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE"];

/// A program to run. Its environment is only what [`INHERITED`] names and what is added here.
#[derive(Debug)]
pub struct Program {
    argv: Vec<OsString>,
    dir: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    limit: Duration,
    grace: Duration,
    cap: usize,
    stop: CancellationToken,
    account: Option<Account>,
    is_leashed: bool,
}

/// How a program ended and what it said.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    /// The first `cap` bytes.
    pub stdout: Vec<u8>,
    /// The first `cap` bytes.
    pub stderr: Vec<u8>,
    /// Whether output was dropped past the cap.
    pub was_cut: bool,
    /// Whether it was interrupted, by its limit or because it was told to stop.
    pub was_stopped: bool,
}

impl Ran {
    /// The exit code; none after a signal.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// How it ended, as words: `exit code 1`, `it was ended by SIGKILL`.
    pub fn ended(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(number)) => {
                let name = Signal::try_from(number).map(Signal::as_str);
                let name = name.map_or_else(|_| format!("signal {number}"), str::to_owned);
                format!("it was ended by {name}")
            }
            (None, None) => "it was ended".to_owned(),
        }
    }

    /// Standard error as text, trimmed.
    pub fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.stderr).trim().to_owned()
    }
}

impl Program {
    /// A program by name or path, without arguments.
    pub fn new(name: impl AsRef<OsStr>) -> Self {
        Self {
            argv: vec![name.as_ref().to_owned()],
            dir: None,
            env: Vec::new(),
            stdin: Vec::new(),
            limit: Duration::from_secs(600),
            grace: Duration::from_secs(120),
            cap: 64 << 20,
            stop: CancellationToken::new(),
            account: None,
            is_leashed: false,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, args: I) -> Self {
        self.argv
            .extend(args.into_iter().map(|it| it.as_ref().to_owned()));
        self
    }

    /// Has it interrupted when this process dies: `tidegate`, our own program, runs it (see `tidegate leash`).
    /// The signal comes when the *thread* that starts it ends, so it must be one that lives as long as the process.
    #[must_use]
    pub fn leashed(mut self, tidegate: &Path) -> Self {
        let parent = std::process::id().to_string();
        let leash = ["leash", "--parent", &parent, "--"].map(OsString::from);
        let argv = std::mem::take(&mut self.argv);
        self.argv = std::iter::once(tidegate.into())
            .chain(leash)
            .chain(argv)
            .collect();
        self.is_leashed = true;
        self
    }

    /// Runs it in a folder.
    #[must_use]
    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs it as another user of this machine, in that user's own group alone.
    #[must_use]
    pub fn account(mut self, account: Account) -> Self {
        self.account = Some(account);
        self
    }

    /// Gives it something to read; otherwise it reads nothing.
    #[must_use]
    pub fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = bytes;
        self
    }

    /// Interrupts it after this long (ten minutes when not said).
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Kills it when an interrupt did not end it for this long (two minutes when not said).
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Keeps at most this many bytes of each output (64 MiB when not said); the rest is read and dropped.
    #[must_use]
    pub fn cap(mut self, bytes: usize) -> Self {
        self.cap = bytes;
        self
    }

    /// Interrupts it when `stop` is cancelled.
    #[must_use]
    pub fn stop(mut self, stop: &CancellationToken) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Runs it to its end. Dropping the future kills the whole process group.
    pub async fn run(mut self) -> io::Result<Ran> {
        let mut command = self.command();
        let files = self.files_for(&mut command)?;
        let mut group = Group::spawn(&mut command)?;
        let input = std::mem::take(&mut self.stdin);
        let (stdin, stdout, stderr) = (
            group.child.stdin.take(),
            group.child.stdout.take(),
            group.child.stderr.take(),
        );
        let feed = async {
            if let Some(mut pipe) = stdin {
                // A program that does not read its input closes the pipe; its exit code says what it thinks of that.
                let _ = pipe.write_all(&input).await;
            }
        };
        let (ended, (), out, err) = tokio::join!(
            group.wait(self.limit, self.grace, &self.stop),
            feed,
            capped(stdout, self.cap),
            capped(stderr, self.cap)
        );
        let (out, err) = match files {
            Some((out, err)) => (read_back(out, self.cap), read_back(err, self.cap)),
            None => (out, err),
        };
        let ((status, was_stopped), (stdout, cut_out), (stderr, cut_err)) = (ended?, out?, err?);
        Ok(Ran {
            status,
            stdout,
            stderr,
            was_cut: cut_out || cut_err,
            was_stopped,
        })
    }

    /// Starts it with its input and output as streams, for what is too large or too slow to hold: no limit, no cap,
    /// and what it says on standard error is dropped. Dropping the output kills the whole process group.
    pub fn stream(self) -> io::Result<(ChildStdin, Output)> {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut group = Group::spawn(&mut command)?;
        let pipes = (group.child.stdin.take(), group.child.stdout.take());
        let (Some(stdin), Some(stdout)) = pipes else {
            return Err(io::Error::other("a program was started without its pipes"));
        };
        Ok((
            stdin,
            Output {
                stdout,
                _group: group,
            },
        ))
    }

    /// A leashed program outlives us for as long as it needs to write its state. A pipe that nobody reads any more
    /// would kill it first, so what it says goes into files that have no name.
    fn files_for(&self, command: &mut Command) -> io::Result<Option<(File, File)>> {
        if !self.is_leashed {
            return Ok(None);
        }
        let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
        command.stdout(out.try_clone()?).stderr(err.try_clone()?);
        Ok(Some((out, err)))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]).env_clear();
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        if let Some((uid, gid)) = self.account.map(Account::numbers) {
            // With these a process of root leaves its other groups too.
            command.uid(uid).gid(gid);
        }
        command.stdin(if self.stdin.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Finds a program by name in the folders of `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// What a started program writes; it lives as long as this.
pub struct Output {
    stdout: ChildStdout,
    _group: Group,
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdout).poll_read(context, buffer)
    }
}

/// A child in its own process group; its end, or dropping it, kills whatever is left of the group.
struct Group {
    child: Child,
    id: Pid,
}

impl Group {
    fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child
            .id()
            .and_then(|it| i32::try_from(it).ok())
            .expect("a child just started has an id");
        Ok(Self {
            child,
            id: Pid::from_raw(id),
        })
    }

    /// Waits for its end and kills what it leaves behind: a child of its own that lives on would hold the pipes open.
    async fn wait(
        &mut self,
        limit: Duration,
        grace: Duration,
        stop: &CancellationToken,
    ) -> io::Result<(ExitStatus, bool)> {
        let ended = self.wait_for_leader(limit, grace, stop).await;
        let _ = killpg(self.id, Signal::SIGKILL);
        ended
    }

    /// Past the limit or on `stop` interrupts the program itself, past the grace kills the group.
    async fn wait_for_leader(
        &mut self,
        limit: Duration,
        grace: Duration,
        stop: &CancellationToken,
    ) -> io::Result<(ExitStatus, bool)> {
        tokio::select! {
            status = self.child.wait() => return Ok((status?, false)),
            () = tokio::time::sleep(limit) => {}
            () = stop.cancelled() => {}
        }
        let _ = kill(self.id, Signal::SIGINT);
        if let Ok(status) = tokio::time::timeout(grace, self.child.wait()).await {
            return Ok((status?, true));
        }
        let _ = killpg(self.id, Signal::SIGKILL);
        Ok((self.child.wait().await?, true))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = killpg(self.id, Signal::SIGKILL);
    }
}

/// Reads what a program that has ended wrote: the first `cap` bytes, and whether there is more.
fn read_back(mut file: File, cap: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut kept = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.by_ref().take(cap as u64).read_to_end(&mut kept)?;
    Ok((kept, file.metadata()?.len() > cap as u64))
}

/// Reads to the end, keeps the first `cap` bytes, says whether more came: the program never blocks on a full pipe.
async fn capped(pipe: Option<impl AsyncRead + Unpin>, cap: usize) -> io::Result<(Vec<u8>, bool)> {
    let Some(mut pipe) = pipe else {
        return Ok((Vec::new(), false));
    };
    let (mut kept, mut cut, mut buffer) = (Vec::new(), false, vec![0; 16 << 10]);
    loop {
        let count = pipe.read(&mut buffer).await?;
        if count == 0 {
            return Ok((kept, cut));
        }
        let room = cap.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
        cut |= room < count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn output_past_the_cap_is_dropped_and_said() {
        let ran = Program::new("head")
            .args(["-c", "300000", "/dev/zero"])
            .cap(1000)
            .run()
            .await
            .unwrap();
        assert_eq!(
            (ran.stdout.len(), ran.was_cut, ran.code()),
            (1000, true, Some(0))
        );
    }

    #[tokio::test]
    async fn the_last_line_of_a_program_that_ends_at_once_is_kept() {
        let script = "head -c 5000000 /dev/zero; echo; echo last; echo why >&2; exit 1";
        let ran = Program::new("sh").args(["-c", script]).run().await.unwrap();
        assert!(ran.stdout.ends_with(b"\nlast\n"));
        assert_eq!((ran.complaint().as_str(), ran.code()), ("why", Some(1)));
    }

    #[tokio::test]
    async fn a_program_past_its_limit_is_stopped() {
        let ran = Program::new("sleep")
            .args(["60"])
            .limit(Duration::from_millis(50))
            .run()
            .await
            .unwrap();
        assert!(ran.was_stopped);
    }

    #[tokio::test]
    async fn what_a_program_leaves_behind_does_not_outlive_it() {
        let ran = Program::new("sh")
            .args(["-c", "sleep 600 & echo started"])
            .run()
            .await
            .unwrap();
        assert_eq!(
            (ran.code(), ran.stdout.as_slice()),
            (Some(0), &b"started\n"[..])
        );
    }

    #[tokio::test]
    async fn a_program_sees_only_the_environment_it_was_given() {
        let ran = Program::new("env").env("TIDE", "high").run().await.unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        assert!(text.contains("TIDE=high"));
        assert!(!text.contains("CARGO"), "{text}");
    }

    #[tokio::test]
    async fn a_program_reads_what_it_is_given() {
        let ran = Program::new("cat")
            .stdin(b"high water".to_vec())
            .run()
            .await
            .unwrap();
        assert_eq!(ran.stdout, b"high water");
    }
}
