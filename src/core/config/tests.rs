//! The sample files under `tests/config`: each is a test.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::schema::{File, schema};
use super::{Complaint, project, server, yaml};

/// The sample files of a folder, sorted by name.
fn samples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/config")
        .join(folder);
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|it| it.extension().is_some_and(|it| it == "yml"))
        .collect();
    files.sort();
    files
}

/// A sample named `server-…` is a server file, every other one a project file.
fn complaints(file: &Path) -> Vec<Complaint> {
    let text = fs::read_to_string(file).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    let read = if name.starts_with("server-") {
        server::read(server::FILE, &text).map(drop)
    } else {
        project::read(project::FILE, &text).map(drop)
    };
    read.err().unwrap_or_default()
}

fn lines(complaints: &[Complaint]) -> String {
    complaints.iter().map(|it| format!("{it}\n")).collect()
}

#[test]
fn every_valid_sample_is_read() {
    let samples = samples("valid");
    assert!(samples.len() >= 4);
    for file in samples {
        assert_eq!(lines(&complaints(&file)), "", "{}", file.display());
    }
}

#[test]
fn every_invalid_sample_gets_the_complaints_beside_it() {
    let samples = samples("invalid");
    assert!(samples.len() >= 10);
    for file in samples {
        let beside = file.with_extension("txt");
        let found = lines(&complaints(&file));
        if std::env::var_os("TIDEGATE_BLESS").is_some() {
            fs::write(&beside, &found).unwrap();
        }
        let wanted = fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(found, wanted, "{}", file.display());
        assert_ne!(found, "", "{}", file.display());
    }
}

/// The schema's view of a sample.
fn is_valid(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap();
    let Ok(node) = yaml::parse(&text) else {
        return false;
    };
    let name = file.file_name().unwrap().to_str().unwrap();
    let kind = match name.starts_with("server-") {
        true => File::Server,
        false => File::Project,
    };
    jsonschema::validator_for(&schema(kind))
        .unwrap()
        .is_valid(&as_json(&node))
}

fn as_json(node: &yaml::Node) -> Value {
    match &node.value {
        yaml::Value::Nothing => Value::Null,
        yaml::Value::Flag(flag) => json!(flag),
        yaml::Value::Whole(number) => json!(number),
        yaml::Value::Other => json!(0.5),
        yaml::Value::Text(text) => json!(text),
        yaml::Value::List(items) => items.iter().map(as_json).collect(),
        yaml::Value::Map(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| (key.name.clone(), as_json(value)));
            Value::Object(entries.collect())
        }
    }
}

#[test]
fn the_schema_takes_every_valid_sample() {
    for file in samples("valid") {
        assert!(is_valid(&file), "{}", file.display());
    }
}

#[test]
fn the_schema_refuses_every_sample_with_an_unknown_key() {
    let mut refused = 0;
    for file in samples("invalid") {
        let complaints = complaints(&file);
        let of_keys = ["unknown key", "does not carry this key"];
        let is_of_keys = |it: &Complaint| of_keys.iter().any(|key| it.what.contains(key));
        if complaints.iter().any(is_of_keys) {
            assert!(!is_valid(&file), "{}", file.display());
            refused += 1;
        }
    }
    assert!(refused >= 3, "{refused}");
}
