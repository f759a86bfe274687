//! What a diff reaches.

use std::collections::{BTreeSet, HashMap};

use crate::core::estate::{Estate, Reach, ReachedWave, paths};
use crate::core::ids::Root;

impl Estate {
    /// What a change of these paths reaches. A path touches the roots that watch it or a directory above it, compared
    /// part by part; a root at `.` is touched by anything.
    ///
    /// The paths of a root that the change deletes whole touch nothing by themselves, because the root is no longer
    /// there; [`Estate::taken_away`] tells of it.
    pub fn reach(&self, changed: &[String]) -> Reach {
        let mut watchers: HashMap<&str, Vec<&Root>> = HashMap::new();
        for (root, facts) in &self.roots {
            for path in &facts.watches {
                watchers.entry(path).or_default().push(root);
            }
        }
        let paths: BTreeSet<&str> = changed
            .iter()
            .flat_map(|it| paths::with_ancestors(it))
            .collect();
        let touched = paths
            .into_iter()
            .filter_map(|it| watchers.get(it))
            .flatten();
        self.reach_of(touched.copied().cloned().collect())
    }

    /// What a change of every root reaches: all of them.
    pub fn everything(&self) -> Reach {
        self.reach_of(self.roots.keys().cloned().collect())
    }

    /// The waves a reach meets, in order, with the members it meets.
    pub fn reached_waves(&self, reach: &Reach) -> Vec<ReachedWave> {
        let waves = self.numbered_waves().map(|(number, members)| ReachedWave {
            number,
            members: members
                .iter()
                .filter(|it| reach.members.contains(it))
                .cloned()
                .collect(),
        });
        waves.filter(|it| !it.members.is_empty()).collect()
    }

    fn reach_of(&self, touched: BTreeSet<Root>) -> Reach {
        let readers = self.all_readers();
        let mut members: BTreeSet<&Root> = touched.iter().collect();
        let mut queue: Vec<&Root> = touched.iter().collect();
        while let Some(root) = queue.pop() {
            for reader in readers.get(root).into_iter().flatten() {
                if members.insert(reader) {
                    queue.push(reader);
                }
            }
        }
        let members = members.into_iter().cloned().collect();
        Reach { touched, members }
    }
}
