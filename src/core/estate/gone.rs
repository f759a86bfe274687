//! Roots that a change takes away: nothing of theirs is destroyed, and nobody plans their state any more.

use std::collections::BTreeMap;

use crate::core::estate::Estate;
use crate::core::estate::address::StateAddress;
use crate::core::ids::Root;

impl Estate {
    /// Roots that were there `before` and no longer are, with the place of their state where it can be told. One whose
    /// state another root keeps was only renamed.
    pub fn taken_away(&self, before: &Self) -> BTreeMap<Root, Option<StateAddress>> {
        let kept = |state: &StateAddress| {
            let mut states = self.roots.values().filter_map(|it| it.state.as_ref());
            states.any(|it| it.lines_up(state))
        };
        let gone = (before.roots.iter())
            .filter(|(root, _)| !self.roots.contains_key(*root))
            .filter(|(_, facts)| !facts.state.as_ref().is_some_and(kept));
        gone.map(|(root, facts)| (root.clone(), facts.state.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::core::config::project::Project;
    use crate::core::estate::Estate;

    fn estate(roots: &[(&str, &str)]) -> Estate {
        let files = roots.iter().map(|(root, key)| {
            let backend = format!("backend \"s3\" {{\n bucket = \"acme\"\n key = \"{key}\"\n}}");
            let text = format!("terraform {{\n{backend}\n}}\n");
            (format!("{root}/main.tf"), text)
        });
        Estate::read(&files.collect(), &Project::default()).unwrap()
    }

    fn taken_away(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
        let gone = estate(after).taken_away(&estate(before)).into_iter();
        gone.map(|(root, state)| {
            let place = state.map_or_else(|| "?".to_owned(), |it| it.to_string());
            format!("{root} {place}")
        })
        .collect()
    }

    #[test]
    fn a_root_that_is_no_longer_there_leaves_its_state_behind() {
        let both = [("net", "net"), ("app", "app")];
        assert_eq!(taken_away(&both, &both[..1]), ["app `s3` acme/app"]);
        assert_eq!(taken_away(&both[..1], &both), [""; 0]);
        let untold = [("net", "${var.key}")];
        assert_eq!(taken_away(&untold, &[]), ["net ?"]);
    }

    #[test]
    fn a_root_whose_state_another_one_keeps_was_renamed() {
        let renamed = [("network", "net")];
        assert_eq!(taken_away(&[("net", "net")], &renamed), [""; 0]);
    }
}
