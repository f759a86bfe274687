//! What holds for every estate that can be made up.

use proptest::prelude::*;

use super::*;
use crate::core::estate::error::{Link, LinkKind};

/// A made-up estate: how many roots, who waits for whom, and in which of both ways.
#[derive(Clone, Debug)]
struct Sketch {
    count: usize,
    edges: Vec<(usize, usize, bool)>,
    canaries: Vec<usize>,
}

impl Sketch {
    /// Names whose order has nothing to do with the order of the waves.
    fn name(&self, number: usize) -> String {
        format!("r{}", (number * 7 + 3) % 11)
    }

    fn files(&self) -> Vec<(String, String)> {
        let numbers = 0..self.count;
        let texts = numbers.map(|number| {
            let reads = self.edges.iter().filter(|it| it.0 == number && it.2);
            let reads: Vec<_> = reads.map(|it| self.name(it.1)).collect();
            let reads: Vec<_> = reads.iter().map(String::as_str).collect();
            reading(&self.name(number), &reads)
        });
        texts.collect()
    }

    fn project(&self) -> Project {
        let mut project = Project::default();
        for (root, upstream, _) in self.edges.iter().filter(|it| !it.2) {
            let values = project.waves.after.entry(self.name(*root)).or_default();
            values.push(self.name(*upstream));
        }
        project.waves.canary = self.canaries.iter().map(|it| self.name(*it)).collect();
        project
    }

    fn read(&self) -> Result<Estate, Vec<EstateError>> {
        read(&self.files(), &self.project())
    }

    fn is_canary(&self, root: &Root) -> bool {
        self.canaries
            .iter()
            .any(|it| self.name(*it) == root.as_str())
    }
}

/// Any edges but those from a root to itself.
fn knotted() -> impl Strategy<Value = Sketch> {
    (1..11_usize).prop_flat_map(|count| {
        let edge = (0..count, 0..count, any::<bool>());
        let edge = edge.prop_filter("a root does not wait for itself", |it| it.0 != it.1);
        let edges = prop::collection::vec(edge, 0..if count > 1 { 14 } else { 1 });
        (Just(count), edges, prop::collection::vec(0..count, 0..4)).prop_map(
            |(count, edges, canaries)| Sketch {
                count,
                edges,
                canaries,
            },
        )
    })
}

/// Only edges to a lower number, so there is no circle.
fn ordered() -> impl Strategy<Value = Sketch> {
    knotted().prop_map(|mut it| {
        it.edges
            .iter_mut()
            .for_each(|edge| *edge = (edge.0.max(edge.1), edge.0.min(edge.1), edge.2));
        it
    })
}

proptest! {
    #[test]
    fn a_root_stands_after_all_it_waits_for_unless_it_is_a_canary(sketch in ordered()) {
        let estate = sketch.read().unwrap();
        for root in estate.roots.keys() {
            for upstream in estate.upstreams(root) {
                let is_inverted = sketch.is_canary(root) && !sketch.is_canary(upstream);
                prop_assert!(is_inverted || estate.wave_of(upstream) < estate.wave_of(root), "{upstream} → {root}");
                prop_assert_ne!(estate.wave_of(upstream), estate.wave_of(root));
            }
        }
    }

    #[test]
    fn every_root_stands_in_exactly_one_wave(sketch in ordered()) {
        let estate = sketch.read().unwrap();
        let mut members: Vec<_> = estate.waves.concat();
        members.sort();
        prop_assert_eq!(members, estate.roots.keys().cloned().collect::<Vec<_>>());
        prop_assert!(estate.waves.iter().all(|it| !it.is_empty() && it.is_sorted()));
    }

    #[test]
    fn one_more_edge_never_moves_a_root_earlier(mut sketch in ordered(), by_read in any::<bool>()) {
        sketch.canaries.clear();
        let before = sketch.read().unwrap();
        for upstream in 0..sketch.count.saturating_sub(1) {
            let mut more = sketch.clone();
            more.edges.push((sketch.count - 1, upstream, by_read));
            let after = more.read().unwrap();
            for root in before.roots.keys() {
                prop_assert!(before.wave_of(root) <= after.wave_of(root));
            }
        }
    }

    #[test]
    fn the_order_of_the_texts_does_not_matter(sketch in ordered()) {
        let mut turned = sketch.clone();
        turned.edges.reverse();
        turned.canaries.reverse();
        prop_assert_eq!(turned.read().unwrap(), sketch.read().unwrap());
    }

    #[test]
    fn there_are_waves_or_a_true_circle(sketch in knotted()) {
        let Err(errors) = sketch.read() else { return Ok(()) };
        for error in errors {
            let EstateError::Cycle(links) = error else { panic!("{error}") };
            let ends = links.iter().cycle().skip(1);
            for (link, next) in links.iter().zip(ends) {
                prop_assert_eq!(&link.upstream, &next.root);
                let is_link = |it: &&(usize, usize, bool)| {
                    let Link { root, upstream, by } = link;
                    sketch.name(it.0) == root.as_str()
                        && sketch.name(it.1) == upstream.as_str()
                        && it.2 == (*by == LinkKind::Reads)
                };
                prop_assert!(sketch.edges.iter().any(|it| is_link(&it)));
            }
        }
    }

    #[test]
    fn what_a_change_reaches_is_closed_under_reading(sketch in ordered(), touched in 0..11_usize) {
        let estate = sketch.read().unwrap();
        let reach = estate.reach(&[format!("{}/x", sketch.name(touched))]);
        for root in &reach.members {
            prop_assert!(estate.readers(root).into_iter().all(|it| reach.members.contains(it)));
        }
    }

    #[test]
    fn no_text_stops_the_reading(path in "[a-c./:]{0,6}", text in any::<String>(), noise in "[a-z\"{}$%=.()\n]{0,60}") {
        let (_, app) = reading("app", &["net"]);
        let files: Files = [
            (format!("{path}.tf"), text.clone()),
            (format!("{path}.tf.json"), text),
            ("app/main.tf".to_owned(), format!("{app}{noise}")),
            ("app/more.tf".to_owned(), format!("module \"m\" {{ source = \"{noise}\" }}")),
        ].into();
        let estate = Estate::read(&files, &Project::default()).unwrap();
        prop_assert!(estate.roots.contains_key(&root("app")));
        estate.reach(&[path]);
    }
}
