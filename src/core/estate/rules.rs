//! The project's globs of roots, compiled: which directories are roots, which go first, which go after which.

use globset::{GlobBuilder, GlobMatcher};

use crate::core::config::project::Project;
use crate::core::estate::error::EstateError;
use crate::core::ids::Root;

/// What the project file says about roots and their order.
pub(super) struct Rules {
    /// Empty is "found by what they hold".
    pub(super) roots: Vec<Pattern>,
    pub(super) canary: Vec<Pattern>,
    pub(super) after: Vec<(Pattern, Vec<Pattern>)>,
}

/// An exact name of a root, or a glob of roots.
pub(super) struct Pattern {
    /// Where it stands in the project file.
    pub(super) place: String,
    /// As a root would be named, without `./` before and `/` behind.
    pub(super) name: String,
    matcher: GlobMatcher,
}

impl Rules {
    /// Compiles every glob of the project, or tells all that cannot be read.
    pub(super) fn compile(project: &Project) -> Result<Self, Vec<EstateError>> {
        let mut errors = Vec::new();
        let mut all = |place: &str, globs: &[String]| -> Vec<Pattern> {
            let compiled = globs.iter().map(|glob| Pattern::compile(place, glob));
            compiled
                .filter_map(|it| it.map_err(|error| errors.push(error)).ok())
                .collect()
        };
        let roots = all("roots", &project.roots);
        let canary = all("waves.canary", &project.waves.canary);
        let mut after = Vec::new();
        for (key, values) in &project.waves.after {
            let key_pattern = all("waves.after", std::slice::from_ref(key)).pop();
            let values = all(&format!("waves.after.{key}"), values);
            after.extend(key_pattern.map(|it| (it, values)));
        }
        if errors.is_empty() {
            Ok(Self {
                roots,
                canary,
                after,
            })
        } else {
            Err(errors)
        }
    }
}

impl Pattern {
    fn compile(place: &str, glob: &str) -> Result<Self, EstateError> {
        let bad = |why: String| EstateError::BadGlob {
            place: place.to_owned(),
            glob: glob.to_owned(),
            why,
        };
        let name = match glob.trim_end_matches('/') {
            "." => ".",
            name => name.trim_start_matches("./"),
        };
        if let Some(why) = misread(name) {
            return Err(bad(why.to_owned()));
        }
        let built = GlobBuilder::new(name).literal_separator(true).build();
        let matcher = built
            .map_err(|error| bad(error.kind().to_string()))?
            .compile_matcher();
        Ok(Self {
            place: place.to_owned(),
            name: name.to_owned(),
            matcher,
        })
    }

    /// Whether it names `root`, exactly or as a glob.
    pub(super) fn matches(&self, root: &str) -> bool {
        self.is_exactly(root) || self.matcher.is_match(root)
    }

    /// Whether it is `root`'s own name.
    fn is_exactly(&self, root: &str) -> bool {
        self.name == root
    }
}

/// What other tools read differently from us would match nothing here, silently; so it is refused.
fn misread(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.starts_with('!') {
        Some("there is no `!`; list the directories that are meant")
    } else if name.starts_with('/') {
        Some("it starts with `/`; write it from the top of the repository")
    } else if name.contains('\\') {
        Some("it holds `\\`; write `/` between the parts")
    } else {
        None
    }
}

/// Whether any of `patterns` names `root`.
pub(super) fn any_matches(patterns: &[Pattern], root: &Root) -> bool {
    patterns.iter().any(|it| it.matches(root.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(glob: &str) -> Result<Pattern, EstateError> {
        Pattern::compile("roots", glob)
    }

    #[test]
    fn a_star_stays_in_one_part_of_the_path() {
        for (glob, root, wanted) in [
            ("envs/*", "envs/dev", true),
            ("envs/*", "envs/dev/app", false),
            ("envs/**", "envs/dev/app", true),
            ("**/app", "envs/dev/app", true),
            ("**/app", "app", true),
            ("envs/de?", "envs/dev", true),
            ("envs/de?", "envs/de/", false),
            ("./envs/*/", "envs/dev", true),
            (".", ".", true),
            ("./", ".", true),
            ("*", "envs/dev", false),
            ("envs", "envs/dev", false),
            ("env", "envs", false),
            ("Envs/*", "envs/dev", false),
            ("a/[x]", "a/[x]", true),
            ("{a,b}/c", "b/c", true),
        ] {
            assert_eq!(
                pattern(glob).unwrap().matches(root),
                wanted,
                "{glob} on {root}"
            );
        }
    }

    #[test]
    fn a_glob_that_would_silently_match_nothing_is_refused() {
        for glob in ["", "!prod/**", "/envs/*", "envs\\dev", "envs/[a", "{a"] {
            assert!(pattern(glob).is_err(), "{glob}");
        }
    }

    #[test]
    fn every_bad_glob_is_told_with_its_place() {
        let mut project = Project {
            roots: vec!["[".to_owned()],
            ..Project::default()
        };
        project.waves.canary = vec!["!x".to_owned()];
        project
            .waves
            .after
            .insert("app".to_owned(), vec!["/y".to_owned()]);
        let errors = Rules::compile(&project).err().unwrap();
        let places: Vec<_> = errors.iter().map(|it| it.to_string()).collect();
        assert_eq!(places.len(), 3);
        assert!(places[0].starts_with("roots: "), "{places:?}");
        assert!(places[1].starts_with("waves.canary: "), "{places:?}");
        assert!(places[2].starts_with("waves.after.app: "), "{places:?}");
    }
}
