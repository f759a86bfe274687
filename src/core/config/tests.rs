//! The sample files under `tests/config`: each is a test.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Complaint, project, server};

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
