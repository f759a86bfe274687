//! The blast radius: who reads what changes, followed through.

use serde::{Deserialize, Serialize};

use crate::core::ids::{Root, WaveNumber};

/// The roots whose plans change something, and everything that reads or follows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Radius {
    /// Sorted by name.
    pub changed: Vec<Root>,
    /// Nearest first, then by name; never a root that itself changes.
    pub downstream: Vec<Downstream>,
}

/// A root that reads or follows what changes, and does not change itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Downstream {
    pub root: Root,
    pub wave: WaveNumber,
    /// What it reads or follows inside the radius, by name.
    pub reads: Vec<Root>,
    /// How far it is from a changed root: 1 reads one.
    pub depth: u32,
    /// Whether this run planned it.
    pub planned: bool,
}
