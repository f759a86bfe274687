//! The blast radius: who reads what changes, followed through.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::core::estate::Estate;
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

/// Tells who is downstream of the roots that change.
pub fn radius(estate: &Estate, changed: &BTreeSet<Root>, planned: &BTreeSet<Root>) -> Radius {
    let depths = depths(estate, changed);
    let waves: BTreeMap<&Root, WaveNumber> = estate
        .numbered_waves()
        .flat_map(|(number, members)| members.iter().map(move |it| (it, number)))
        .collect();
    let mut downstream: Vec<Downstream> = depths
        .iter()
        .filter(|(_, depth)| **depth > 0)
        .filter_map(|(root, depth)| {
            let inside = estate
                .upstreams(root)
                .into_iter()
                .filter(|it| depths.contains_key(it));
            Some(Downstream {
                root: (*root).clone(),
                wave: *waves.get(root)?,
                reads: inside.cloned().collect(),
                depth: *depth,
                planned: planned.contains(*root),
            })
        })
        .collect();
    downstream.sort_by(|a, b| (a.depth, &a.root).cmp(&(b.depth, &b.root)));
    Radius {
        changed: changed.iter().cloned().collect(),
        downstream,
    }
}

/// How far each root of the radius is from a changed one.
fn depths<'a>(estate: &'a Estate, changed: &'a BTreeSet<Root>) -> BTreeMap<&'a Root, u32> {
    let readers = estate.all_readers();
    let mut depths: BTreeMap<&Root, u32> = changed.iter().map(|it| (it, 0)).collect();
    let mut layer: Vec<&Root> = changed.iter().collect();
    let mut depth = 0;
    while !layer.is_empty() {
        depth += 1;
        let next = layer.into_iter().filter_map(|it| readers.get(it)).flatten();
        let next: BTreeSet<&Root> = next
            .copied()
            .filter(|it| !depths.contains_key(it))
            .collect();
        depths.extend(next.iter().map(|it| (*it, depth)));
        layer = next.into_iter().collect();
    }
    depths
}
