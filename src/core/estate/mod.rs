//! The repository as roots that read each other: what is a root, what it reads, in which wave it goes, and what a
//! change reaches. All from texts; nothing here opens a file.

pub mod address;
pub mod binding;
mod blocks;
pub mod error;
mod folder;
mod gone;
mod graph;
mod moved;
mod paths;
pub mod radius;
mod reach;
mod roots;
mod rules;
mod waves;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::core::config::project::Project;
use crate::core::estate::error::EstateError;
use crate::core::estate::rules::Rules;
use crate::core::ids::{Root, WaveNumber};

pub use folder::is_estate_file;

/// Texts of the files that say what the roots are (`.tf`, `.tofu`, `.tf.json`, `.tofu.json`), by their path in the
/// repository with `/` between the parts.
pub type Files = BTreeMap<String, String>;

/// Every root of one commit, what it reads, and its wave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estate {
    pub roots: BTreeMap<Root, RootFacts>,
    /// Waves over all roots, numbered from 1 by position: canary layers first, then one dependency layer a wave.
    pub waves: Vec<Vec<Root>>,
    /// What could not be followed and why, a sentence each, naming the root and the block.
    pub warnings: Vec<String>,
}

/// What is known of one root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootFacts {
    /// Where its state is, when that can be told from literals.
    pub state: Option<address::StateAddress>,
    /// Roots whose state it reads through `terraform_remote_state`.
    pub reads: BTreeSet<Root>,
    /// Roots that `waves.after` puts before it.
    pub follows: BTreeSet<Root>,
    /// Paths whose change touches it: its own directory, local modules followed through, files that symbolic links
    /// among these stand for.
    pub watches: BTreeSet<String>,
    /// Files of its own that do not parse here. Its plan most likely fails with Terraform's own error, and what these
    /// files say of states and modules is not known.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unreadable: BTreeSet<String>,
}

/// What a change reaches: the roots it touches and everything that reads or follows them, transitively.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    pub touched: BTreeSet<Root>,
    /// Touched roots and all their readers and followers.
    pub members: BTreeSet<Root>,
}

/// The reached part of one wave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedWave {
    pub number: WaveNumber,
    /// Sorted by name.
    pub members: Vec<Root>,
}

/// An estate and what one change reaches in it: all that a plan note needs to know of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    pub estate: Estate,
    pub reach: Reach,
    /// Roots that the change takes away, with the place where their state stays, as far as it can be told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub taken_away: BTreeMap<Root, Option<address::StateAddress>>,
}

/// Sentences, each once, in a stable order.
type Warnings = BTreeSet<String>;

impl Estate {
    /// Reads the roots, their states and their order out of the texts of one commit. Files that are none of the
    /// estate's ([`is_estate_file`]) are passed over. A file that does not parse is a warning.
    ///
    /// A link to a directory cannot be seen in texts; modules behind one are a warning.
    pub fn read(files: &Files, project: &Project) -> Result<Self, Vec<EstateError>> {
        let rules = Rules::compile(project)?;
        let mut warnings = Warnings::new();
        let folders = folder::read_all(files, &mut warnings);
        let mut roots = roots::find(&folders, &rules.roots, &mut warnings);
        graph::read_states(&folders, &mut roots, &mut warnings);
        graph::follow(&rules.after, &mut roots)?;
        let waves = waves::cut(&roots, &rules.canary)?;
        Ok(Self {
            roots,
            waves,
            warnings: warnings.into_iter().collect(),
        })
    }
}

#[cfg(test)]
mod tests;
