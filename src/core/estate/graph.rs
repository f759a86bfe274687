//! Who reads whose state, and who goes after whom.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::core::estate::address::{self, StateAddress};
use crate::core::estate::error::EstateError;
use crate::core::estate::folder::Folder;
use crate::core::estate::rules::Pattern;
use crate::core::estate::{Estate, RootFacts, Warnings};
use crate::core::ids::Root;

/// Roots by the roots that read or follow them.
pub(super) type Readers<'a> = BTreeMap<&'a Root, BTreeSet<&'a Root>>;

impl Estate {
    /// The roots that `root` waits for: whose state it reads, and whom `waves.after` puts before it.
    pub fn upstreams(&self, root: &Root) -> BTreeSet<&Root> {
        self.roots
            .get(root)
            .into_iter()
            .flat_map(RootFacts::upstreams)
            .collect()
    }

    /// The roots that read `root`'s state or come after it. Looks at every root.
    pub fn readers(&self, root: &Root) -> BTreeSet<&Root> {
        let readers = self.roots.iter();
        let readers =
            readers.filter(|(_, it)| it.reads.contains(root) || it.follows.contains(root));
        readers.map(|(reader, _)| reader).collect()
    }

    /// Every root's readers and followers at once.
    pub(super) fn all_readers(&self) -> Readers<'_> {
        let mut readers = Readers::new();
        for (reader, facts) in &self.roots {
            for upstream in facts.upstreams() {
                readers.entry(upstream).or_default().insert(reader);
            }
        }
        readers
    }
}

impl RootFacts {
    /// What it reads and what it follows; a root that is both comes twice.
    pub(super) fn upstreams(&self) -> impl Iterator<Item = &Root> {
        self.reads.iter().chain(&self.follows)
    }
}

/// Where states are, to find a reader's upstreams without looking at every root.
struct States<'a> {
    /// By type and key, then by bucket.
    by_key: HashMap<(&'a str, &'a str), Buckets<'a>>,
}

type Buckets<'a> = BTreeMap<Option<&'a str>, Vec<(&'a Root, &'a StateAddress)>>;

impl<'a> States<'a> {
    fn of(roots: &'a BTreeMap<Root, RootFacts>) -> Self {
        let mut by_key: HashMap<_, Buckets<'a>> = HashMap::new();
        for (root, facts) in roots {
            if let Some(state) = &facts.state {
                let buckets = by_key
                    .entry((state.backend.as_str(), state.key.as_str()))
                    .or_default();
                buckets
                    .entry(state.bucket.as_deref())
                    .or_default()
                    .push((root, state));
            }
        }
        Self { by_key }
    }

    /// The roots whose state lines up with what is read.
    fn owners(&self, read: &StateAddress) -> Vec<&'a Root> {
        let Some(buckets) = self.by_key.get(&(read.backend.as_str(), read.key.as_str())) else {
            return Vec::new();
        };
        let near: Vec<_> = match &read.bucket {
            Some(bucket) => [buckets.get(&Some(bucket.as_str())), buckets.get(&None)]
                .into_iter()
                .flatten()
                .collect(),
            None => buckets.values().collect(),
        };
        let states = near
            .into_iter()
            .flatten()
            .filter(|(_, it)| it.lines_up(read));
        states.map(|(root, _)| *root).collect()
    }
}

/// Tells whose state each root reads. Only blocks in the root's own files count; a module's order nothing.
pub(super) fn read_states(
    folders: &BTreeMap<String, Folder>,
    roots: &mut BTreeMap<Root, RootFacts>,
    warnings: &mut Warnings,
) {
    let states = States::of(roots);
    let mut edges = Vec::new();
    for root in roots.keys() {
        let reads = folders
            .get(root.as_str())
            .map(|it| it.blocks.reads.as_slice());
        for read in reads.unwrap_or_default() {
            match address::of_read(read.backend.as_ref(), read.config.as_ref(), root) {
                Ok(address) => {
                    let owners = states.owners(&address).into_iter();
                    let others = owners.filter(|it| *it != root);
                    edges.extend(others.map(|owner| (root.clone(), owner.clone())));
                }
                Err(why) => {
                    warnings.insert(format!(
                        "Which state `{root}` reads with `data.terraform_remote_state.{}` cannot be told: {why}. It is \
                         not put after the root that keeps it.",
                        read.label
                    ));
                }
            }
        }
    }
    for (root, upstream) in edges {
        if let Some(facts) = roots.get_mut(&root) {
            facts.reads.insert(upstream);
        }
    }
}

/// Puts roots after the roots that `waves.after` names.
pub(super) fn follow(
    after: &[(Pattern, Vec<Pattern>)],
    roots: &mut BTreeMap<Root, RootFacts>,
) -> Result<(), Vec<EstateError>> {
    let mut errors = Vec::new();
    let names: Vec<Root> = roots.keys().cloned().collect();
    for (key, values) in after {
        let upstreams: Vec<Root> = values
            .iter()
            .flat_map(|it| named(it, &names, &mut errors))
            .cloned()
            .collect();
        for root in named(key, &names, &mut errors) {
            if let Some(facts) = roots.get_mut(root) {
                facts
                    .follows
                    .extend(upstreams.iter().filter(|it| *it != root).cloned());
            }
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// The roots a pattern names; an order that names nobody is most likely a typing error.
fn named<'a>(pattern: &Pattern, names: &'a [Root], errors: &mut Vec<EstateError>) -> Vec<&'a Root> {
    let found: Vec<_> = names
        .iter()
        .filter(|it| pattern.matches(it.as_str()))
        .collect();
    if found.is_empty() {
        errors.push(EstateError::UnknownRoot {
            place: pattern.place.clone(),
            name: pattern.name.clone(),
            roots: names.to_vec(),
        });
    }
    found
}
