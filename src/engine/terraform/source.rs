//! The text that stands for what plan JSON does not show: provider and provisioner source, the files it reads, the
//! values of the variables it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::core::estate::binding::binding_source;
use crate::core::ids::Root;
use crate::core::key::hex;
use crate::engine::Checkout;

/// The part of plan JSON that holds the values of a root's variables, wherever they were set.
#[derive(Deserialize)]
struct Variables<'a> {
    #[serde(borrow, default)]
    variables: BTreeMap<String, Variable<'a>>,
}

#[derive(Deserialize)]
struct Variable<'a> {
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

/// What plan JSON does not show, before the plan is made: code that runs while planning may change the files.
#[derive(Debug, Default)]
pub(super) struct Source {
    texts: Vec<String>,
    /// SHA-256 by path; a link stands for the path it holds, none for what is not there.
    files: BTreeMap<String, Option<String>>,
    variables: BTreeSet<String>,
}

impl Source {
    /// Gathers it from the files as they are now.
    pub(super) fn gather(checkout: &Checkout, root: &Root) -> io::Result<Self> {
        let binding = binding_source(&checkout.files, root);
        let mut files = BTreeMap::new();
        for path in binding.files.iter().chain(&binding.folders) {
            hash_below(&checkout.dir, path, &mut files)?;
        }
        Ok(Self {
            texts: binding.texts,
            files,
            variables: binding.variables,
        })
    }

    /// The text that stands for it, with the values that its variables had in a plan, as Terraform writes them; none
    /// when there is no such source.
    pub(super) fn text(&self, plan: &[u8]) -> serde_json::Result<Option<String>> {
        if self.texts.is_empty() {
            return Ok(None);
        }
        let plan: Variables = serde_json::from_slice(plan)?;
        let value = |name| plan.variables.get(name).and_then(|it| it.value);
        let values: BTreeMap<&str, Option<&RawValue>> = self
            .variables
            .iter()
            .map(|name| (name.as_str(), value(name)))
            .collect();
        serde_json::to_string(&(&self.texts, &self.files, values)).map(Some)
    }
}

fn hash_below(
    top: &Path,
    path: &str,
    files: &mut BTreeMap<String, Option<String>>,
) -> io::Result<()> {
    let full = top.join(path);
    let Ok(about) = fs::symlink_metadata(&full) else {
        files.insert(path.to_owned(), None);
        return Ok(());
    };
    if about.is_dir() {
        for entry in fs::read_dir(&full)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != ".git" {
                let below = if path == "." {
                    name
                } else {
                    format!("{path}/{name}")
                };
                hash_below(top, &below, files)?;
            }
        }
        return Ok(());
    }
    let bytes = if about.is_symlink() {
        let target = fs::read_link(&full)?;
        target.into_os_string().into_encoded_bytes()
    } else {
        fs::read(&full)?
    };
    files.insert(path.to_owned(), Some(hex(&Sha256::digest(bytes))));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "variable \"region\" {}\nprovider \"aws\" {\n  region = var.region\n  policy = \
        file(\"${path.module}/policy.json\")\n}\n";

    fn place() -> (tempfile::TempDir, Checkout) {
        let folder = tempfile::tempdir().unwrap();
        let mut checkout = Checkout::below(folder.path());
        fs::create_dir_all(checkout.dir.join("net")).unwrap();
        fs::write(checkout.dir.join("net/policy.json"), "{}").unwrap();
        checkout.files = [("net/main.tf".to_owned(), TEXT.to_owned())].into();
        (folder, checkout)
    }

    fn text_for(checkout: &Checkout, region: &str) -> Option<String> {
        let json =
            format!(r#"{{"variables":{{"region":{{"value":"{region}"}},"x":{{"value":1}}}}}}"#);
        let source = Source::gather(checkout, &Root::try_from("net").unwrap());
        source.unwrap().text(json.as_bytes()).unwrap()
    }

    #[test]
    fn a_variable_that_a_provider_uses_counts_wherever_it_was_set() {
        let (_folder, checkout) = place();
        assert_eq!(text_for(&checkout, "eu"), text_for(&checkout, "eu"));
        assert_ne!(text_for(&checkout, "eu"), text_for(&checkout, "us"));
    }

    #[test]
    fn a_file_that_a_provider_reads_counts() {
        let (_folder, checkout) = place();
        let before = text_for(&checkout, "eu");
        fs::write(checkout.dir.join("net/policy.json"), "{\"allow\":1}").unwrap();
        assert_ne!(text_for(&checkout, "eu"), before);
    }

    #[test]
    fn a_root_without_such_source_has_no_text() {
        let (_folder, mut checkout) = place();
        checkout.files = [("net/main.tf".to_owned(), "locals {}\n".to_owned())].into();
        assert_eq!(text_for(&checkout, "eu"), None);
    }
}
