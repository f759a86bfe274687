//! The project file, `tidegate.yml`: what a repository decides for itself, read at the base commit.

use std::collections::BTreeMap;

use crate::core::gate::{Mode, Policy};

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
        }
    }
}
