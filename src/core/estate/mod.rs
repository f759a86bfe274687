//! The repository as roots that read each other: what is a root, what it reads, in which wave it goes, and what a
//! change reaches. All from texts; nothing here opens a file.

pub mod address;
pub mod blocks;
pub mod graph;
pub mod radius;
pub mod reach;
pub mod roots;
pub mod waves;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::core::ids::{Root, WaveNumber};

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
    /// Paths whose change touches it: its own directory, local modules followed through, var files outside.
    pub watches: BTreeSet<String>,
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
}
