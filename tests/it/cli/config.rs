//! What `tidegate config` says of files, and that it says all of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::cli::{check, run};

/// A checkout with two roots and this project file.
fn checkout(rules: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", "-b", "main"]);
    for root in ["app", "network"] {
        fs::create_dir(folder.path().join(root)).unwrap();
        let text = "terraform {\n  backend \"local\" {}\n}\n";
        fs::write(folder.path().join(root).join("main.tf"), text).unwrap();
    }
    fs::write(folder.path().join("tidegate.yml"), rules).unwrap();
    git(folder.path(), &["add", "--all"]);
    git(folder.path(), &["commit", "-q", "-m", "Dig the harbour"]);
    folder
}

fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=ada", "-c", "user.email=ada@acme.example"])
        .args(arguments)
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn all_that_is_wrong_is_said_at_once_with_its_place() {
    let rules = "gaet: never\nwaves:\n  canry: [app]\napproval: ledgr\nparallelism: 0\n";
    let folder = checkout(rules);
    let ran = run(folder.path(), &["config", "check"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    check("config-check.txt", &ran.stdout);
}

#[test]
fn a_root_that_is_not_in_the_checkout_is_told_at_its_key() {
    let folder = checkout("waves:\n  after:\n    app: [netwrok]\n");
    let ran = run(folder.path(), &["config", "check", "--json"]);
    assert_eq!(ran.code, Some(2));
    let said = ran.json();
    let complaint = &said["complaints"][0];
    assert_eq!(
        (&complaint["line"], &complaint["column"]),
        (&3.into(), &5.into()),
        "{said:#}"
    );
    assert_eq!(complaint["path"], "waves.after.app");
    assert_eq!(said["ok"], false);
}

#[test]
fn a_right_file_is_counted_and_a_missing_one_is_the_default() {
    let folder = checkout("waves:\n  after:\n    app: [network]\n");
    let ran = run(folder.path(), &["config", "check"]);
    assert_eq!(
        ran.stdout, "tidegate.yml is right (roots: 2, waves: 2)\n",
        "{}",
        ran.stderr
    );
    fs::remove_file(folder.path().join("tidegate.yml")).unwrap();
    let ran = run(&folder.path().join("app"), &["config", "check"]);
    assert_eq!(
        ran.stdout, "tidegate.yml is right (roots: 2, waves: 1)\n",
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_that_is_named_is_held_against_the_checkout_it_stands_at_the_top_of() {
    let folder = checkout("waves:\n  after:\n    app: [netwrok]\n");
    let code = |file: &str| run(folder.path(), &["config", "check", file]).code;
    assert_eq!(code("tidegate.yml"), Some(2));
    fs::copy(
        folder.path().join("tidegate.yml"),
        folder.path().join("app/tidegate.yml"),
    )
    .unwrap();
    assert_eq!(code("app/tidegate.yml"), Some(0));
}

#[test]
fn what_cannot_be_followed_is_a_warning_and_stops_nobody() {
    let folder = checkout("gate: never\n");
    let text = "terraform {\n  backend \"local\" {}\n}\nmodule \"m\" {\n  source = var.where\n}\n";
    fs::write(folder.path().join("app/main.tf"), text).unwrap();
    let ran = run(folder.path(), &["config", "check"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.starts_with("warning: "), "{}", ran.stdout);
    let ran = run(folder.path(), &["config", "check", "--json"]);
    assert_eq!(ran.json()["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn without_a_file_and_outside_a_checkout_there_is_nothing_to_check() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["config", "check"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("name the file"), "{}", ran.stderr);
}

#[test]
fn a_commit_is_checked_whatever_stands_in_the_folder() {
    let folder = checkout("gate: never\n");
    fs::write(folder.path().join("tidegate.yml"), "gaet: never\n").unwrap();
    let code =
        |arguments: &[&str]| run(folder.path(), &[&["config", "check"], arguments].concat()).code;
    assert_eq!(code(&[]), Some(2));
    assert_eq!(code(&["--at", "HEAD"]), Some(0));
    assert_eq!(code(&["--at", "nowhere"]), Some(2));
}

#[test]
fn a_servers_file_is_told_by_its_name_or_by_the_option() {
    let folder = tempfile::tempdir().unwrap();
    let text = include_str!("../../config/valid/server-smallest.yml");
    for (name, arguments) in [
        ("tidegate-server.yml", &[][..]),
        ("tide.yml", &["--kind", "server"]),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
        let ran = run(
            folder.path(),
            &[&["config", "check", name], arguments].concat(),
        );
        assert_eq!(
            (ran.code, ran.stdout),
            (Some(0), format!("{name} is right\n")),
            "{}",
            ran.stderr
        );
    }
    let ran = run(folder.path(), &["config", "check", "tide.yml"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let ran = run(folder.path(), &["config", "check", "nothing.yml"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("cannot read nothing.yml"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_schemas_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, title) in [
        (&["config", "schema"][..], "tidegate.yml"),
        (&["config", "schema", "server"], "tidegate-server.yml"),
    ] {
        let ran = run(folder.path(), arguments);
        assert_eq!(
            (ran.code, &ran.json()["title"]),
            (Some(0), &Value::from(title))
        );
    }
}

#[test]
fn the_version_is_told_to_people_and_programs() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["version"]);
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        ran.stdout.starts_with(&format!("tidegate {version} (")),
        "{}",
        ran.stdout
    );
    let ran = run(folder.path(), &["version", "--json"]);
    assert_eq!(
        (ran.code, &ran.json()["version"]),
        (Some(0), &Value::from(version))
    );
}

#[test]
fn every_command_has_examples() {
    let page = tidegate::cli::reference();
    let (_, commands) = page.split_once("\n## ").unwrap();
    for command in commands.split("\n## ") {
        let name = command.lines().next().unwrap();
        // A command that only holds others is told by theirs.
        if !command.contains("<COMMAND>") {
            assert!(command.contains("Examples:"), "{name} has no examples");
        }
    }
}
