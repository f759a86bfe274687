//! A project file held against the repository it is in: what is wrong with it, and what it comes to.

use serde::Serialize;

use crate::core::config::{Complaint, place_of, project};
use crate::core::estate::error::EstateError;
use crate::core::estate::{Estate, Files};

/// What a look at a configuration found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Inspection {
    pub complaints: Vec<Complaint>,
    /// What could not be followed; it stops nobody.
    pub warnings: Vec<String>,
    /// How many roots and waves there are, when nothing is wrong.
    pub roots: usize,
    pub waves: usize,
}

/// Reads a project file (none is the default project) and cuts the repository's waves by it.
pub fn project(name: &str, text: Option<&str>, files: &Files) -> Inspection {
    let text = text.unwrap_or_default();
    let project = match project::read(name, text) {
        Ok(project) => project,
        Err(complaints) => {
            return Inspection {
                complaints,
                ..Inspection::default()
            };
        }
    };
    match Estate::read(files, &project) {
        Ok(estate) => Inspection {
            complaints: Vec::new(),
            warnings: estate.warnings,
            roots: estate.roots.len(),
            waves: estate.waves.len(),
        },
        Err(errors) => Inspection {
            complaints: errors.iter().map(|it| placed(name, text, it)).collect(),
            ..Inspection::default()
        },
    }
}

/// A mistake of the estate at the key that makes it.
fn placed(name: &str, text: &str, error: &EstateError) -> Complaint {
    let path = match error {
        EstateError::Cycle(_) => "waves".to_owned(),
        EstateError::UnknownRoot { place, .. } | EstateError::BadGlob { place, .. } => {
            place.clone()
        }
    };
    let (line, column) = place_of(text, &path);
    let said = error.to_string();
    let what = said.strip_prefix(&format!("{path}: ")).unwrap_or(&said);
    Complaint {
        file: name.to_owned(),
        line,
        column,
        path,
        what: what.trim_end_matches('.').to_owned(),
        hint: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        let root = |name: &str| {
            let text = "terraform {\n  backend \"local\" {}\n}\n".to_owned();
            (format!("{name}/main.tf"), text)
        };
        ["app", "network"].map(root).into()
    }

    #[test]
    fn a_root_that_is_not_there_is_a_complaint_at_its_key() {
        let text = "gate: never\nwaves:\n  after:\n    app: [netwrok]\n";
        let found = project("tidegate.yml", Some(text), &files());
        let complaint = &found.complaints[0];
        assert_eq!((complaint.line, complaint.column), (4, 5), "{complaint}");
        let said = complaint.to_string();
        assert!(
            said.starts_with("tidegate.yml:4:5: waves.after.app: `netwrok` names no root"),
            "{said}"
        );
    }

    #[test]
    fn roots_that_wait_for_themselves_or_each_other_are_a_complaint_at_their_key() {
        for (after, path) in [
            ("app: [app]", "waves.after.app"),
            ("app: [network]\n    network: [app]", "waves"),
        ] {
            let text = format!("waves:\n  after:\n    {after}\n");
            let found = project("tidegate.yml", Some(&text), &files());
            assert_eq!(found.complaints[0].path, path, "{found:?}");
        }
    }

    #[test]
    fn without_a_file_the_defaults_are_held_against_the_repository() {
        let found = project("tidegate.yml", None, &files());
        assert_eq!(
            (found.complaints.len(), found.roots, found.waves),
            (0, 2, 1)
        );
    }
}
