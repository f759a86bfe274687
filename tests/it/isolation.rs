//! What code of a pull request reaches of the server: a server of its own process, and a plan that spies on it.

use std::fs::{self, Permissions};
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use tidegate::core::hidden::Hidden;
use tidegate::process;

use crate::world::World;
use crate::world::estate;
use crate::world::server::free_address;
use crate::world::site::{REPO, SECRET, Site, token};

/// A user that owns nothing, and is on every machine.
const NOBODY: u32 = 65_534;

/// How long anything may take; then it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a spying plan says that it could read, in this order.
const SPIED: [&str; 5] = ["environment", "database", "key", "token", "log"];

/// A folder that other users can pass through, with our own program and the files of a server in it.
struct Home {
    folder: tempfile::TempDir,
    listen: SocketAddr,
    pages: SocketAddr,
}

/// A server in a process of its own, killed when it is dropped.
struct Server(Child);

impl Home {
    fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().unwrap(),
            listen: free_address(),
            pages: free_address(),
        };
        let bin = home.path("bin");
        fs::create_dir(&bin).unwrap();
        for folder in [home.folder.path(), &bin] {
            set_mode(folder, 0o711);
        }
        copy(
            Path::new(env!("CARGO_BIN_EXE_tidegate")),
            &bin.join("tidegate"),
        );
        for (file, text) in [("token", token("tide")), ("secret", SECRET.to_owned())] {
            fs::write(home.path(file), text).unwrap();
            set_mode(&home.path(file), 0o600);
        }
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_server_file(&self, forge: &str, executor: &str) {
        let (listen, pages) = (self.listen, self.pages);
        let text = format!(
            "public_url: http://{listen}\nlisten: {listen}\nlisten_pages: {pages}\ndata: data\nforges:\n  \
             - kind: github\n    url: {forge}\n    api_url: {forge}/api/v3\n    token_file: token\n    \
             webhook_secret_files: [secret]\n    repos: [{REPO}]\nexecutor: {executor}\n"
        );
        fs::write(self.path("tidegate-server.yml"), text).unwrap();
    }

    /// Our own program as a server, which finds in its environment what nobody else may read.
    fn serve(&self) -> Command {
        let mut command = Command::new(self.path("bin/tidegate"));
        command
            .args(["serve", "--config"])
            .arg(self.path("tidegate-server.yml"))
            .env_clear()
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.path("bin").display()),
            )
            .env("TIDEGATE_LOG", "trace")
            .env("TF_VAR_server", "only-the-server-knows")
            .env("TIDEGATE_KEY_OF_OLD", "only-the-server-knows")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Starts the server; it answers when this returns.
    async fn start(&self, mut command: Command) -> Server {
        let log = fs::File::create(self.path("server.log")).unwrap();
        set_mode(&self.path("server.log"), 0o600);
        let mut server = Server(command.stderr(log).spawn().unwrap());
        let ready = format!("http://{}/readyz", self.pages);
        let start = Instant::now();
        while !reqwest::get(&ready)
            .await
            .is_ok_and(|it| it.status().is_success())
        {
            let ended = server.0.try_wait().unwrap();
            let log = fs::read_to_string(self.path("server.log")).unwrap();
            assert!(ended.is_none() && start.elapsed() < PATIENCE, "{log}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server
    }

    /// Starts a server that must not start, and answers how it ended and what it said.
    async fn refused(&self, mut command: Command) -> (Option<i32>, String) {
        let mut server = Server(command.spawn().unwrap());
        let start = Instant::now();
        loop {
            if let Some(status) = server.0.try_wait().unwrap() {
                let mut said = String::new();
                let mut stderr = server.0.stderr.take().unwrap();
                stderr.read_to_string(&mut said).unwrap();
                return (status.code(), said);
            }
            assert!(start.elapsed() < PATIENCE, "the server starts");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Leaving in order it would wait for the forge, which cannot answer while a test waits here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Another process makes the copy: a file that a test's fork holds open for writing cannot be run.
fn copy(program: &Path, to: &Path) {
    let made = Command::new("install")
        .args(["-m", "755"])
        .args([program, to])
        .status();
    assert!(made.unwrap().success());
}

/// Whether we may start programs as other users; else what needs that is skipped, which `CI` does not allow.
fn is_root() -> bool {
    let is_root = geteuid().is_root();
    if !is_root {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "not root");
        println!("skipped: not root");
    }
    is_root
}

/// A server with its forge, and a pull request that it plans.
struct Stage {
    server: Server,
    site: Site,
    home: Home,
}

impl Stage {
    /// Starts a server whose jobs run under an executor.
    async fn start(executor: &str) -> Self {
        let home = Home::new();
        let site = Site::delivering_to(format!("http://{}/webhooks/github", home.listen)).await;
        home.write_server_file(&site.address, executor);
        if let Some(tool) = tidegate::engine::found_tool() {
            copy(&process::find(&tool).unwrap(), &home.path("bin").join(tool));
        }
        let server = home.start(home.serve()).await;
        site.push("ada", "main", "README.md").await;
        Self { server, site, home }
    }

    /// Opens a pull request that brings some files.
    async fn propose(&self, files: &[(&str, String)]) -> u64 {
        for (path, text) in files {
            let path = self.site.checkout().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.site.commit("Look around").await;
        self.site.publish("ada", REPO, "spy").await;
        self.site.open("ada", "spy").await
    }

    /// The line of the note that holds some words, once it is there.
    async fn line_with(&self, pull: u64, words: &str) -> String {
        let start = Instant::now();
        loop {
            let comments = self.site.comments(pull).await;
            let mut lines = comments.iter().flat_map(|(_, it)| it.lines());
            if let Some(line) = lines.find(|it| it.contains(words)) {
                return line.to_owned();
            }
            assert!(start.elapsed() < PATIENCE, "{comments:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Has a pull request's Terraform look at what the server keeps, under an executor; answers what it saw, in the order
/// of [`SPIED`].
async fn spied_with(executor: &str) -> Option<String> {
    estate::tool().filter(|_| is_root())?;
    let stage = Stage::start(executor).await;
    let home = &stage.home;
    let spied = [
        PathBuf::from(format!("/proc/{}/environ", stage.server.0.id())),
        home.path("data/tidegate.db"),
        home.path("data/key"),
        home.path("token"),
        home.path("server.log"),
    ];
    assert_eq!(spied.len(), SPIED.len());
    let pull = stage.propose(&[("spy/main.tf", spy(&spied))]).await;
    let line = stage.line_with(pull, "saw: ").await;
    Some(line.split('"').nth(1).unwrap().to_owned())
}

fn spy(paths: &[PathBuf]) -> String {
    format!(
        "terraform {{\n  backend \"local\" {{}}\n}}\noutput \"saw\" {{\n  \
         value = join(\" \", [for path in {paths:?} : can(filebase64(path)) ? \"open\" : \"closed\"])\n}}\n"
    )
}

#[tokio::test]
async fn a_plan_of_another_user_reads_nothing_of_the_server() {
    let executor = format!("{{user: nobody, apply_user: {}}}", NOBODY - 1);
    let Some(saw) = spied_with(&executor).await else {
        return;
    };
    assert_eq!(saw, ["closed"; SPIED.len()].join(" "), "{SPIED:?}");
}

#[tokio::test]
async fn a_plan_of_the_servers_own_user_reads_all_that_the_server_keeps() {
    let Some(saw) = spied_with("local").await else {
        return;
    };
    assert_eq!(saw, ["open"; SPIED.len()].join(" "), "{SPIED:?}");
}

#[tokio::test]
async fn a_plan_is_less_urgent_than_what_answers_the_forge() {
    if estate::tool().is_none() {
        return;
    }
    let stage = Stage::start("local").await;
    // The nineteenth word of a process's line there is how nice it is to others (proc_pid_stat(5)).
    let code = "terraform {\n  backend \"local\" {}\n}\noutput \"nice\" {\n  \
                value = \"nice: ${split(\" \", file(\"/proc/self/stat\"))[18]}\"\n}\n";
    let pull = stage.propose(&[("nice/main.tf", code.to_owned())]).await;
    let line = stage.line_with(pull, "nice: ").await;
    assert!(line.contains("nice: 10"), "{line}");
}

#[tokio::test]
async fn a_log_of_everything_holds_no_secret() {
    if estate::tool().is_none() {
        return;
    }
    let stage = Stage::start("local").await;
    let pull = stage.propose(&[("spy/main.tf", spy(&[]))]).await;
    stage.line_with(pull, "saw: ").await;
    let log = fs::read_to_string(stage.home.path("server.log")).unwrap();
    assert!(log.contains("TRACE") && log.contains("/api/v3/"), "{log}");
    let token = token("tide");
    let secrets = [token.as_str(), SECRET, "only-the-server-knows"];
    let hidden = Hidden::new(secrets.map(|it| (it, it)));
    let told: Vec<&str> = log.lines().filter(|it| hidden.are_in(it)).collect();
    assert!(told.is_empty(), "{told:#?}");
}

#[tokio::test]
async fn jobs_that_apply_have_a_user_of_their_own_and_none_has_another_group() {
    if !is_root() {
        return;
    }
    let stage = Stage::start(&format!("{{user: {NOBODY}, apply_user: {}}}", NOBODY - 1)).await;
    let seen = stage.home.path("seen");
    fs::create_dir(&seen).unwrap();
    set_mode(&seen, 0o777);
    let note = format!("touch \"{}/$0 $(id -u) $(id -G)\"\n", seen.display());
    let said = format!(
        "echo '{{\"planDigest\": \"sha256:{}\"}}' > \"$1\"\n",
        "7".repeat(64)
    );
    let commands =
        "roots: [spy]\ncommands:\n  plan: [sh, plan, \"{plan}\"]\n  apply: [sh, apply]\n";
    let files = [
        ("tidegate.yml", commands.to_owned()),
        ("spy/main.tf", String::new()),
        ("plan", note.clone() + &said),
        ("apply", note),
    ];
    let pull = stage.propose(&files).await;
    stage.line_with(pull, "777777777777").await;
    assert_eq!(names(&seen), ["plan 65534 65534"]);
    stage.site.publish("ada", REPO, "main").await;
    let start = Instant::now();
    while names(&seen).len() < 3 {
        assert!(start.elapsed() < PATIENCE, "{:?}", names(&seen));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let all = ["apply 65533 65533", "plan 65533 65533", "plan 65534 65534"];
    assert_eq!(names(&seen), all);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap());
    let mut names: Vec<String> = entries
        .map(|it| it.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_a_plan_leaves_behind_does_not_outlive_its_job() {
    let stage = Stage::start("local").await;
    // So long that nobody else sleeps as long.
    let long = format!("{}", 900_000_000 + stage.server.0.id());
    let commands =
        "roots: [spy]\ncommands:\n  plan: [sh, spy/plan.sh, \"{plan}\"]\n  apply: [\"true\"]\n";
    let said = format!("{{\"planDigest\": \"sha256:{}\"}}", "7".repeat(64));
    let plan = format!("setsid sleep {long} < /dev/null &\nsleep 0.1\necho '{said}' > \"$1\"\n");
    let files = [
        ("tidegate.yml", commands.to_owned()),
        ("spy/plan.sh", plan),
        ("spy/main.tf", String::new()),
    ];
    let pull = stage.propose(&files).await;
    stage.line_with(pull, "777777777777").await;
    let start = Instant::now();
    while let Some(left) = sleeper(&long) {
        if start.elapsed() > PATIENCE {
            kill(left, Signal::SIGKILL).unwrap();
            panic!("it lives on");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Who sleeps that long.
fn sleeper(long: &str) -> Option<Pid> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut numbers = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
    let sleeps = |id: &i32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line == format!("sleep\0{long}\0").as_bytes()
    };
    numbers.find(sleeps).map(Pid::from_raw)
}

#[tokio::test]
async fn a_servers_environment_is_closed_to_others_of_its_user() {
    let home = Home::new();
    home.write_server_file("http://127.0.0.1:1", "local");
    let data = home.path("data");
    fs::create_dir(&data).unwrap();
    let (mut serve, mut read) = (home.serve(), Command::new("cat"));
    if geteuid().is_root() {
        for path in ["token", "secret", "data"] {
            std::os::unix::fs::chown(home.path(path), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        serve.uid(NOBODY).gid(NOBODY);
        read.uid(NOBODY).gid(NOBODY);
    }
    let server = home.start(serve).await;
    let read = read
        .arg(format!("/proc/{}/environ", server.0.id()))
        .output();
    let read = read.unwrap();
    assert!(!read.status.success());
    assert_eq!(read.stdout, b"");
}

#[tokio::test]
async fn a_server_does_not_start_for_a_user_that_is_not_there() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    home.write_server_file("http://127.0.0.1:1", "{user: no-such-user}");
    let (code, said) = home.refused(home.serve()).await;
    assert_eq!(code, Some(2), "{said}");
    let wanted = "`executor.user`: there is no user no-such-user on this machine";
    assert!(said.contains(wanted), "{said}");
}

#[tokio::test]
async fn a_server_that_is_not_root_starts_no_job_as_another_user() {
    let home = Home::new();
    home.write_server_file("http://127.0.0.1:1", "{user: daemon}");
    let data = home.path("data");
    fs::create_dir(&data).unwrap();
    let mut serve = home.serve();
    if geteuid().is_root() {
        std::os::unix::fs::chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
        serve.uid(NOBODY).gid(NOBODY);
    }
    let (code, said) = home.refused(serve).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("only a server that runs as root"), "{said}");
}

#[tokio::test]
async fn a_server_does_not_start_with_a_secret_that_jobs_could_read() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    home.write_server_file("http://127.0.0.1:1", "{user: nobody}");
    set_mode(&home.path("secret"), 0o644);
    let (code, said) = home.refused(home.serve()).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("could read the secret in"), "{said}");
    assert!(said.contains("/secret: close it"), "{said}");
}

#[tokio::test]
async fn a_server_does_not_start_where_its_jobs_could_not_work() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    home.write_server_file("http://127.0.0.1:1", "{user: nobody}");
    set_mode(home.folder.path(), 0o700);
    let (code, said) = home.refused(home.serve()).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("is closed to it"), "{said}");
}

#[tokio::test]
async fn a_secret_that_a_plan_prints_is_shown_in_no_form() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let change = estate::prints_a_password("network");
    let pull = world.open("print the password", change).await;
    let note = world.note(&pull).await;
    assert!(note.contains("`network` | updates 1"), "{note}");
    let change = estate::fails_with_a_password("network");
    world.push_to(&pull, change).await;
    let note = world.note(&pull).await;
    assert!(note.contains("no: [TF_VAR_password]"), "{note}");
    // What is told is looked at in the end.
    world.end().await;
}

#[test]
fn every_test_that_the_docs_name_is_there() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["docs/security.md", "docs/failures.md"]
        .map(|it| fs::read_to_string(package.join(it)).unwrap());
    let named = pages.iter().flat_map(|it| it.split('`').skip(1).step_by(2));
    let named: Vec<&str> = named
        .filter(|it| it.matches('_').count() >= 3 && !it.contains(char::is_uppercase))
        .collect();
    assert!(named.len() > 20, "{named:?}");
    let texts: String = ["src", "tests/it"]
        .iter()
        .flat_map(|folder| texts(&package.join(folder)))
        .collect();
    let is_missing = |it: &&&str| !it.ends_with('…') && !texts.contains(&format!("fn {it}("));
    let missing: Vec<_> = named.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn texts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let below = |path: PathBuf| {
        if path.is_dir() {
            texts(&path)
        } else {
            vec![fs::read_to_string(path).unwrap()]
        }
    };
    entries.flat_map(below).collect()
}
