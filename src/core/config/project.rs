//! The project file, `tidegate.yml`: what a repository decides for itself.
//!
//! Its rules (`gate`, `approval`) are read at the base commit, what it says of its structure (`roots`, `waves`,
//! `commands`) at the commit that is planned.

pub(super) mod keys;

use std::collections::BTreeMap;

use globset::GlobBuilder;

use crate::core::config::Complaint;
use crate::core::config::commands::{self, Commands};
use crate::core::config::project::keys::{APPROVAL, KEYS, WAVES};
use crate::core::config::section::{At, Later, Reader};
use crate::core::config::yaml::Value;
use crate::core::gate::{Mode, Policy};

/// The project file's name, at the root of the repository.
pub const FILE: &str = "tidegate.yml";

const POLICIES: [(&str, Policy); 3] = [
    ("always", Policy::Always),
    ("on-destructive", Policy::OnDestructive),
    ("never", Policy::Never),
];
const MODES: [(&str, Mode); 3] = [
    ("ledger", Mode::Ledger),
    ("pr-review", Mode::PrReview),
    ("sealed", Mode::Sealed),
];

/// A repository's own rules, checked. No file is needed: the default is a valid project.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// Globs of directories that are roots; empty is "found by what they hold".
    pub roots: Vec<String>,
    pub waves: WaveRules,
    pub gate: Policy,
    pub approval: ApprovalRules,
    /// Runs planned or applied at once.
    pub parallelism: u32,
    /// What plans and applies the roots in place of Terraform.
    pub commands: Option<Commands>,
}

/// The order people ask for beside what roots read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaveRules {
    /// Globs of roots that go first.
    pub canary: Vec<String>,
    /// Root or glob → roots or globs that go before it.
    pub after: BTreeMap<String, Vec<String>>,
}

/// Which approvals count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalRules {
    pub mode: Mode,
    /// Whether an author may approve their own change.
    pub author: bool,
}

impl Default for Project {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            waves: WaveRules::default(),
            gate: Policy::default(),
            approval: ApprovalRules::default(),
            parallelism: 4,
            commands: None,
        }
    }
}

/// Reads a project file: the project, or all that is wrong with it. An empty file is the default project.
pub fn read(file_name: &str, text: &str) -> Result<Project, Vec<Complaint>> {
    let (mut reader, node) = Reader::open(file_name, text, Later::NothingApplies)?;
    let project = if matches!(node.value, Value::Nothing) {
        Project::default()
    } else {
        read_project(&mut reader, &At::top(&node))
    };
    reader.finish(Some(project))
}

fn read_project(reader: &mut Reader, top: &At) -> Project {
    let keys = reader.section(top, &KEYS);
    let default = Project::default();
    Project {
        roots: reader.get(&keys, "roots", read_globs).unwrap_or_default(),
        waves: reader.get(&keys, "waves", read_waves).unwrap_or_default(),
        gate: reader
            .get(&keys, "gate", |reader, at| reader.word(at, &POLICIES))
            .unwrap_or_default(),
        approval: reader
            .get(&keys, "approval", read_approval)
            .unwrap_or_default(),
        parallelism: reader
            .get(&keys, "parallelism", |reader, at| reader.whole(at, 1..=64))
            .unwrap_or(default.parallelism),
        commands: reader.get(&keys, "commands", commands::read),
    }
}

fn read_waves(reader: &mut Reader, at: &At) -> Option<WaveRules> {
    let keys = reader.section(at, &WAVES);
    Some(WaveRules {
        canary: reader.get(&keys, "canary", read_globs).unwrap_or_default(),
        after: reader.get(&keys, "after", read_after).unwrap_or_default(),
    })
}

fn read_after(reader: &mut Reader, at: &At) -> Option<BTreeMap<String, Vec<String>>> {
    let mut after = BTreeMap::new();
    for (key, at) in reader.entries(at) {
        let place = key.place;
        let name = At {
            place,
            ..at.clone()
        };
        check_glob(reader, &name, &key.name);
        let hint = "list what goes before it, or remove the key";
        let items = reader.some(&at, "names no root", hint).unwrap_or_default();
        let before = reader.texts(&items, read_glob);
        if before.contains(&key.name) {
            reader.wrong::<()>(&at, "puts the root after itself", "");
        }
        after.insert(key.name.clone(), before);
    }
    Some(after)
}

fn read_globs(reader: &mut Reader, at: &At) -> Option<Vec<String>> {
    let items = reader.list(at)?;
    Some(reader.texts(&items, read_glob))
}

fn read_glob(reader: &mut Reader, at: &At, text: &str) -> Option<String> {
    check_glob(reader, at, text)?;
    Some(text.to_owned())
}

fn check_glob(reader: &mut Reader, at: &At, glob: &str) -> Option<()> {
    if glob != "." && glob.split('/').any(|part| matches!(part, "" | "." | "..")) {
        let hint = "write it from the repository's root, such as `envs/*`";
        return reader.wrong(
            at,
            format!("`{glob}` is not a path inside the repository"),
            hint,
        );
    }
    match GlobBuilder::new(glob).literal_separator(true).build() {
        Ok(_) => Some(()),
        Err(error) => reader.wrong(
            at,
            format!("`{glob}` is not a pattern: {}", error.kind()),
            "",
        ),
    }
}

/// A mode, or a map that says more.
fn read_approval(reader: &mut Reader, at: &At) -> Option<ApprovalRules> {
    if !matches!(at.node.value, Value::Map(_)) {
        let mode = reader.word(at, &MODES)?;
        return Some(ApprovalRules {
            mode,
            author: false,
        });
    }
    let keys = reader.section(at, &APPROVAL);
    Some(ApprovalRules {
        mode: reader
            .get(&keys, "mode", |reader, at| reader.word(at, &MODES))
            .unwrap_or_default(),
        author: reader
            .get(&keys, "author", Reader::flag)
            .unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_and_an_empty_file_are_the_same_project() {
        assert_eq!(read(FILE, "# nothing yet\n").unwrap(), Project::default());
    }

    #[test]
    fn every_key_is_read() {
        let text = include_str!("../../../tests/config/valid/every-key.yml");
        let after = [
            ("app", vec!["database"]),
            ("database", vec!["network", "identity"]),
            ("envs/prod/*", vec!["envs/dev/*"]),
        ];
        let wanted = Project {
            roots: vec!["network".to_owned(), "envs/**".to_owned()],
            waves: WaveRules {
                canary: vec!["envs/dev/*".to_owned()],
                after: after
                    .map(|(root, before)| {
                        let before = before.into_iter().map(str::to_owned);
                        (root.to_owned(), before.collect())
                    })
                    .into(),
            },
            gate: Policy::Always,
            approval: ApprovalRules {
                mode: Mode::PrReview,
                author: true,
            },
            parallelism: 8,
            commands: Some(Commands {
                plan: ["./bin/plan", "{target}", "--out={plan}"]
                    .map(str::to_owned)
                    .into(),
                apply: ["./bin/apply", "{op}", "{wave}", "{target}", "{plan}"]
                    .map(str::to_owned)
                    .into(),
            }),
        };
        assert_eq!(read(FILE, text).unwrap(), wanted);
    }

    #[test]
    fn an_approval_may_be_a_word() {
        let project = read(FILE, "approval: sealed").unwrap();
        assert_eq!(project.approval.mode, Mode::Sealed);
        assert!(!project.approval.author);
    }

    #[test]
    fn a_known_word_we_do_not_carry_is_never_ignored() {
        let later = [("", &KEYS), ("waves", &WAVES), ("approval", &APPROVAL)];
        for (parent, keys) in later {
            for key in keys.later {
                let text = match parent {
                    "" => format!("{key}: 1"),
                    parent => format!("{parent}:\n  {key}: 1"),
                };
                let complaints = read(FILE, &text).unwrap_err();
                assert_eq!(complaints.len(), 1, "{text}");
                assert!(complaints[0].hint.contains("nothing applies"), "{text}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(roots|waves|canary|after|gate|approval|parallelism|commands|plan|apply|[a-z.*/]{0,3}|[-:\\[\\]{}, \n]){0,30}") {
            let _ = read(FILE, &text);
        }
    }
}
