//! What tidegate asks a forge's administrator for: as much as it needs, and no more.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::world::spec;

/// What we do on GitHub, and the permission each takes; the events ask for theirs beside these.
const NEEDS: [(&str, &str, &str); 6] = [
    ("read what somebody may do", "metadata", "read"),
    ("push the ledger, and merge", "contents", "write"),
    ("write the note", "issues", "write"),
    ("answer and react", "pull_requests", "write"),
    ("read reviews", "pull_requests", "read"),
    ("set statuses", "statuses", "write"),
];

fn manifest() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/github/app.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn events(manifest: &Value) -> Vec<&str> {
    let events = manifest["default_events"].as_array().unwrap();
    events.iter().map(|it| it.as_str().unwrap()).collect()
}

#[test]
fn the_github_app_is_one_that_github_would_make() {
    let facts = spec::github_app();
    let validator = jsonschema::draft202012::new(&facts["manifest"]).unwrap();
    let complaints: Vec<_> = validator
        .iter_errors(&manifest())
        .map(|it| it.to_string())
        .collect();
    assert_eq!(complaints, [""; 0]);
}

#[test]
fn the_github_app_asks_for_what_it_needs_and_no_more() {
    let (facts, manifest) = (spec::github_app(), manifest());
    let mut needed: BTreeMap<String, &str> = BTreeMap::new();
    for event in events(&manifest) {
        let permission = facts["events"][event]["permission"].as_str().unwrap();
        needed.insert(permission.to_lowercase().replace(' ', "_"), "read");
    }
    for (_, permission, level) in NEEDS {
        let held = needed.entry(permission.to_owned()).or_insert(level);
        *held = (*held).max(level);
    }
    let asked: BTreeMap<String, &str> = manifest["default_permissions"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, level)| (name.clone(), level.as_str().unwrap()))
        .collect();
    assert_eq!(asked, needed);
}

#[test]
fn the_github_app_hears_what_is_acted_on() {
    let (facts, manifest) = (spec::github_app(), manifest());
    let known: Vec<_> = facts["events"].as_object().unwrap().keys().collect();
    assert_eq!(events(&manifest), known);
}
