//! The whole tide, as a newcomer plays it: the binary alone, its exit code, and what it says was seen.

use std::process::Command;

use serde_json::Value;

/// Plays the story headless with these arguments, and answers what it wrote.
fn play(arguments: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("story.json");
    let ran = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["testdrive", "--headless", "--json"])
        .arg(&file)
        .args(arguments)
        .output()
        .unwrap();
    let written = std::fs::read(&file).unwrap_or_else(|_| {
        panic!(
            "no story was written: {}",
            String::from_utf8_lossy(&ran.stderr)
        )
    });
    (ran.status.code(), serde_json::from_slice(&written).unwrap())
}

#[test]
fn every_step_of_the_story_is_seen() {
    let (code, story) = play(&[]);
    let unseen: Vec<_> = story["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["seen"].is_null())
        .collect();
    assert!(unseen.is_empty(), "{unseen:#?}");
    assert_eq!((code, &story["complete"]), (Some(0), &Value::Bool(true)));
}
