//! A plan job over 50 roots beside the same commands started bare.
//!
//!     cargo bench --bench planning [-- terraform|tofu]
//!
//! One side is all of a plan job, from its start by a server to its report: it asks what to do, fetches the commit,
//! finds what it reaches, and runs init, plan and show of each root. The other runs these commands with `xargs -P` in a
//! clone that is there already. In each round both run, and who goes first takes turns.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod measure;
mod stage;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use tidegate::core::event::Lane;
use tidegate::core::ids::{Attempt, Pull, PullNumber, Sha};
use tidegate::core::job::{JobKey, JobSpec, Work};
use tidegate::store::JobState;

use measure::{median, print_machine, seconds};
use stage::{Stage, commit, git, repo};

const ROOTS: usize = 50;
const ROUNDS: u32 = 9;

/// What one root's commands are when they are started bare.
const BARE: &str = r#"cd "$1" && "$0" init -input=false -no-color >init.log &&
    { "$0" plan -input=false -no-color -detailed-exitcode -lock=false -out=plan >plan.log; [ $? = 2 ]; } &&
    "$0" show -json -no-color plan >plan.json"#;

#[tokio::main]
async fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let tool = given.iter().find(|it| !it.starts_with("--"));
    let tool = tool.map_or("terraform", String::as_str);
    let width = std::thread::available_parallelism().map_or(2, usize::from);
    print_machine(&format!(", {}, {width} at once", version(tool)));

    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("empty.tfrc"), "").unwrap();
    let env = env(scratch.path());
    let stage = Stage::start(&env).await;
    let origin = scratch.path().join("origin");
    fs::create_dir(&origin).unwrap();
    let base = commit(&origin, &[("README.md".to_owned(), String::new())]);
    let head = commit(&origin, &estate(tool));
    fs::create_dir_all(stage.mirror().parent().unwrap()).unwrap();
    let mirror = stage.mirror().display().to_string();
    git(&origin, &["clone", "--quiet", "--bare", ".", &mirror]);
    git(
        &origin,
        &[
            "--git-dir",
            &mirror,
            "config",
            "uploadpack.allowAnySHA1InWant",
            "true",
        ],
    );

    let mut ratios = Vec::new();
    for round in 0..=ROUNDS {
        let clone = scratch.path().join(format!("bare-{round}"));
        git(
            &origin,
            &["clone", "--quiet", ".", &clone.display().to_string()],
        );
        let spec = spec((&base, &head), round, width);
        let ours = job(&stage, &spec);
        let bare = seconds(bare(&clone, tool, &env, width));
        let (ours, bare) = if round % 2 == 0 {
            let ours = ours.await;
            (ours, bare.await)
        } else {
            let bare = bare.await;
            (ours.await, bare)
        };
        let ratio = ours / bare;
        let note = if round == 0 { " (not counted)" } else { "" };
        println!("round {round}: tidegate {ours:.2} s, bare {bare:.2} s, ratio {ratio:.3}{note}");
        if round > 0 {
            ratios.push(ratio);
        }
    }
    println!(
        "planning {ROOTS} roots: median ratio {:.3} (aim: at most 1.05)",
        median(&ratios)
    );
}

/// How long a whole plan job takes, in seconds, by the server's own record of it.
async fn job(stage: &Stage, spec: &JobSpec) -> f64 {
    let Work::Plan { pull, .. } = &spec.work else {
        panic!("a plan job is meant");
    };
    let jobs = &stage.store.jobs;
    let lane = Lane::of_pull(pull);
    jobs.add(spec, &lane, Timestamp::now()).await.unwrap();
    loop {
        let job = jobs.find(&spec.key).await.unwrap().unwrap();
        match job.state {
            JobState::Queued | JobState::Running => {
                tokio::time::sleep(Duration::from_millis(50)).await
            }
            JobState::Ended => {
                expect_success(stage).await;
                let took = job
                    .ended_at
                    .unwrap()
                    .duration_since(job.started_at.unwrap());
                return took.as_secs_f64();
            }
            JobState::Lost | JobState::Cancelled => panic!("{job:?}"),
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

/// Runs the same commands in a clone.
async fn bare(clone: &Path, tool: &str, env: &[(String, String)], width: usize) {
    let roots: Vec<String> = (0..ROOTS).map(root).collect();
    let ran = tokio::process::Command::new("xargs")
        .args(["-P", &width.to_string(), "-n", "1", "sh", "-c", BARE, tool])
        .current_dir(clone)
        .envs(env.iter().cloned())
        .stdin(list(clone, &roots))
        .status()
        .await
        .unwrap();
    assert!(ran.success(), "{ran}");
}

fn list(clone: &Path, roots: &[String]) -> Stdio {
    let file = clone.join("list");
    fs::write(&file, roots.join("\n")).unwrap();
    fs::File::open(file).unwrap().into()
}

fn root(number: usize) -> String {
    format!("roots/r{number:02}")
}

/// Roots of some resources each, none of which needs a provider from elsewhere.
fn estate(tool: &str) -> Vec<(String, String)> {
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
    let mut files: Vec<_> = (0..ROOTS)
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

/// What both sides get: no settings of an account, no calls home.
fn env(scratch: &Path) -> Vec<(String, String)> {
    let config = scratch.join("empty.tfrc").display().to_string();
    [
        ("TF_CLI_CONFIG_FILE", config),
        ("CHECKPOINT_DISABLE", "1".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn spec((base, head): (&Sha, &Sha), round: u32, width: usize) -> JobSpec {
    JobSpec {
        key: JobKey {
            part: format!("round-{round}"),
            attempt: Attempt(1),
        },
        repo: repo(),
        commit: head.clone(),
        base: base.clone(),
        work: Work::Plan {
            pull: Pull {
                repo: repo(),
                number: PullNumber(u64::from(round) + 1),
            },
            only: Vec::new(),
        },
        parallelism: u32::try_from(width).unwrap(),
    }
}

fn version(tool: &str) -> String {
    let ran = Command::new(tool).arg("version").output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    said.lines().next().unwrap_or_default().to_owned()
}
