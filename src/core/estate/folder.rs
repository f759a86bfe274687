//! The files of one directory, and what they say together.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::estate::blocks::{self, Blocks};
use crate::core::estate::paths;
use crate::core::estate::{Files, Warnings};

/// How often a link may point at a link.
const HOPS: usize = 8;

/// One file as its directory sees it.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) path: &'a str,
    /// Where the text stands: another path when the file is a symbolic link.
    pub(super) stands_at: &'a str,
    pub(super) text: &'a str,
}

/// What the files of one directory say together.
#[derive(Default)]
pub(super) struct Folder {
    pub(super) blocks: Blocks,
    /// Files that do not parse.
    pub(super) unreadable: BTreeSet<String>,
    /// Whether a file that does not parse looks like one that makes a root.
    pub(super) looks_like_root: bool,
    /// Files elsewhere that its symbolic links stand for.
    pub(super) links: BTreeSet<String>,
}

/// Whether git should read a file for the estate: Terraform's or OpenTofu's suffix, and no directory that tools make.
pub fn is_estate_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let is_made = |dir: &str| dir.is_empty() || dir.starts_with('.') || dir == "node_modules";
    let suffixes = [".tf", ".tofu", ".tf.json", ".tofu.json"];
    !name.starts_with('.') && suffixes.iter().any(|it| name.ends_with(it)) && !parts.any(is_made)
}

/// Reads every directory that holds Terraform files.
pub(super) fn read_all(files: &Files, warnings: &mut Warnings) -> BTreeMap<String, Folder> {
    let estate_files = files.keys().filter(|it| is_estate_file(it));
    let dirs: BTreeSet<&str> = estate_files.map(|it| paths::parent(it)).collect();
    let folders = dirs
        .into_iter()
        .map(|dir| (dir.to_owned(), read(files, dir, warnings)));
    folders.collect()
}

fn read(files: &Files, dir: &str, warnings: &mut Warnings) -> Folder {
    let mut folder = Folder::default();
    let mut overrides = Blocks::default();
    let texts = texts_of(files, dir);
    for it in texts.iter().filter(|it| !is_shadowed(files, it.path)) {
        if it.stands_at != it.path {
            folder.links.insert(it.stands_at.to_owned());
        }
        match blocks::read(it.path, it.text) {
            Ok(blocks) if is_override(it.path) => overrides.merge(blocks),
            Ok(blocks) => folder.blocks.merge(blocks),
            Err(error) => {
                warnings.insert(format!(
                    "`{}` cannot be read at line {}, column {}: {}. What it says of states and modules is not known.",
                    it.path, error.line, error.column, error.why
                ));
                folder.looks_like_root |= blocks::looks_like_root(it.path, it.text);
                folder.unreadable.insert(it.path.to_owned());
            }
        }
    }
    if !overrides.backends.is_empty() {
        folder.blocks.backends.clear();
    }
    folder.blocks.merge(overrides);
    folder
}

/// The files right in a directory, by name; links among the files are followed.
pub(super) fn texts_of<'a>(files: &'a Files, dir: &str) -> Vec<Text<'a>> {
    let prefix = match dir {
        "." => String::new(),
        dir => format!("{dir}/"),
    };
    let below = files
        .range(prefix.clone()..)
        .take_while(|(path, _)| path.starts_with(&prefix));
    let own = below.filter(|(path, _)| is_estate_file(path) && paths::parent(path) == dir);
    own.map(|(path, text)| follow_links(files, path, text))
        .collect()
}

/// Git keeps a symbolic link as a file that holds a path, which no Terraform text can be.
fn follow_links<'a>(files: &'a Files, path: &'a str, text: &'a str) -> Text<'a> {
    let (mut stands_at, mut text) = (path, text);
    for _ in 0..HOPS {
        let is_path = text.len() < 1024 && !text.contains(['\n', '{', '=', '"']);
        let target = paths::join(paths::parent(stands_at), text).filter(|_| is_path);
        let Some((found, content)) = target.and_then(|it| files.get_key_value(&it)) else {
            break;
        };
        (stands_at, text) = (found, content);
    }
    Text {
        path,
        stands_at,
        text,
    }
}

/// OpenTofu reads `x.tofu` in place of `x.tf`; who has both files means OpenTofu.
fn is_shadowed(files: &Files, path: &str) -> bool {
    let twin = match path.strip_suffix(".json") {
        Some(path) => path.strip_suffix(".tf").map(|it| format!("{it}.tofu.json")),
        None => path.strip_suffix(".tf").map(|it| format!("{it}.tofu")),
    };
    twin.is_some_and(|it| files.contains_key(&it))
}

/// Terraform's override files replace what the others say.
fn is_override(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    stem == "override" || stem.ends_with("_override")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(pairs: &[(&str, &str)]) -> Files {
        pairs
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }

    fn only_backend(pairs: &[(&str, &str)]) -> String {
        let folder = read(&files(pairs), "app", &mut Warnings::new());
        let kinds: Vec<_> = folder
            .blocks
            .backends
            .into_iter()
            .map(|it| it.kind)
            .collect();
        kinds.join(" ")
    }

    const S3: &str = "terraform {\n backend \"s3\" {}\n}";
    const GCS: &str = "terraform {\n backend \"gcs\" {}\n}";

    #[test]
    fn only_terraform_files_outside_tools_folders_are_read() {
        for (path, wanted) in [
            ("main.tf", true),
            ("a/b/main.tofu", true),
            ("a/main.tf.json", true),
            ("a/main.tofu.json", true),
            ("a/main.tfvars", false),
            ("a/main.json", false),
            ("a/tf", false),
            ("a/.tf", false),
            ("a/.hidden.tf", false),
            ("a/.terraform/modules/x/main.tf", false),
            (".git/x.tf", false),
            ("a/.terragrunt-cache/x/main.tf", false),
            ("node_modules/x/main.tf", false),
            (".github/main.tf", false),
            ("my_node_modules/main.tf", true),
            ("/etc/main.tf", false),
            ("../main.tf", false),
            ("", false),
        ] {
            assert_eq!(is_estate_file(path), wanted, "{path}");
        }
    }

    #[test]
    fn files_of_deeper_directories_are_not_its_own() {
        let files = files(&[
            ("a/b/x.tf", ""),
            ("a/x.tf", ""),
            ("ab/x.tf", ""),
            ("x.tf", ""),
        ]);
        let names = |dir| {
            texts_of(&files, dir)
                .iter()
                .map(|it| it.path)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("a"), ["a/x.tf"]);
        assert_eq!(names("."), ["x.tf"]);
    }

    #[test]
    fn an_override_file_replaces_the_backend() {
        assert_eq!(
            only_backend(&[("app/a_override.tf", GCS), ("app/main.tf", S3)]),
            "gcs"
        );
        assert_eq!(
            only_backend(&[("app/override.tf.json", "{}"), ("app/main.tf", S3)]),
            "s3"
        );
    }

    #[test]
    fn a_tofu_file_stands_for_the_tf_file_of_its_name() {
        assert_eq!(
            only_backend(&[("app/main.tf", S3), ("app/main.tofu", GCS)]),
            "gcs"
        );
        assert_eq!(
            only_backend(&[("app/main.tf.json", "["), ("app/main.tofu.json", "{}")]),
            ""
        );
    }

    #[test]
    fn a_link_to_a_file_is_read_there() {
        let files = files(&[("app/main.tf", "../shared/main.tf"), ("shared/main.tf", S3)]);
        let folder = read(&files, "app", &mut Warnings::new());
        assert!(folder.unreadable.is_empty());
        assert_eq!(folder.blocks.backends.len(), 1);
        assert!(folder.links.contains("shared/main.tf"));
    }

    #[test]
    fn links_in_a_circle_end() {
        let files = files(&[("app/a.tf", "b.tf"), ("app/b.tf", "a.tf")]);
        read(&files, "app", &mut Warnings::new());
    }
}
