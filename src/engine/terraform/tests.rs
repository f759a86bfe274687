//! Terraform and OpenTofu for real, on roots that need no provider: each claim holds for every tool on this machine.

mod digests;

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::*;
use crate::core::plan::{Action, PlanResult};
use crate::engine::{self, EngineKind};

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

/// A checkout with roots whose states stand outside it, so that several jobs share them.
struct Place {
    folder: tempfile::TempDir,
    checkout: Checkout,
    tool: Tool,
    _turn: SemaphorePermit<'static>,
}

impl Place {
    async fn new(tool: Tool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            checkout: Checkout::below(&folder.path().join("job-1")),
            folder,
            tool,
            _turn: TURNS.acquire().await.unwrap(),
        }
    }

    /// The same roots in the folder of another job.
    fn in_another_job(&self) -> Checkout {
        let mut other = Checkout::below(&self.folder.path().join("job-2"));
        other.files.clone_from(&self.checkout.files);
        fs::create_dir_all(other.dir.parent().unwrap()).unwrap();
        let copied = Command::new("cp")
            .arg("-r")
            .args([&self.checkout.dir, &other.dir])
            .status();
        assert!(copied.unwrap().success());
        other
    }

    fn write(&mut self, root: &str, text: &str) {
        let folder = self.checkout.dir.join(root);
        fs::create_dir_all(&folder).unwrap();
        let backend = format!(
            "terraform {{\n  backend \"local\" {{\n    path = \"../../../{root}.tfstate\"\n  }}\n}}\n"
        );
        let text = backend + text;
        fs::write(folder.join("main.tf"), &text).unwrap();
        self.checkout.files.insert(format!("{root}/main.tf"), text);
    }

    /// A repository that a root can fetch a module from; its address.
    fn module(&self, text: &str) -> String {
        let folder = self.folder.path().join("module");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("main.tf"), text).unwrap();
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        for args in [
            &["init", "-q"][..],
            &["add", "."],
            &["commit", "-q", "-m", "Module"],
        ] {
            let git = Command::new("git")
                .args(who)
                .args(args)
                .current_dir(&folder)
                .status();
            assert!(git.unwrap().success());
        }
        format!("git::file://{}", folder.display())
    }

    /// Applies a root as somebody at their desk would.
    fn apply_by_hand(&self, root: &str) {
        for args in [&["init"][..], &["apply", "-auto-approve"]] {
            let ran = Command::new(&self.tool.program)
                .args(args)
                .current_dir(self.checkout.dir.join(root))
                .env("TF_DATA_DIR", self.folder.path().join("by-hand").join(root))
                .env("CHECKPOINT_DISABLE", "1")
                .output();
            assert!(ran.unwrap().status.success());
        }
    }

    /// Lets a provider of this machine's own be installed, though not run.
    fn offer_a_provider(&mut self) {
        let machine = match std::env::consts::ARCH {
            "x86_64" => "linux_amd64",
            _ => "linux_arm64",
        };
        let mirror = self.folder.path().join("mirror");
        let folder = mirror.join("acme.example/lab/lab/1.0.0").join(machine);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("terraform-provider-lab_v1.0.0"), "").unwrap();
        let config = format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n"
        );
        let file = self.folder.path().join("mirror.tfrc");
        fs::write(&file, config).unwrap();
        let variable = ("TF_CLI_CONFIG_FILE".to_owned(), file.display().to_string());
        self.checkout.env.push(variable);
    }

    fn engine(&self) -> Terraform {
        Terraform::new(self.tool.clone())
    }

    async fn plan(&self, roots: &[&str]) -> Vec<Planned> {
        plan(&self.engine(), &self.checkout, roots).await
    }
}

async fn plan(engine: &Terraform, checkout: &Checkout, roots: &[&str]) -> Vec<Planned> {
    let members: Vec<Root> = roots
        .iter()
        .map(|it| Root::try_from(*it).unwrap())
        .collect();
    engine.plan(checkout, &members, Lock::Take).await.unwrap()
}

fn resource(input: &str) -> String {
    format!("resource \"terraform_data\" \"it\" {{\n  input = {input}\n}}\n")
}

fn replaced_with(input: &str) -> String {
    format!("resource \"terraform_data\" \"it\" {{\n  triggers_replace = {input}\n}}\n")
}

fn draft(planned: &Planned) -> &Draft {
    match &planned.result {
        PlanResult::Made(draft) => draft,
        PlanResult::Failed { why, detail } => panic!("{why}\n{detail}"),
        PlanResult::Deferred { waits_for } => panic!("waits for {waits_for:?}"),
    }
}

fn actions(planned: &Planned) -> Vec<&[Action]> {
    let changes = draft(planned).subject.changes.iter();
    changes.map(|it| it.actions.as_slice()).collect()
}

fn why(planned: &Planned) -> &str {
    match &planned.result {
        PlanResult::Failed { why, .. } => why,
        PlanResult::Made(_) | PlanResult::Deferred { .. } => panic!("{planned:?}"),
    }
}

#[tokio::test]
async fn a_plan_holds_what_applying_would_do() {
    for tool in tools() {
        let mut place = Place::new(tool).await;
        place.write("net", &replaced_with("\"one\""));
        let plans = place.plan(&["net"]).await;
        assert_eq!(actions(&plans[0]), [[Action::Create]]);
        place.apply_by_hand("net");
        assert_eq!(actions(&place.plan(&["net"]).await[0]).len(), 0);
        place.write("net", &replaced_with("\"two\""));
        let plans = place.plan(&["net"]).await;
        assert_eq!(actions(&plans[0]), [[Action::Delete, Action::Create]]);
    }
}

#[tokio::test]
async fn another_job_plans_the_same_subject() {
    let paths = "[path.cwd, path.module, abspath(path.module)]";
    for tool in tools() {
        let mut place = Place::new(tool).await;
        let source = place.module(&resource(paths));
        let module = format!("module \"it\" {{\n  source = \"{source}\"\n}}\n");
        place.write("net", &(resource(paths) + &module));
        let here = place.plan(&["net"]).await;
        let there = plan(&place.engine(), &place.in_another_job(), &["net"]).await;
        assert_eq!(actions(&here[0]).len(), 2);
        assert_eq!(here, there);
    }
}

#[tokio::test]
async fn what_a_provisioner_runs_is_in_the_subject_though_not_in_the_plan() {
    let root = |command: &str| {
        format!(
            "resource \"terraform_data\" \"it\" {{\n  provisioner \"local-exec\" {{\n    command = \"{command}\"\n  }}\n}}\n"
        )
    };
    for tool in tools() {
        let mut place = Place::new(tool).await;
        place.write("net", &root("echo ebb"));
        let ebb = place.plan(&["net"]).await;
        place.write("net", &root("echo flood"));
        let flood = place.plan(&["net"]).await;
        let (ebb, flood) = (&draft(&ebb[0]).subject, &draft(&flood[0]).subject);
        assert_eq!(ebb.changes, flood.changes);
        assert_ne!(ebb, flood);
    }
}

#[tokio::test]
async fn a_root_whose_state_would_go_with_the_job_is_previewed_but_not_planned_to_be_applied() {
    for tool in tools() {
        let place = Place::new(tool).await;
        fs::create_dir_all(place.checkout.dir.join("net")).unwrap();
        fs::write(place.checkout.dir.join("net/main.tf"), resource("1")).unwrap();
        let members = [Root::try_from("net").unwrap()];
        let engine = place.engine();
        let preview = engine.plan(&place.checkout, &members, Lock::Leave);
        let preview = preview.await.unwrap();
        let remarks = &draft(&preview[0]).remarks;
        assert!(
            remarks[0].text.starts_with("A wave will not apply it"),
            "{remarks:?}"
        );
        let plans = place.plan(&["net"]).await;
        assert!(
            why(&plans[0]).contains("give it a backend that stays"),
            "{plans:?}"
        );
    }
}

#[tokio::test]
async fn a_root_that_fails_does_not_hold_up_another() {
    for tool in tools() {
        let mut place = Place::new(tool).await;
        place.write("bad", &resource("local.nothing"));
        place.write("net", &resource("1"));
        let plans = place.plan(&["bad", "net"]).await;
        assert_eq!(
            why(&plans[0]),
            "Planning failed: Reference to undeclared local value (bad/main.tf:7)."
        );
        assert_eq!(actions(&plans[1]), [[Action::Create]]);
    }
}

#[tokio::test]
async fn a_root_that_reads_what_never_applied_waits_for_it() {
    let read = "data \"terraform_remote_state\" \"net\" {\n  backend = \"local\"\n  config = { path = \
        \"../../../net.tfstate\" }\n}\n";
    for tool in tools() {
        let mut place = Place::new(tool).await;
        place.write("net", &resource("1"));
        place.write("app", read);
        let (net, app) = (
            Root::try_from("net").unwrap(),
            Root::try_from("app").unwrap(),
        );
        let plans = place.plan(&["app", "net"]).await;
        let found = "Unable to find remote state (app/main.tf:6, data.terraform_remote_state.net).";
        assert!(why(&plans[0]).ends_with(found), "{plans:?}");
        place.checkout.reads = [(app, [net.clone()].into())].into();
        let plans = place.plan(&["app", "net"]).await;
        let waits_for = vec![net];
        assert_eq!(plans[0].result, PlanResult::Deferred { waits_for });
    }
}

#[tokio::test]
async fn a_tree_with_programs_for_the_tool_is_refused() {
    for tool in tools() {
        let mut place = Place::new(tool).await;
        for poison in [".terraform", "terraform.d"] {
            place.write(poison.trim_matches('.'), &resource("1"));
            let root = place.checkout.dir.join(poison.trim_matches('.'));
            fs::create_dir(root.join(poison)).unwrap();
        }
        for planned in place.plan(&["terraform", "terraform.d"]).await {
            assert!(
                why(&planned).contains("whose programs would run"),
                "{planned:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_provider_beside_the_locked_ones_is_refused_and_the_lock_file_stays_as_it_is() {
    let needs = "terraform {\n  required_providers {\n    lab = { source = \"acme.example/lab/lab\" }\n  }\n}\n";
    for tool in tools() {
        let mut place = Place::new(tool).await;
        place.offer_a_provider();
        place.write("net", needs);
        let lock = place.checkout.dir.join("net/.terraform.lock.hcl");
        fs::write(&lock, "# No provider is needed.\n").unwrap();
        let why = why(&place.plan(&["net"]).await[0]).to_owned();
        assert!(
            why.contains("Provider dependency changes detected"),
            "{why}"
        );
        let left = fs::read_to_string(&lock).unwrap();
        assert_eq!(left, "# No provider is needed.\n");
    }
}

#[tokio::test]
async fn a_root_that_leaves_the_repository_is_refused() {
    let mut place = Place::new(Tool {
        kind: EngineKind::Terraform,
        program: "/bin/false".into(),
        wrapper: None,
    })
    .await;
    place.write("net", "");
    std::os::unix::fs::symlink("/tmp", place.checkout.dir.join("out")).unwrap();
    std::os::unix::fs::symlink(
        "/etc/hosts",
        place.checkout.dir.join("net/.terraform.lock.hcl"),
    )
    .unwrap();
    for planned in place.plan(&["net", "out"]).await {
        assert!(
            why(&planned).contains("leaves the repository"),
            "{planned:?}"
        );
    }
}

#[tokio::test]
async fn no_more_than_the_width_runs_at_once() {
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |at: usize| {
        let (running, most) = (&running, &most);
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..10 - at {
                tokio::task::yield_now().await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
            at
        }
    };
    let ended = at_once(2, (0..10).map(work).collect()).await;
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(ended, (0..10).collect::<Vec<_>>());
}
