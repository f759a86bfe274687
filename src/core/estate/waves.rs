//! Waves: canary layers first, then one dependency layer a wave.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use petgraph::Direction::Incoming;
use petgraph::algo::{kosaraju_scc, toposort};
use petgraph::graphmap::DiGraphMap;

use crate::core::estate::error::{EstateError, Link, LinkKind};
use crate::core::estate::rules::{self, Pattern};
use crate::core::estate::{Estate, RootFacts};
use crate::core::ids::{Root, WaveNumber};

type Roots = BTreeMap<Root, RootFacts>;

impl Estate {
    /// The wave a root stands in.
    pub fn wave_of(&self, root: &Root) -> Option<WaveNumber> {
        let mut numbered = self.numbered_waves();
        let found = numbered.find(|(_, members)| members.binary_search(root).is_ok());
        found.map(|(number, _)| number)
    }

    /// The waves with their numbers, in order.
    pub(super) fn numbered_waves(&self) -> impl Iterator<Item = (WaveNumber, &[Root])> {
        (1..)
            .map(WaveNumber)
            .zip(self.waves.iter().map(Vec::as_slice))
    }
}

/// Cuts all roots into waves, each sorted by name. A canary is not moved behind what it reads when that is no canary.
pub(super) fn cut(roots: &Roots, canary: &[Pattern]) -> Result<Vec<Vec<Root>>, Vec<EstateError>> {
    let mut canaries = Vec::new();
    let mut others = Vec::new();
    for layer in layers(roots)? {
        let (first, later): (Vec<_>, Vec<_>) = layer
            .into_iter()
            .partition(|it| rules::any_matches(canary, it));
        canaries.push(first);
        others.push(later);
    }
    let waves = canaries.into_iter().chain(others);
    Ok(waves.filter(|it| !it.is_empty()).collect())
}

/// Roots by the length of the longest chain of roots before them.
fn layers(roots: &Roots) -> Result<Vec<Vec<Root>>, Vec<EstateError>> {
    let mut graph: DiGraphMap<&Root, ()> = DiGraphMap::new();
    for (root, facts) in roots {
        graph.add_node(root);
        for upstream in facts.upstreams() {
            graph.add_edge(upstream, root, ());
        }
    }
    let Ok(order) = toposort(&graph, None) else {
        let knots = kosaraju_scc(&graph).into_iter().filter(|it| it.len() > 1);
        let knots: BTreeSet<BTreeSet<&Root>> = knots.map(|it| it.into_iter().collect()).collect();
        return Err(knots.iter().map(|it| circle(roots, it)).collect());
    };
    let mut depths: HashMap<&Root, usize> = HashMap::new();
    let mut layers: Vec<Vec<Root>> = Vec::new();
    for root in order {
        let before = graph.neighbors_directed(root, Incoming);
        let depth = before
            .filter_map(|it| depths.get(it))
            .max()
            .map_or(0, |it| it + 1);
        depths.insert(root, depth);
        if layers.len() <= depth {
            layers.resize(depth + 1, Vec::new());
        }
        layers[depth].push(root.clone());
    }
    for layer in &mut layers {
        layer.sort();
    }
    Ok(layers)
}

/// One circle among roots that all wait for each other, from its first root by name.
fn circle(roots: &Roots, knot: &BTreeSet<&Root>) -> EstateError {
    let next = |root: &Root| roots[root].upstreams().filter(|it| knot.contains(it)).min();
    let mut walk: Vec<&Root> = Vec::new();
    let mut here = knot.first().copied();
    while let Some(root) = here.filter(|it| !walk.contains(it)) {
        walk.push(root);
        here = next(root);
    }
    let start = walk
        .iter()
        .position(|it| Some(*it) == here)
        .unwrap_or_default();
    let mut walk = walk.split_off(start);
    let first = (0..walk.len())
        .min_by_key(|it| walk[*it])
        .unwrap_or_default();
    walk.rotate_left(first);
    let upstreams = walk.iter().cycle().skip(1);
    let links = walk.iter().zip(upstreams).map(|(root, upstream)| Link {
        root: (*root).clone(),
        upstream: (*upstream).clone(),
        by: if roots[*root].reads.contains(*upstream) {
            LinkKind::Reads
        } else {
            LinkKind::After
        },
    });
    EstateError::Cycle(links.collect())
}
