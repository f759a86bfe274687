//! Plan jobs that a server runs without a forge: an estate, its place in the server's mirror, a job and its end.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use tidegate::core::event::Lane;
use tidegate::core::ids::{Attempt, Pull, PullNumber, Sha};
use tidegate::core::job::{JobKey, JobSpec, Work};
use tidegate::store::JobState;

use super::{Stage, commit, git, repo};

/// An estate of roots in the mirror of a server, and how its jobs plan it.
pub(crate) struct Plans {
    base: Sha,
    head: Sha,
    width: usize,
}

impl Plans {
    /// Commits the estate in a folder that is there and empty, and puts it into the mirror of the server.
    pub(crate) fn new(
        stage: &Stage,
        origin: &Path,
        files: &[(String, String)],
        width: usize,
    ) -> Self {
        let base = commit(origin, &[("README.md".to_owned(), String::new())]);
        let head = commit(origin, files);
        fs::create_dir_all(stage.mirror().parent().unwrap()).unwrap();
        let mirror = stage.mirror().display().to_string();
        git(origin, &["clone", "--quiet", "--bare", ".", &mirror]);
        let allow = ["config", "uploadpack.allowAnySHA1InWant", "true"];
        git(origin, &[&["--git-dir", &mirror], &allow[..]].concat());
        Self { base, head, width }
    }

    /// How long a whole plan job takes, in seconds, by the server's own record of it.
    pub(crate) async fn job(&self, stage: &Stage, round: u32) -> f64 {
        let pull = Pull {
            repo: repo(),
            number: PullNumber(u64::from(round) + 1),
        };
        let spec = self.spec(&pull, round);
        let jobs = &stage.store.jobs;
        let lane = Lane::of_pull(&pull);
        jobs.add(&spec, &lane, Timestamp::now()).await.unwrap();
        loop {
            let job = jobs.find(&spec.key).await.unwrap().unwrap();
            match job.state {
                JobState::Queued | JobState::Running => {
                    tokio::time::sleep(Duration::from_millis(50)).await
                }
                JobState::Ended => {
                    expect_success(stage).await;
                    let started = job.started_at.unwrap();
                    return job.ended_at.unwrap().duration_since(started).as_secs_f64();
                }
                JobState::Lost | JobState::Cancelled => panic!("{job:?}"),
            }
        }
    }

    fn spec(&self, pull: &Pull, round: u32) -> JobSpec {
        JobSpec {
            key: JobKey {
                part: format!("round-{round}"),
                attempt: Attempt(1),
            },
            repo: repo(),
            commit: self.head.clone(),
            base: self.base.clone(),
            work: Work::Plan {
                pull: pull.clone(),
                only: Vec::new(),
            },
            parallelism: u32::try_from(self.width).unwrap(),
        }
    }
}

/// Every job so far has planned all its roots.
async fn expect_success(stage: &Stage) {
    for folder in fs::read_dir(stage.home.path().join("data/jobs")).unwrap() {
        let folder = folder.unwrap().path();
        while !folder.join("exit").exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let said = fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert_eq!(
            fs::read_to_string(folder.join("exit")).unwrap(),
            "0",
            "{said}"
        );
    }
}

/// Where a root of the estate is.
pub(crate) fn root(number: usize) -> String {
    format!("roots/r{number:02}")
}

/// Roots of some resources each, none of which needs a provider from elsewhere.
pub(crate) fn estate(tool: &str, roots: usize) -> Vec<(String, String)> {
    let text = |number: usize| {
        let backend = format!(
            "terraform {{\n  backend \"local\" {{\n    path = \"{number}.tfstate\"\n  }}\n}}\n"
        );
        let resource = |it: usize| {
            format!(
                "resource \"terraform_data\" \"r{it}\" {{\n  input = \"berth {it} of {number}\"\n}}\n"
            )
        };
        backend + &(0..8).map(resource).collect::<String>()
    };
    let mut files: Vec<_> = (0..roots)
        .map(|it| (format!("{}/main.tf", root(it)), text(it)))
        .collect();
    let named = if tool.contains("tofu") {
        ".opentofu-version"
    } else {
        ".terraform-version"
    };
    files.push((named.to_owned(), String::new()));
    files
}

/// What a job and the bare commands get: no settings of an account, no calls home.
pub(crate) fn env(scratch: &Path) -> Vec<(String, String)> {
    let config = scratch.join("empty.tfrc");
    fs::write(&config, "").unwrap();
    let config = config.display().to_string();
    [
        ("TF_CLI_CONFIG_FILE", config),
        ("CHECKPOINT_DISABLE", "1".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// What a tool calls itself.
pub(crate) fn version(tool: &str) -> String {
    let ran = Command::new(tool).arg("version").output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    said.lines().next().unwrap_or_default().to_owned()
}
