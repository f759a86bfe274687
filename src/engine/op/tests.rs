//! The op engine as its contract has it: repeatable plans, one apply of exactly what was cleared, failures that say why.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::core::gate::admit::admit;
use crate::core::ids::{Digest, WaveNumber};
use crate::core::job::{Clearance, ClearedMember};
use crate::core::plan::digest::subject_sha256;

/// A checkout whose program `./tide` plans a root's `wanted` against its state, and applies what it planned.
struct Place {
    _folder: tempfile::TempDir,
    checkout: Checkout,
}

const TIDE: &str = r#"#!/bin/sh
set -e
echo "$0 $*" >> calls
case "$1" in
plan)
    test -f "$2/wanted"
    digest=$(cat "$2/wanted" | sha256sum | cut -c1-64)
    empty=false
    cmp -s "$2/wanted" "$2/state" && empty=true
    printf '{"planDigest":"jcs1-sha256:%s","destructive":false,"empty":%s,"wanted":"%s"}' \
        "$digest" "$empty" "$(cat "$2/wanted")" > "$3"
    ;;
apply) sed 's/.*"wanted":"\(.*\)"}/\1/' "$3" > "$2/state" ;;
fail) echo "no tide today: $SECRET" >&2; exit 3 ;;
write) printf '%s' "$3" > "$2" ;;
esac
"#;

impl Place {
    fn new(roots: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut checkout = Checkout::below(folder.path());
        for root in roots {
            fs::create_dir_all(checkout.dir.join(root)).unwrap();
            fs::write(checkout.dir.join(root).join("wanted"), "low").unwrap();
            checkout.waves.insert(named(root), WaveNumber(2));
        }
        let program = checkout.dir.join("tide");
        fs::write(&program, TIDE).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            _folder: folder,
            checkout,
        }
    }

    fn want(&self, root: &str, wanted: &str) {
        fs::write(self.checkout.dir.join(root).join("wanted"), wanted).unwrap();
    }

    fn state(&self, root: &str) -> Option<String> {
        let state = fs::read_to_string(self.checkout.dir.join(root).join("state"));
        state.ok()
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.checkout.dir.join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    async fn plan(&self, engine: &OwnCommands, roots: &[&str]) -> Vec<Planned> {
        let members: Vec<Root> = roots.iter().map(|it| named(it)).collect();
        let plans = engine.plan(&self.checkout, &members, Lock::Take).await;
        plans.unwrap()
    }

    async fn apply(&self, engine: &OwnCommands, plans: Vec<Planned>) -> Vec<Applied> {
        let cleared = cleared(plans);
        engine.apply(&self.checkout, &cleared).await.unwrap()
    }
}

fn named(root: &str) -> Root {
    Root::try_from(root).unwrap()
}

fn engine(plan: &[&str], apply: &[&str]) -> OwnCommands {
    let argv = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect();
    let commands = Commands {
        plan: argv(plan),
        apply: argv(apply),
    };
    OwnCommands::new(commands, None)
}

fn tide() -> OwnCommands {
    engine(
        &["./tide", "plan", "{target}", "{plan}"],
        &["./tide", "apply", "{target}", "{plan}"],
    )
}

fn told(planned: &Planned) -> &Told {
    match &planned.result {
        PlanResult::Made(draft) => draft.subject.told.as_ref().unwrap(),
        PlanResult::Failed { .. } | PlanResult::Deferred { .. } => panic!("{planned:?}"),
    }
}

fn failure(planned: &Planned) -> (&str, &str) {
    match &planned.result {
        PlanResult::Failed { why, detail } => (why, detail),
        PlanResult::Made(_) | PlanResult::Deferred { .. } => panic!("{planned:?}"),
    }
}

/// What the gate would have cleared, had it been asked about exactly these plans.
fn cleared(plans: Vec<Planned>) -> Cleared {
    let member = |it: &Planned| match &it.result {
        PlanResult::Made(draft) => ClearedMember {
            root: it.root.clone(),
            subject_sha256: subject_sha256(&draft.subject),
        },
        PlanResult::Failed { .. } | PlanResult::Deferred { .. } => panic!("{it:?}"),
    };
    let clearance = Clearance {
        set: Digest::try_from(format!("sha256:{}", "0".repeat(64))).unwrap(),
        use_id: None,
        members: plans.iter().map(member).collect(),
        left_alone: Vec::new(),
    };
    admit(plans, &clearance).unwrap()
}

#[tokio::test]
async fn a_plan_is_the_same_each_time_and_moves_with_what_it_would_do() {
    let place = Place::new(&["net"]);
    let first = place.plan(&tide(), &["net"]).await;
    assert_eq!(place.plan(&tide(), &["net"]).await, first);
    place.want("net", "high");
    let other = place.plan(&tide(), &["net"]).await;
    assert_ne!(told(&other[0]).digest, told(&first[0]).digest);
}

#[tokio::test]
async fn what_was_planned_is_applied_and_then_plans_nothing() {
    let place = Place::new(&["net"]);
    let engine = tide();
    let plans = place.plan(&engine, &["net"]).await;
    assert!(!told(&plans[0]).empty);
    // The plan file, not the folder, says what is applied.
    place.want("net", "high");
    let applied = place.apply(&engine, plans).await;
    assert_eq!((applied.len(), &applied[0].error), (1, &None));
    assert_eq!(place.state("net").as_deref(), Some("low"));
    place.want("net", "low");
    assert!(told(&place.plan(&engine, &["net"]).await[0]).empty);
}

#[tokio::test]
async fn a_plan_file_is_applied_once_and_by_the_process_that_made_it() {
    let place = Place::new(&["net"]);
    let engine = tide();
    let plans = place.plan(&engine, &["net"]).await;
    place.apply(&engine, plans.clone()).await;
    for engine in [engine, tide()] {
        let applied = place.apply(&engine, plans.clone()).await;
        let error = applied[0].error.as_deref().unwrap();
        assert!(error.contains("holds no plan file"), "{error}");
    }
}

#[tokio::test]
async fn a_plan_file_that_was_changed_is_not_applied() {
    let place = Place::new(&["net"]);
    let engine = tide();
    let plans = place.plan(&engine, &["net"]).await;
    fs::write(plan_file(&place.checkout, &named("net")), "{}").unwrap();
    let applied = place.apply(&engine, plans).await;
    let error = applied[0].error.as_deref().unwrap();
    assert!(error.contains("is not the one this job made"), "{error}");
    assert_eq!(place.state("net"), None);
}

#[tokio::test]
async fn a_preview_leaves_no_plan_file_to_apply() {
    let place = Place::new(&["net"]);
    let engine = tide();
    let members = [named("net")];
    let preview = engine.plan(&place.checkout, &members, Lock::Leave).await;
    assert!(!told(&preview.unwrap()[0]).empty);
    assert!(!plan_file(&place.checkout, &named("net")).exists());
}

#[tokio::test]
async fn runs_whose_names_look_alike_have_plan_files_of_their_own_that_others_cannot_read() {
    let roots = ["a/b", "a_b"];
    let place = Place::new(&roots);
    let plans = place.plan(&tide(), &roots).await;
    assert_eq!(plans.len(), 2);
    let [one, other] = roots.map(|it| plan_file(&place.checkout, &named(it)));
    assert_ne!(one, other);
    for file in [one, other] {
        let mode = |it: &Path| fs::metadata(it).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
}

#[tokio::test]
async fn no_shell_reads_a_command() {
    let place = Place::new(&["$(touch here)"]);
    let engine = engine(
        &[
            "./tide",
            "plan",
            "{target}",
            "{plan}",
            "; touch here",
            "{op}",
            "{wave}",
        ],
        &["false"],
    );
    place.plan(&engine, &["$(touch here)"]).await;
    let file = plan_file(&place.checkout, &named("$(touch here)"));
    let call = format!(
        "./tide plan $(touch here) {} ; touch here tf-apply wave-2",
        file.display()
    );
    assert_eq!(place.calls(), [call]);
    assert!(!place.checkout.dir.join("here").exists());
}

#[tokio::test]
async fn a_command_that_fails_says_why_without_its_secrets() {
    let mut place = Place::new(&["bad"]);
    place.checkout.env = vec![("SECRET".to_owned(), "s3cr3t".to_owned())];
    let failing = engine(&["./tide", "fail", "{target}", "{plan}"], &["false"]);
    let plans = place.plan(&failing, &["bad"]).await;
    let (why, detail) = failure(&plans[0]);
    assert_eq!(
        why,
        "Planning failed: no tide today: [SECRET] (exit code 3)."
    );
    assert_eq!(detail, "no tide today: [SECRET]");
}

#[tokio::test]
async fn a_run_that_fails_to_plan_does_not_hold_up_another() {
    let place = Place::new(&["bad", "net"]);
    fs::remove_file(place.checkout.dir.join("bad/wanted")).unwrap();
    let plans = place.plan(&tide(), &["bad", "net"]).await;
    assert!(failure(&plans[0]).0.starts_with("Planning failed: "));
    assert!(!told(&plans[1]).empty);
}

#[tokio::test]
async fn a_plan_command_that_says_nothing_fails_its_run() {
    let place = Place::new(&["net"]);
    for (plan, wanted) in [
        (&["true", "{plan}"][..], "wrote no plan file"),
        (&["mkdir", "{plan}"], "is no file"),
        (&["ln", "-s", "/etc/hosts", "{plan}"], "is no file"),
        (&["./tide", "write", "{plan}", "high"], "is no JSON object"),
        (
            &["./tide", "write", "{plan}", "{\"empty\":true}"],
            "without a `planDigest`",
        ),
        (&["./missing", "{plan}"], "cannot be started"),
    ] {
        let plans = place.plan(&engine(plan, &["false"]), &["net"]).await;
        let why = failure(&plans[0]).0;
        assert!(why.contains(wanted), "{why}");
    }
}

#[tokio::test]
async fn a_failed_apply_lets_the_others_finish() {
    let place = Place::new(&["bad", "net"]);
    let engine = tide();
    let plans = place.plan(&engine, &["bad", "net"]).await;
    fs::create_dir(place.checkout.dir.join("bad/state")).unwrap();
    let applied = place.apply(&engine, plans).await;
    let error = applied[0].error.as_deref().unwrap();
    assert!(error.starts_with("Applying failed: "), "{error}");
    assert_eq!(applied[1].error, None);
    assert_eq!(place.state("net").as_deref(), Some("low"));
}

#[tokio::test]
async fn a_job_told_to_stop_starts_nothing_new() {
    let place = Place::new(&["net"]);
    let engine = tide();
    let plans = place.plan(&engine, &["net"]).await;
    place.checkout.stop.cancel();
    let applied = place.apply(&engine, plans).await;
    assert!(
        applied[0]
            .error
            .as_deref()
            .unwrap()
            .contains("told to stop")
    );
    let plans = place.plan(&engine, &["net"]).await;
    assert_eq!(failure(&plans[0]).0, "The job was told to stop.");
    assert_eq!(place.calls().len(), 1);
}

#[tokio::test]
async fn a_command_that_runs_when_the_job_is_told_to_stop_is_interrupted() {
    let place = Place::new(&["net"]);
    let engine = engine(&["tail", "-f", "tide", "{plan}"], &["false"]);
    let stop = place.checkout.stop.clone();
    let (plans, ()) = tokio::join!(place.plan(&engine, &["net"]), async { stop.cancel() });
    assert!(failure(&plans[0]).0.contains("told to stop"), "{plans:?}");
}
