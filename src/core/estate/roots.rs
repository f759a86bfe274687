//! Which directories are roots, where each keeps its state, and which paths touch it.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::estate::address;
use crate::core::estate::blocks::Value;
use crate::core::estate::folder::Folder;
use crate::core::estate::paths;
use crate::core::estate::rules::{self, Pattern};
use crate::core::estate::{RootFacts, Warnings};
use crate::core::ids::Root;

/// Finds the roots: directories that `globs` name, or without globs those that hold a backend, a cloud block or a
/// provider.
pub(super) fn find(
    folders: &BTreeMap<String, Folder>,
    globs: &[Pattern],
    warnings: &mut Warnings,
) -> BTreeMap<Root, RootFacts> {
    let mut roots = BTreeMap::new();
    for (dir, folder) in folders {
        let root = match Root::try_from(dir.as_str()) {
            Ok(root) => root,
            Err(error) => {
                warnings.insert(format!("A directory is left out: {error}."));
                continue;
            }
        };
        let is_root = if globs.is_empty() {
            folder.blocks.make_a_root() || folder.looks_like_root
        } else {
            rules::any_matches(globs, &root)
        };
        if is_root {
            let facts = facts(folders, folder, &root, warnings);
            roots.insert(root, facts);
        }
    }
    if globs.is_empty() {
        warn_of_modules(folders, &roots, warnings);
    }
    warn_of_twins(&roots, warnings);
    roots
}

fn facts(
    folders: &BTreeMap<String, Folder>,
    folder: &Folder,
    root: &Root,
    warnings: &mut Warnings,
) -> RootFacts {
    RootFacts {
        state: state(folder, root, warnings),
        watches: watches(folders, root, warnings),
        unreadable: folder.unreadable.clone(),
        ..RootFacts::default()
    }
}

fn state(folder: &Folder, root: &Root, warnings: &mut Warnings) -> Option<address::StateAddress> {
    let Some(backend) = folder.blocks.backends.last() else {
        // What cannot be read may name a backend; and a live block keeps no state file that others could read.
        let is_known = folder.unreadable.is_empty() && !folder.blocks.is_live;
        return is_known.then(|| address::beside_the_code(root));
    };
    let found = address::of_backend(backend, root);
    let found = found.map_err(|why| {
        let block = match backend.kind.as_str() {
            "cloud" => "cloud".to_owned(),
            kind => format!("backend \"{kind}\""),
        };
        warnings.insert(format!(
            "Where `{root}` keeps its state cannot be told from `{block}`: {why}. Roots that read it are not put \
             after it."
        ));
    });
    found.ok()
}

/// Its own directory, the local modules it calls, and where symbolic links among its files lead. Modules may call each
/// other in circles.
fn watches(
    folders: &BTreeMap<String, Folder>,
    root: &Root,
    warnings: &mut Warnings,
) -> BTreeSet<String> {
    let mut watches = BTreeSet::from([root.as_str().to_owned()]);
    let mut queue = vec![root.as_str().to_owned()];
    while let Some(dir) = queue.pop() {
        let Some(folder) = folders.get(&dir) else {
            continue;
        };
        watches.extend(folder.links.iter().cloned());
        for call in &folder.blocks.calls {
            let called = local_module(&dir, call.source.as_ref());
            if let Some(why) = unfollowed(folders, &called) {
                warnings.insert(format!("Module `{}` in `{dir}`: {why}.", call.label));
            }
            let Called::Local(module) = called else {
                continue;
            };
            if watches.insert(module.clone()) {
                queue.push(module);
            }
        }
    }
    watches
}

/// Why changes of a called module may go unseen.
fn unfollowed(folders: &BTreeMap<String, Folder>, called: &Called) -> Option<String> {
    match called {
        Called::Local(module) if folders.contains_key(module) => None,
        Called::Local(module) => Some(format!(
            "`{module}` holds no Terraform files in this commit; links to directories and submodules are not followed"
        )),
        Called::Remote => None,
        Called::Outside => {
            Some("its source leaves the repository, so its changes are not seen".to_owned())
        }
        Called::Unknown => {
            Some("its source is not a literal, so its changes are not seen".to_owned())
        }
    }
}

/// Where a module call leads.
#[derive(Debug, PartialEq)]
pub(super) enum Called {
    /// A directory of the repository.
    Local(String),
    /// A registry, a git address, an archive: pinned by its own version.
    Remote,
    Outside,
    Unknown,
}

/// Tells where the module call of a directory leads: only sources with `./` or `../` are local.
pub(super) fn local_module(dir: &str, source: Option<&Value>) -> Called {
    match source {
        Some(Value::Text(source)) if is_local(source) => {
            paths::join(dir, source).map_or(Called::Outside, Called::Local)
        }
        Some(Value::Text(_)) => Called::Remote,
        Some(Value::Object(_) | Value::Other) | None => Called::Unknown,
    }
}

fn is_local(source: &str) -> bool {
    source.starts_with("./") || source.starts_with("../")
}

/// An old habit puts providers into modules, which makes them look like roots.
fn warn_of_modules(
    folders: &BTreeMap<String, Folder>,
    roots: &BTreeMap<Root, RootFacts>,
    warnings: &mut Warnings,
) {
    let has_no_state = |dir: &str| {
        folders
            .get(dir)
            .is_some_and(|it| it.blocks.backends.is_empty())
    };
    for (root, facts) in roots {
        let modules = facts.watches.iter().filter(|it| *it != root.as_str());
        let modules = modules.filter_map(|it| Root::try_from(it.as_str()).ok());
        for module in modules.filter(|it| roots.contains_key(it) && has_no_state(it.as_str())) {
            warnings.insert(format!(
                "`{module}` counts as a root because it holds a provider, but other roots call it as a module. If it \
                 is only a module, list the directories that are roots under `roots`."
            ));
        }
    }
}

/// Two roots under one name or one state are most likely a mistake that costs a state.
fn warn_of_twins(roots: &BTreeMap<Root, RootFacts>, warnings: &mut Warnings) {
    let mut by_name: BTreeMap<String, &Root> = BTreeMap::new();
    let mut by_state: BTreeMap<&address::StateAddress, &Root> = BTreeMap::new();
    for (root, facts) in roots {
        if let Some(twin) = by_name.insert(root.as_str().to_lowercase(), root) {
            warnings.insert(format!(
                "The roots `{twin}` and `{root}` differ only in upper and lower case."
            ));
        }
        let state = facts.state.as_ref().filter(|it| it.is_whole());
        if let Some(twin) = state.and_then(|it| by_state.insert(it, root)) {
            warnings.insert(format!(
                "The roots `{twin}` and `{root}` keep their state at one address."
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::project::Project;
    use crate::core::estate::folder;
    use crate::core::estate::rules::Rules;

    const PROVIDER: &str = "provider \"aws\" {}\n";

    /// The roots and warnings of some files, with `roots` globs.
    fn find_with(globs: &[&str], files: &[(&str, &str)]) -> (BTreeMap<Root, RootFacts>, Warnings) {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        let project = Project {
            roots: globs.iter().map(|it| (*it).to_owned()).collect(),
            ..Project::default()
        };
        let mut warnings = Warnings::new();
        let folders = folder::read_all(&files.collect(), &mut warnings);
        let rules = Rules::compile(&project).unwrap();
        let roots = find(&folders, &rules.roots, &mut warnings);
        (roots, warnings)
    }

    fn names(globs: &[&str], files: &[(&str, &str)]) -> String {
        let names: Vec<_> = find_with(globs, files)
            .0
            .into_keys()
            .map(String::from)
            .collect();
        names.join(" ")
    }

    fn only(files: &[(&str, &str)]) -> (RootFacts, Warnings) {
        let (roots, warnings) = find_with(&[], files);
        let mut roots: Vec<_> = roots.into_values().collect();
        (roots.remove(0), warnings)
    }

    #[test]
    fn a_directory_is_a_root_by_what_it_holds() {
        for (path, text, wanted) in [
            (
                "a/x.tf.json",
                r#"{"terraform": {"backend": {"s3": {}}}}"#,
                "a",
            ),
            (
                "a/x.tf.json",
                r#"{"terraform": {"cloud": {"organization": "x"}}}"#,
                "a",
            ),
            ("a/x.tf.json", r#"{"provider": {"aws": {}}}"#, "a"),
            (
                "a/x.tf.json",
                r#"{"terraform": {"required_providers": {}}}"#,
                "",
            ),
            ("a/x.tf", "terraform {\n backend \"s3\" {}\n}", "a"),
            ("a/x.tf", "terraform {\n cloud {}\n}", "a"),
            ("a/x.tf", "terraform {\n live \"x\" {}\n}", "a"),
            ("a/x.tf", "live {}", ""),
            ("a/x.tf", PROVIDER, "a"),
            ("a/x.tofu", PROVIDER, "a"),
            ("x.tf", PROVIDER, "."),
            (
                "a/x.tf",
                "terraform {\n required_providers {\n aws = {}\n }\n}",
                "",
            ),
            (
                "a/x.tf",
                "# provider \"aws\" {}\n/* terraform { cloud {} } */",
                "",
            ),
            ("a/x.tf", "module \"m\" {\n source = \"./m\"\n}", ""),
            ("a/.x/x.tf", PROVIDER, ""),
            ("a/x.hcl", PROVIDER, ""),
        ] {
            assert_eq!(names(&[], &[(path, text)]), wanted, "{text}");
        }
    }

    #[test]
    fn globs_name_roots_among_directories_with_terraform_files() {
        let files = [
            ("envs/dev/x.tf", ""),
            ("envs/prod/x.tf", PROVIDER),
            ("envs/docs/x.md", ""),
            ("other/x.tf", PROVIDER),
        ];
        assert_eq!(names(&["envs/*"], &files), "envs/dev envs/prod");
        assert_eq!(names(&["nothing"], &files), "");
    }

    #[test]
    fn a_broken_file_does_not_hide_the_root_that_another_file_makes() {
        let (facts, warnings) = only(&[
            ("a/x.tf", PROVIDER),
            ("a/y.tf", "module \"m\" {\n x = ]\n}"),
        ]);
        assert_eq!(facts.unreadable, BTreeSet::from(["a/y.tf".to_owned()]));
        assert_eq!(facts.state, None);
        let warning = warnings.first().unwrap();
        assert!(
            warning.starts_with("`a/y.tf` cannot be read at line 2, column 6: "),
            "{warning}"
        );
    }

    #[test]
    fn a_broken_file_alone_makes_a_root_when_it_looks_like_one() {
        assert_eq!(names(&[], &[("a/x.tf", "provider \"aws\" {\n")]), "a");
        assert_eq!(names(&[], &[("a/x.tf", "# provider \"aws\" {\n]")]), "");
    }

    #[test]
    fn a_root_watches_the_modules_it_calls_through_and_through() {
        let (facts, warnings) = only(&[
            (
                "a/x.tf",
                "provider \"aws\" {}\nmodule \"m\" {\n source = \"../m//sub\"\n}",
            ),
            (
                "m/sub/x.tf.json",
                r#"{"module": {"n": {"source": "../../n"}, "r": {"source": "acme/net/aws"}}}"#,
            ),
            ("n/x.tf", "module \"back\" {\n source = \"../m/sub\"\n}"),
        ]);
        let watches: Vec<_> = facts.watches.iter().map(String::as_str).collect();
        assert_eq!(watches, ["a", "m/sub", "n"]);
        assert_eq!(warnings, Warnings::new());
    }

    #[test]
    fn a_link_among_its_files_is_watched_where_it_leads() {
        let (facts, _) = only(&[
            ("a/x.tf", "../shared/x.tf"),
            ("shared/x.tf", PROVIDER),
            ("shared/y.tf", ""),
        ]);
        assert!(facts.watches.contains("shared/x.tf"));
    }

    #[test]
    fn a_module_that_cannot_be_followed_is_told() {
        for (source, wanted) in [
            (
                "\"../../m\"",
                "Module `m` in `a`: its source leaves the repository, so its changes are not seen.",
            ),
            (
                "var.m",
                "Module `m` in `a`: its source is not a literal, so its changes are not seen.",
            ),
            (
                "\"./m\"",
                "Module `m` in `a`: `a/m` holds no Terraform files in this commit; links to directories and submodules \
                 are not followed.",
            ),
        ] {
            let text = format!("{PROVIDER}module \"m\" {{\n source = {source}\n}}");
            let (_, warnings) = only(&[("a/x.tf", &text)]);
            assert_eq!(warnings, Warnings::from([wanted.to_owned()]), "{source}");
        }
    }

    #[test]
    fn a_state_that_cannot_be_told_is_told_with_root_and_block() {
        let (facts, warnings) = only(&[("a/x.tf", "terraform {\n backend \"s3\" {}\n}")]);
        assert_eq!(facts.state, None);
        assert_eq!(
            warnings.first().unwrap(),
            "Where `a` keeps its state cannot be told from `backend \"s3\"`: it names no `key`. Roots that read it are \
             not put after it."
        );
    }

    #[test]
    fn a_root_without_a_backend_keeps_its_state_beside_the_code() {
        let (facts, _) = only(&[("a/x.tf", PROVIDER)]);
        assert_eq!(facts.state.unwrap().key, "a/terraform.tfstate");
    }

    #[test]
    fn what_looks_like_a_mistake_is_told() {
        let state = "terraform {\n backend \"local\" {\n path = \"/s\"\n }\n}";
        let partial = "terraform {\n backend \"s3\" {\n key = \"s\"\n }\n}";
        let call = "terraform {\n cloud {}\n}\nmodule \"m\" {\n source = \"../m\"\n}";
        for (files, wanted) in [
            (
                [("a/x.tf", state), ("b/x.tf", state)],
                "The roots `a` and `b` keep their state at one address.",
            ),
            (
                [("A/x.tf", PROVIDER), ("a/x.tf", PROVIDER)],
                "The roots `A` and `a` differ only in upper and lower case.",
            ),
            (
                [("a/x.tf", call), ("m/x.tf", PROVIDER)],
                "`m` counts as a root because it holds a provider",
            ),
            (
                [("a:b/x.tf", PROVIDER), ("b/x.tf", "")],
                "A directory is left out: \"a:b\" is not a path",
            ),
        ] {
            let (_, warnings) = find_with(&[], &files);
            assert!(
                warnings.iter().any(|it| it.starts_with(wanted)),
                "{wanted}: {warnings:?}"
            );
        }
        let (_, warnings) = find_with(&[], &[("a/x.tf", partial), ("b/x.tf", partial)]);
        assert_eq!(warnings, Warnings::new());
    }
}
