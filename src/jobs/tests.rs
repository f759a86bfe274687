//! Jobs from their spec to their report: a real repository, a real tool, and a server that plays the runner API.

mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::*;
use crate::core::ids::Root;
use crate::core::plan::PlanResult;
use crate::engine::Tool;
use crate::jobs::tests::server::{Server, clear, clear_others, fail, wait};

/// At most two tools at once over these tests: the machine has two cores.
static TURNS: Semaphore = Semaphore::const_new(2);

/// The tools on this machine; a test that finds none says so, and fails where nothing may be skipped.
fn tools() -> Vec<Tool> {
    let found = engine::installed();
    if found.is_empty() {
        assert_ne!(
            std::env::var("CI").as_deref(),
            Ok("true"),
            "no terraform or tofu"
        );
        eprintln!("skipped: no terraform or tofu");
    }
    found
}

/// A repository with two commits, the server of one job about it, and the job's folder.
struct World {
    folder: TempDir,
    server: Server,
    tool: Tool,
}

impl World {
    /// The second commit brings these roots beside one that was there before.
    async fn new(tool: Tool, roots: &[(&str, &str)]) -> Self {
        let bring = |work: &Path| {
            roots
                .iter()
                .for_each(|(root, text)| write(work, root, text))
        };
        Self::bringing(tool, bring).await
    }

    /// The second commit brings what `bring` writes.
    async fn bringing(tool: Tool, bring: impl Fn(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        git(folder.path(), &["init", "-q", "-b", "main", "work"]);
        write(&work, "old", &resource("0"));
        let base = commit(&work);
        bring(&work);
        let head = commit(&work);
        git(
            folder.path(),
            &["clone", "-q", "--bare", "work", "repo.git"],
        );
        let server = Server::start(folder.path(), &base, &head).await;
        Self {
            folder,
            server,
            tool,
        }
    }

    /// Carries out a wave of these roots.
    async fn wave(&self, members: &[&str]) -> anyhow::Result<Outcome> {
        let members: Vec<Root> = members
            .iter()
            .map(|it| Root::try_from(*it).unwrap())
            .collect();
        self.server.state().work_on_wave(members);
        self.carry_out().await
    }

    async fn carry_out(&self) -> anyhow::Result<Outcome> {
        let _turn = TURNS.acquire().await.unwrap();
        let job = self.job_folder();
        fs::create_dir(&job).unwrap();
        let runner = Runner::new(self.server.url(), "t0ken".into()).unwrap();
        let options = JobOptions {
            folder: job,
            env: Vec::new(),
            tool: Some(self.tool.program.clone()),
            wrapper: None,
            stop: CancellationToken::new(),
        };
        carry_out(Arc::new(runner), &options).await
    }

    fn job_folder(&self) -> PathBuf {
        self.folder.path().join("job")
    }

    fn state_of(&self, root: &str) -> String {
        let path = self.folder.path().join(format!("{root}.tfstate"));
        fs::read_to_string(path).unwrap_or_default()
    }

    fn report(&self) -> Report {
        let ends = self.server.state().ends.clone();
        assert_eq!(ends.len(), 1, "a job ends once");
        ends[0].clone()
    }
}

fn git(dir: &Path, args: &[&str]) -> String {
    let ran = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// States stand outside the job's folder, `<job>/checkout/<root>/../../../<root>.tfstate`, unless the text says where.
fn write(work: &Path, root: &str, text: &str) {
    let mut text = text.to_owned();
    if !text.contains("backend") {
        let path = format!("../../../{root}.tfstate");
        text += &backend(&format!("\"local\" {{\n    path = \"{path}\"\n  }}"));
    }
    fs::create_dir_all(work.join(root)).unwrap();
    fs::write(work.join(root).join("main.tf"), text).unwrap();
}

fn backend(block: &str) -> String {
    format!("terraform {{\n  backend {block}\n}}\n")
}

fn commit(work: &Path) -> String {
    git(work, &["add", "-A"]);
    git(work, &["commit", "-q", "-m", "Change"]);
    git(work, &["rev-parse", "HEAD"])
}

fn resource(input: &str) -> String {
    format!("resource \"terraform_data\" \"it\" {{\n  input = {input}\n}}\n")
}

/// A root whose apply takes until it is interrupted.
fn endless() -> String {
    let command = "sleep 600";
    format!(
        "resource \"terraform_data\" \"it\" {{\n  provisioner \"local-exec\" {{\n    command = \"{command}\"\n  }}\n}}\n"
    )
}

#[tokio::test]
async fn a_wave_that_waits_applies_nothing_and_leaves_nothing() {
    for tool in tools() {
        let world = World::new(tool, &[("net", &resource("1"))]).await;
        world.server.state().answer = wait;
        assert_eq!(world.wave(&["net"]).await.unwrap(), Outcome::Waiting);
        assert_eq!(world.state_of("net"), "");
        assert_eq!(fs::read_dir(world.job_folder()).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_wave_whose_server_says_that_it_fails_says_why() {
    for tool in tools() {
        let world = World::new(tool, &[("net", &resource("local.nothing"))]).await;
        world.server.state().answer = fail;
        assert_eq!(world.wave(&["net"]).await.unwrap(), Outcome::Failed);
        let error = world.report().error.unwrap();
        assert!(
            error.contains("Reference to undeclared local value"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_cleared_wave_applies_what_it_asked_for() {
    for tool in tools() {
        let world = World::new(tool, &[("net", &resource("\"tide\""))]).await;
        world.server.state().answer = clear;
        assert_eq!(world.wave(&["net"]).await.unwrap(), Outcome::Done);
        assert!(world.state_of("net").contains("tide"));
        let applied = &world.report().applied;
        assert_eq!((applied.len(), &applied[0].error), (1, &None));
    }
}

#[tokio::test]
async fn other_plans_than_the_cleared_ones_are_not_applied() {
    for tool in tools() {
        let world = World::new(tool, &[("net", &resource("1"))]).await;
        world.server.state().answer = clear_others;
        assert_eq!(world.wave(&["net"]).await.unwrap(), Outcome::Failed);
        assert_eq!(world.state_of("net"), "");
        let error = world.report().error.unwrap();
        assert!(error.contains("nothing was applied"), "{error}");
    }
}

#[tokio::test]
async fn a_root_that_fails_to_apply_does_not_hold_up_another() {
    let bad = "resource \"terraform_data\" \"it\" {\n  provisioner \"local-exec\" {\n    command = \"echo s3cr3t; \
        exit 3\"\n  }\n}\n";
    for tool in tools() {
        let world = World::new(tool, &[("bad", bad), ("net", &resource("\"tide\""))]).await;
        world.server.state().answer = clear;
        assert_eq!(world.wave(&["bad", "net"]).await.unwrap(), Outcome::Failed);
        assert!(world.state_of("net").contains("tide"));
        assert_eq!(
            world.report().applied[0].error.as_deref(),
            Some(
                "Applying failed: local-exec provisioner error (bad/main.tf:2, terraform_data.it)."
            )
        );
    }
}

#[tokio::test]
async fn a_state_that_cannot_be_uploaded_outlives_the_job() {
    for tool in tools() {
        let server = server::start_full_store().await;
        let http = format!("\"http\" {{\n    address = \"{server}\"\n    retry_max = 0\n  }}");
        let world = World::new(tool, &[("net", &(backend(&http) + &resource("\"tide\"")))]).await;
        world.server.state().answer = clear;
        assert_eq!(world.wave(&["net"]).await.unwrap(), Outcome::Failed);
        let kept = world.job_folder().join("kept/net/errored.tfstate");
        assert!(fs::read_to_string(&kept).unwrap().contains("tide"));
        let error = world.report().applied[0].error.clone().unwrap();
        assert!(error.contains(&*kept.to_string_lossy()), "{error}");
    }
}

#[tokio::test]
async fn a_fetch_that_meets_a_server_which_restarts_is_made_again() {
    for tool in tools() {
        for (refused, outcome) in [(3, Outcome::Waiting), (4, Outcome::Failed)] {
            let world = World::new(tool.clone(), &[("net", &resource("1"))]).await;
            world.server.state().fetches_refused = refused;
            assert_eq!(world.wave(&["net"]).await.unwrap(), outcome, "{refused}");
        }
    }
}

#[tokio::test]
async fn an_end_reaches_a_server_that_restarts_after_the_gate() {
    for tool in tools() {
        let world = World::new(tool, &[("net", &resource("1"))]).await;
        world.server.state().answer = clear;
        world.server.state().ends_refused = 2;
        assert_eq!(world.wave(&["net"]).await.unwrap(), Outcome::Done);
        assert_eq!(world.report().outcome, Outcome::Done);
    }
}

#[tokio::test]
async fn an_order_to_stop_interrupts_an_apply_and_keeps_its_state() {
    for tool in tools() {
        let world = World::new(tool, &[("net", &endless())]).await;
        world.server.state().answer = clear;
        world.server.state().cancels_apply = true;
        assert_eq!(world.wave(&["net"]).await.unwrap(), Outcome::Failed);
        let report = world.report();
        assert!(report.cancelled);
        let error = report.applied[0].error.clone().unwrap();
        assert!(
            error.contains("It was interrupted, and wrote its state."),
            "{error}"
        );
        assert!(world.state_of("net").contains("terraform_data"));
    }
}

#[tokio::test]
async fn a_job_that_lost_its_lease_interrupts_its_apply() {
    for tool in tools() {
        let world = World::new(tool, &[("net", &endless())]).await;
        world.server.state().answer = clear;
        world.server.state().refuses_beats_of_apply = true;
        assert_eq!(world.wave(&["net"]).await.unwrap(), Outcome::Failed);
        let error = world.report().error.unwrap();
        assert!(error.contains("its lease was lost"), "{error}");
    }
}

#[tokio::test]
async fn a_plan_job_plans_what_the_change_reaches() {
    for tool in tools() {
        let world = World::new(tool, &[("net", &resource("1")), ("app", "locals {}\n")]).await;
        assert_eq!(world.carry_out().await.unwrap(), Outcome::Done);
        let report = world.report();
        let survey = report.survey.unwrap();
        assert_eq!(survey.estate.roots.len(), 3);
        let planned: Vec<&str> = report.plans.iter().map(|it| it.root.as_str()).collect();
        assert_eq!(planned, ["app", "net"]);
        let changes = |at: usize| match &report.plans[at].result {
            PlanResult::Made(draft) => draft.subject.changes.len(),
            PlanResult::Failed { .. } | PlanResult::Deferred { .. } => panic!("{:?}", report.plans),
        };
        assert_eq!((changes(0), changes(1)), (0, 1));
    }
}

#[tokio::test]
async fn a_change_that_moves_a_state_is_remarked() {
    let moved = backend("\"local\" {\n    path = \"../../../moved.tfstate\"\n  }");
    for tool in tools() {
        let roots = [("old", &*(resource("0") + &moved)), ("net", &resource("1"))];
        let world = World::new(tool, &roots).await;
        world.carry_out().await.unwrap();
        let plans = world.report().plans.into_iter();
        let remarked: Vec<String> = plans
            .filter(|it| match &it.result {
                PlanResult::Made(draft) => draft
                    .remarks
                    .iter()
                    .any(|it| it.text.contains("old.tfstate to `local`")),
                PlanResult::Failed { .. } | PlanResult::Deferred { .. } => panic!("{it:?}"),
            })
            .map(|it| it.root.to_string())
            .collect();
        assert_eq!(remarked, ["old"]);
    }
}

#[tokio::test]
async fn a_root_that_a_change_takes_away_is_said_with_its_state() {
    for tool in tools() {
        let bring = |work: &Path| fs::remove_dir_all(work.join("old")).unwrap();
        let world = World::bringing(tool, bring).await;
        world.carry_out().await.unwrap();
        let survey = world.report().survey.unwrap();
        let gone: Vec<_> = survey.taken_away.into_iter().collect();
        let (root, state) = &gone[0];
        assert_eq!(
            (gone.len(), root.as_str(), survey.reach.members.len()),
            (1, "old", 0)
        );
        assert!(
            state.as_ref().unwrap().key.ends_with("old.tfstate"),
            "{state:?}"
        );
    }
}

#[tokio::test]
async fn a_root_that_the_rules_no_longer_name_is_taken_away_too() {
    for tool in tools() {
        let bring =
            |work: &Path| fs::write(work.join("tidegate.yml"), "roots: [\"new/*\"]\n").unwrap();
        let world = World::bringing(tool, bring).await;
        world.carry_out().await.unwrap();
        let survey = world.report().survey.unwrap();
        let gone: Vec<_> = survey.taken_away.keys().map(Root::as_str).collect();
        assert_eq!(gone, ["old"]);
    }
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_said_by_its_name() {
    let tool = Tool {
        kind: crate::engine::EngineKind::Terraform,
        program: "/nowhere/terraform".into(),
        wrapper: None,
    };
    let world = World::new(tool, &[("net", &resource("1"))]).await;
    assert_eq!(world.carry_out().await.unwrap(), Outcome::Failed);
    let report = world.report();
    let PlanResult::Failed { why, .. } = &report.plans[0].result else {
        panic!("it has a plan");
    };
    assert!(
        why.contains("`/nowhere/terraform` cannot be started"),
        "{why}"
    );
}

#[tokio::test]
async fn a_job_plans_no_more_than_it_is_asked_for() {
    for tool in tools() {
        let world = World::new(tool, &[("net", &resource("1")), ("app", "locals {}\n")]).await;
        world.server.state().plan_only("app");
        world.carry_out().await.unwrap();
        let report = world.report();
        assert_eq!(report.plans.len(), 1);
        assert_eq!(report.survey.unwrap().reach.members.len(), 2);
    }
}

/// A commit that brings its own commands, and the roots they are for.
async fn with_own_commands() -> World {
    let told = format!(r#"{{"planDigest":"sha256:{}"}}"#, "7".repeat(64));
    let project = "roots: [\"envs/*\"]\ncommands:\n  plan: [cp, \"{target}/said.json\", \"{plan}\"]\n  \
        apply: [cp, \"{plan}\", \"../../{wave}-{op}\"]\n";
    let no_tool = Tool {
        kind: crate::engine::EngineKind::Terraform,
        program: "/bin/false".into(),
        wrapper: None,
    };
    World::bringing(no_tool, |work| {
        write(work, "envs/dev", &resource("1"));
        fs::write(work.join("envs/dev/said.json"), &told).unwrap();
        fs::write(work.join("tidegate.yml"), project).unwrap();
    })
    .await
}

#[tokio::test]
async fn a_commit_is_planned_with_the_commands_and_the_roots_that_it_brings_itself() {
    let world = with_own_commands().await;
    assert_eq!(world.carry_out().await.unwrap(), Outcome::Done);
    let report = world.report();
    let PlanResult::Made(draft) = &report.plans[0].result else {
        panic!("{report:?}")
    };
    let told = draft.subject.told.as_ref().unwrap();
    assert!(told.digest.hex().starts_with("777"), "{told:?}");
    assert_eq!(report.plans.len(), 1, "{report:?}");
}

#[tokio::test]
async fn a_cleared_wave_is_applied_with_the_commits_own_commands() {
    let world = with_own_commands().await;
    world.server.state().answer = clear;
    let outcome = world.wave(&["envs/dev"]).await.unwrap();
    assert_eq!(outcome, Outcome::Done, "{:?}", world.report());
    assert!(world.folder.path().join("wave-1-tf-apply").exists());
}
