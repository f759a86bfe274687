//! What `tidegate plan` shows of a checkout, and that it is what a server would say.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tidegate::core::gate::facts::Member;
use tidegate::core::ids::{Digest, Root};
use tidegate::core::plan::digest::set_digest;

use crate::cli::{Ran, check, run, tidegate};
use crate::world::World;
use crate::world::estate::keeps_a_password;
use crate::world::server::PASSWORD;
use crate::world::site::token;

/// Three roots in two waves, planned by a script.
const RULES: &str = "\
roots: [\"*\"]
waves:
  after:
    app: [network]
commands:
  plan: [./bin/plan, \"{target}\", \"{plan}\"]
  apply: [./bin/apply, \"{plan}\"]
";
/// Plans what a root's file says: a digest made of it, and what else stands in it.
const PLAN: &str = r#"#!/bin/sh
if grep -q broken "$1/wanted"; then echo "no such harbour" >&2; exit 1; fi
digest=$(sha256sum < "$1/wanted" | cut -c1-64)
if grep -q same "$1/wanted"; then empty=true; else empty=false; fi
echo "{\"planDigest\": \"jcs1-sha256:$digest\", \"destructive\": false, \"empty\": $empty}" > "$2"
"#;

/// A checkout with a first commit and a second one that changes the network.
struct Checkout(TempDir);

impl Checkout {
    fn new() -> Self {
        let checkout = Self(tempfile::tempdir().unwrap());
        checkout.git(&["init", "-q", "-b", "main"]);
        checkout.write("tidegate.yml", RULES);
        checkout.write("bin/plan", PLAN);
        let plan = checkout.path().join("bin/plan");
        fs::set_permissions(plan, fs::Permissions::from_mode(0o755)).unwrap();
        for root in ["app", "network", "storage"] {
            let wanted = if root == "app" { "same\n" } else { "1\n" };
            checkout.write(&format!("{root}/wanted"), wanted);
            checkout.write(&format!("{root}/main.tf"), "");
        }
        checkout.commit();
        checkout.change("network/wanted", "2\n");
        checkout
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn change(&self, path: &str, text: &str) {
        self.write(path, text);
        self.commit();
    }

    /// The same files make the same commit.
    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "-m", "Deepen the harbour"]);
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .envs(["AUTHOR", "COMMITTER"].map(|it| (format!("GIT_{it}_NAME"), "ada")))
            .envs(["AUTHOR", "COMMITTER"].map(|it| (format!("GIT_{it}_EMAIL"), "ada@acme.example")))
            .envs(["AUTHOR", "COMMITTER"].map(|it| (format!("GIT_{it}_DATE"), "1796000000 +0000")))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn plan(&self, arguments: &[&str]) -> Ran {
        run(self.path(), &[&["plan"], arguments].concat())
    }
}

#[test]
fn waves_digests_and_radius_are_shown_and_progress_is_not_among_them() {
    let checkout = Checkout::new();
    let ran = checkout.plan(&[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    check("plan.txt", &ran.stdout);
    assert!(
        ran.stderr.contains("planning 2 roots (2 done)"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_waves_digest_is_the_set_digest_of_its_plans() {
    let checkout = Checkout::new();
    let said = checkout.plan(&["--json"]).json();
    let wave = &said["waves"][0];
    let run = &wave["runs"][0];
    let digest = |text: &serde_json::Value| Digest::try_from(text.as_str().unwrap()).unwrap();
    let member = Member {
        member: Root::try_from(run["root"].as_str().unwrap()).unwrap(),
        plan_digest: digest(&run["digest"]),
    };
    assert_eq!(digest(&wave["digest"]), set_digest(&[member]).unwrap());
    assert_eq!(said["waves"].as_array().unwrap().len(), 2);
}

#[test]
fn a_plan_leaves_nothing_but_the_report_it_was_asked_for() {
    let checkout = Checkout::new();
    let ran = checkout.plan(&["--report", "report.json"]);
    assert_eq!(checkout.git(&["status", "--porcelain"]), "?? report.json\n");
    let report = fs::read_to_string(checkout.path().join("report.json")).unwrap();
    let again = checkout.plan(&["--json"]);
    assert_eq!(report, again.stdout);
    assert!(ran.stdout.contains("wave 1"), "{}", ran.stdout);
}

#[test]
fn what_is_not_committed_is_not_planned_and_said() {
    let checkout = Checkout::new();
    let before = checkout.plan(&["--json"]).stdout;
    checkout.write("network/wanted", "3\n");
    let ran = checkout.plan(&["--json"]);
    assert_eq!(ran.stdout, before);
    assert!(
        ran.stderr
            .contains("what is not committed here is not planned"),
        "{}",
        ran.stderr
    );
}

#[test]
fn some_roots_may_be_left_out_and_their_wave_then_has_no_digest() {
    let checkout = Checkout::new();
    checkout.change("app/wanted", "2\n");
    let said = checkout
        .plan(&["--json", "--base", "HEAD~2", "--root", "app/"])
        .json();
    assert_eq!(said["waves"][0]["runs"][0]["result"], "left");
    assert!(said["waves"][0]["digest"].is_null());
    assert!(said["waves"][1]["digest"].is_string());
}

#[test]
fn a_change_is_compared_with_the_revision_that_is_named() {
    let checkout = Checkout::new();
    checkout.change("storage/wanted", "2\n");
    let waves = |arguments: &[&str]| {
        checkout
            .plan(arguments)
            .stdout
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    assert!(
        waves(&[]).contains("reaches 1 root in 1 wave"),
        "{}",
        waves(&[])
    );
    let whole = waves(&["--base", "HEAD~2"]);
    assert!(whole.contains("reaches 3 roots in 2 waves"), "{whole}");
    let none = waves(&["--base", "HEAD"]);
    assert!(none.contains("reaches no root"), "{none}");
}

#[test]
fn a_root_that_is_taken_away_is_told() {
    let checkout = Checkout::new();
    checkout.git(&["rm", "-rq", "storage"]);
    checkout.commit();
    let ran = checkout.plan(&[]);
    assert!(
        ran.stdout
            .contains("storage is taken away: nothing of it is destroyed"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_plan_that_fails_is_told_and_one_is_the_exit_code() {
    let checkout = Checkout::new();
    checkout.change("network/wanted", "broken\n");
    let ran = checkout.plan(&[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    check("plan-failed.txt", &ran.stdout);
}

#[test]
fn what_cannot_be_asked_is_refused_with_two() {
    let checkout = Checkout::new();
    for (arguments, said) in [
        (
            &["--base", "nowhere"][..],
            "there is no commit `nowhere` to compare with",
        ),
        (&["--base=--all"], "there is no commit `--all`"),
        (
            &["--root", "netwrok"],
            "`netwrok` is not a root of this repository. Its roots are `app`, `network`, `storage`.",
        ),
        (
            &["--root", "storage"],
            "This change does not reach `storage`",
        ),
    ] {
        let ran = checkout.plan(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    let nowhere = tempfile::tempdir().unwrap();
    let ran = run(nowhere.path(), &["plan"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("not in a git repository"),
        "{}",
        ran.stderr
    );
    checkout.change("tidegate.yml", "gaet: never\n");
    let ran = checkout.plan(&[]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("tidegate.yml:1:1: gaet"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_plans_gets_the_variables_of_whoever_asks_and_no_key_of_ours() {
    let checkout = Checkout::new();
    let spy = format!(
        "{PLAN}if env | grep -q TF_VAR_a && ! env | grep -q TIDEGATE_KEY; then exit 0; fi; exit 7\n"
    );
    checkout.change("bin/plan", &spy);
    checkout.change("network/wanted", "3\n");
    let output = tidegate(checkout.path(), &["plan"])
        .env("TIDEGATE_KEY", "7".repeat(64))
        .env("TF_VAR_a", "1")
        .output();
    let ran: Ran = output.unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_followed_is_told_below_the_plans() {
    let checkout = Checkout::new();
    let text = "terraform {\n  backend \"local\" {}\n}\nmodule \"m\" {\n  source = var.where\n}\n";
    checkout.change("app/main.tf", text);
    let ran = checkout.plan(&[]);
    assert!(
        ran.stdout.contains("\nwarnings about who reads whom:\n  "),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_key_that_is_none_is_refused() {
    let checkout = Checkout::new();
    let output = tidegate(checkout.path(), &["plan"])
        .env("TIDEGATE_KEY", "hunter2")
        .output();
    let ran: Ran = output.unwrap().into();
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("64 hex digits") && !ran.stderr.contains("hunter2"),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn with_the_servers_key_the_digests_are_the_servers_and_without_it_there_are_none() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .open("keep a password", keeps_a_password("network"))
        .await;
    let note = world.note(&pull).await;
    // The forge of a world lives in this process, so nothing here may block it.
    let plan = async |key: Option<String>| {
        let mut command = tidegate(
            &world.site.checkout(),
            &["plan", "--json", "--base", "forge/main"],
        );
        command
            .env("TF_HTTP_USERNAME", "tide")
            .env("TF_HTTP_PASSWORD", token("tide"))
            .env("TF_VAR_password", PASSWORD)
            .env("CHECKPOINT_DISABLE", "1")
            .envs(key.map(|it| ("TIDEGATE_KEY", it)));
        Ran::from(
            tokio::process::Command::from(command)
                .output()
                .await
                .unwrap(),
        )
    };
    let with_key = plan(Some(world.key())).await;
    assert!(with_key.json()["key"].is_string(), "{}", with_key.stdout);
    let digest = with_key.json()["waves"][0]["digest"]
        .as_str()
        .unwrap()
        .to_owned();
    let digest = Digest::try_from(digest).unwrap();
    assert!(
        note.contains(&format!("`{}`", digest.short())),
        "{digest} is not in {note}"
    );
    assert!(!with_key.stdout.contains(PASSWORD), "{}", with_key.stdout);
    let without = plan(None).await.json();
    assert!(without["waves"][0]["digest"].is_null(), "{without:#}");
    assert!(
        without["waves"][0]["runs"][0]["digest"].is_null(),
        "{without:#}"
    );
    assert!(without["key"].is_null(), "{without:#}");
    world.end().await;
}
