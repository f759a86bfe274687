//! The local executor with a script in place of our own program.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::core::ids::{
    Attempt, ForgeHost, Op, Pull, PullNumber, Repo, RepoId, RepoName, RolloutId, Sha, WaveNumber,
};
use crate::core::job::Work;

/// An executor whose jobs are a script in place of our own program.
struct Place {
    folder: tempfile::TempDir,
    local: Local,
}

impl Place {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (text, program) = (folder.path().join("script"), folder.path().join("tidegate"));
        fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        // Another process makes the program: a file that a test's fork holds open for writing cannot be run.
        let made = std::process::Command::new("install")
            .args(["-m", "755"])
            .args([&text, &program])
            .status();
        assert!(made.unwrap().success());
        let local = Self::open(folder.path(), program);
        Self { folder, local }
    }

    fn open(folder: &Path, program: PathBuf) -> Local {
        Local::open(LocalOptions {
            program,
            server: "http://127.0.0.1:4141/".parse().unwrap(),
            folder: folder.join("jobs"),
            plan_env: Vec::new(),
            apply_env: vec![("CLOUD_KEY".to_owned(), "k3y".to_owned())],
            plan_account: None,
            apply_account: None,
            grace: Duration::from_millis(20),
        })
        .unwrap()
    }

    /// The executor as a restarted server has it.
    fn reopen(&self) -> Local {
        Self::open(self.folder.path(), self.folder.path().join("tidegate"))
    }

    /// The same, which kills nobody.
    fn reopen_patiently(&self) -> Local {
        let mut local = self.reopen();
        local.options.grace = Duration::from_secs(600);
        local
    }

    async fn start(&self, job: &JobSpec) {
        let token = SecretString::from("t0ken");
        self.local.start(job, &token).await.unwrap();
    }

    /// A file that the server wrote of a job, or else one that the job wrote.
    fn read(&self, job: &JobSpec, file: &str) -> String {
        let folder = self.local.folder_of(&job.key);
        let text = fs::read_to_string(folder.join(file));
        text.or_else(|_| fs::read_to_string(folder.join(WORK).join(file)))
            .unwrap_or_default()
    }

    /// Waits for a file of a job's folder to hold a whole line.
    async fn written(&self, job: &JobSpec, file: &str) -> String {
        until(|| self.read(job, file).ends_with('\n')).await;
        self.read(job, file)
    }

    async fn ended(&self, job: &JobSpec) -> String {
        until(|| !self.read(job, EXIT).is_empty()).await;
        self.read(job, EXIT)
    }
}

async fn until(holds: impl Fn() -> bool) {
    let poll = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), poll)
        .await
        .expect("what the test waits for happens");
}

fn job(attempt: u32) -> JobSpec {
    let sha = Sha::try_from("a".repeat(40)).unwrap();
    JobSpec {
        key: JobKey {
            part: "r1/wave-2".to_owned(),
            attempt: Attempt(attempt),
        },
        repo: Repo {
            forge: ForgeHost::try_from("github.com").unwrap(),
            id: RepoId(1),
            name: RepoName::try_from("acme/infra").unwrap(),
        },
        commit: sha.clone(),
        base: sha,
        work: Work::Wave {
            rollout: RolloutId::try_from("r1").unwrap(),
            op: Op::tf_apply(),
            wave: WaveNumber(2),
            members: Vec::new(),
        },
        parallelism: 1,
    }
}

#[tokio::test]
async fn a_job_gets_its_token_where_no_other_process_can_read_it() {
    let place = Place::new("env > env; echo \"$@\" > args; cat > token; echo >> token");
    place.start(&job(1)).await;
    assert_eq!(place.written(&job(1), "token").await, "t0ken\n");
    assert_eq!(place.read(&job(1), "args"), "job\n");
    let env = place.read(&job(1), "env");
    assert!(!env.contains("t0ken"), "{env}");
}

#[tokio::test]
async fn a_job_sees_the_names_its_work_may_see_and_no_others() {
    let place = Place::new("tr '\\0' '\\n' < /proc/self/environ > env");
    let names = async |job: JobSpec| {
        place.start(&job).await;
        place.ended(&job).await;
        let env = place.read(&job, "env");
        let names = env.lines().filter_map(|it| it.split('=').next());
        let mut ours: Vec<String> = names
            .filter(|it| !["PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE"].contains(it))
            .map(str::to_owned)
            .collect();
        ours.sort_unstable();
        ours
    };
    let plans = JobSpec {
        work: Work::Plan {
            pull: Pull {
                repo: job(1).repo,
                number: PullNumber(1),
            },
            only: Vec::new(),
        },
        ..job(2)
    };
    let applies = ["CLOUD_KEY", "TIDEGATE_PASS", "TIDEGATE_SERVER"];
    assert_eq!(names(job(1)).await, applies);
    assert_eq!(names(plans).await, applies[1..]);
}

#[tokio::test]
async fn a_job_is_started_once_a_key() {
    let place = Place::new("echo started >> ../../../starts");
    for attempt in [1, 1, 2] {
        place.start(&job(attempt)).await;
        place.ended(&job(attempt)).await;
    }
    let starts = fs::read_to_string(place.folder.path().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 2);
}

#[tokio::test]
async fn a_job_that_cannot_be_started_can_be_started_again() {
    let place = Place::new("true");
    let program = place.folder.path().join("tidegate");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    let token = SecretString::from("t0ken");
    assert!(place.local.start(&job(1), &token).await.is_err());
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    place.start(&job(1)).await;
    assert_eq!(place.ended(&job(1)).await, "0");
}

#[tokio::test]
async fn a_restarted_server_finds_its_jobs_and_can_stop_them() {
    let place = Place::new("echo ready > ready; exec sleep 600");
    place.start(&job(1)).await;
    place.written(&job(1), "ready").await;
    let again = place.reopen_patiently();
    assert_eq!(again.look(&job(1).key).await.unwrap(), Seen::Alive);
    again.cancel(&job(1).key).await.unwrap();
    assert_eq!(place.ended(&job(1)).await, "signal");
    assert_eq!(again.look(&job(1).key).await.unwrap(), Seen::Gone);
}

#[tokio::test]
async fn a_job_deaf_to_interrupts_is_killed_with_all_it_started() {
    let place = Place::new(
        "exec setsid sh -c 'trap \"\" INT; sleep 600 & echo $! > child; echo ready > ready; wait'",
    );
    place.start(&job(1)).await;
    place.written(&job(1), "ready").await;
    place.local.cancel(&job(1).key).await.unwrap();
    assert_eq!(place.ended(&job(1)).await, "signal");
    let child = format!("/proc/{}/stat", place.read(&job(1), "child").trim());
    until(|| fs::read_to_string(&child).map_or(true, |it| it.contains(") Z "))).await;
}

#[tokio::test]
async fn a_job_whose_server_died_while_it_was_started_is_started_by_the_next() {
    let place = Place::new("echo started");
    let folder = place.local.folder_of(&job(1).key);
    // What is there when the server dies before it wrote down which process it is.
    fs::create_dir_all(folder.join(WORK)).unwrap();
    fs::write(folder.join(LOG), "").unwrap();
    fs::write(folder.join(WRITTEN), "4").unwrap();
    let again = place.reopen();
    let key = job(1).key;
    assert_eq!(again.look(&key).await.unwrap(), Seen::Unstarted);
    place.start(&job(1)).await;
    assert_eq!(place.ended(&job(1)).await, "0");
    assert_eq!(place.read(&job(1), LOG), "started\n");
}

#[tokio::test]
async fn a_link_that_a_job_leaves_leads_the_server_to_no_other_file() {
    let link = "ln -s ../../../victim/file exit; ln -s ../../../victim/file process; ln -s ../../../victim dir";
    let place = Place::new(&format!("{link}; exit 1"));
    let victim = place.folder.path().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "precious").unwrap();
    place.start(&job(1)).await;
    let exit = place.local.folder_of(&job(1).key).join(EXIT);
    until(|| fs::read_to_string(&exit).is_ok_and(|it| it == "1")).await;
    place.local.sweep(Timestamp::MAX).await.unwrap();
    let work = place.local.folder_of(&job(1).key).join(WORK);
    assert_eq!(fs::read_dir(work).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "precious");
}

#[tokio::test]
async fn of_old_jobs_only_the_logs_of_failed_ones_stay() {
    let place = Place::new("mkdir scratch; read token; exit ${#token}");
    for (attempt, token) in [(1, ""), (2, "x"), (3, "")] {
        let token = SecretString::from(token);
        place.local.start(&job(attempt), &token).await.unwrap();
        place.ended(&job(attempt)).await;
    }
    let kept = place.local.folder_of(&job(3).key).join(WORK).join(KEPT);
    fs::create_dir(kept).unwrap();
    place.local.sweep(Timestamp::MIN).await.unwrap();
    assert!(place.local.folder_of(&job(1).key).exists());
    place.local.sweep(Timestamp::MAX).await.unwrap();
    let left = |attempt| {
        let folder = place.local.folder_of(&job(attempt).key);
        let mut names: Vec<_> = [folder.clone(), folder.join(WORK)]
            .into_iter()
            .flat_map(fs::read_dir)
            .flatten()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(left(1), [""; 0]);
    assert_eq!(left(2), [EXIT, LOG, PROCESS, WORK]);
    assert_eq!(left(3), [EXIT, KEPT, LOG, PROCESS, WORK]);
}

#[tokio::test]
async fn the_folder_of_a_job_that_lives_is_left_as_it_is() {
    let place = Place::new("echo ready > ready; exec sleep 600");
    place.start(&job(1)).await;
    place.written(&job(1), "ready").await;
    place.local.sweep(Timestamp::MAX).await.unwrap();
    assert_eq!(place.read(&job(1), "ready"), "ready\n");
    place.local.cancel(&job(1).key).await.unwrap();
    place.ended(&job(1)).await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_cleared_away_keeps_no_other_from_it() {
    let place = Place::new("read token; exit 0");
    place.start(&job(1)).await;
    place.ended(&job(1)).await;
    let jobs = place.folder.path().join("jobs");
    for stray in ["0", "z"] {
        fs::write(jobs.join(format!("{stray}-file")), "").unwrap();
        fs::create_dir(jobs.join(format!("{stray}-folder"))).unwrap();
        fs::write(jobs.join(format!("{stray}-folder/{PROCESS}")), "nonsense").unwrap();
    }
    let error = place.local.sweep(Timestamp::MAX).await.unwrap_err();
    assert!(error.to_string().contains("-folder"), "{error}");
    assert!(!place.local.folder_of(&job(1).key).exists());
}
