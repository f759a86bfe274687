//! States that a change moves: a root whose backend names another place than it did before.

use std::fmt;

use crate::core::estate::Estate;
use crate::core::estate::address::StateAddress;
use crate::core::ids::Root;
use crate::core::plan::Remark;

impl Estate {
    /// What people should know when a root that was there `before` keeps its state elsewhere since.
    pub fn moved_state(&self, before: &Self, root: &Root) -> Option<Remark> {
        let (old, new) = (before.roots.get(root)?, self.roots.get(root)?);
        if old.state == new.state {
            return None;
        }
        Some(Remark {
            address: None,
            text: format!(
                "this change moves its state from {} to {}; nothing is carried over, so what the old one holds may be \
                 planned as new.",
                place(old.state.as_ref()),
                place(new.state.as_ref())
            ),
        })
    }
}

fn place(state: Option<&StateAddress>) -> String {
    state.map_or_else(
        || "a place that cannot be told".to_owned(),
        ToString::to_string,
    )
}

impl fmt::Display for StateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [self.account.as_deref(), self.bucket.as_deref()];
        let parts: Vec<&str> = parts
            .into_iter()
            .flatten()
            .chain([self.key.as_str()])
            .collect();
        write!(f, "`{}` {}", self.backend, parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::project::Project;

    fn estate(backend: &str) -> Estate {
        let text = format!("terraform {{\n  {backend}\n}}\nprovider \"aws\" {{}}\n");
        let files = [("net/main.tf".to_owned(), text)].into();
        Estate::read(&files, &Project::default()).unwrap()
    }

    fn said(before: &str, after: &str) -> Option<String> {
        let root = Root::try_from("net").unwrap();
        let remark = estate(after).moved_state(&estate(before), &root);
        remark.map(|it| it.text.split(';').next().unwrap().to_owned())
    }

    #[test]
    fn a_backend_that_names_another_place_is_said() {
        let s3 = |key: &str| {
            format!("backend \"s3\" {{\n    bucket = \"acme\"\n    key    = \"{key}\"\n  }}")
        };
        let http = "backend \"http\" {\n    address = \"https://ada:pw@evil.example/net\"\n  }";
        for (before, after, wanted) in [
            (s3("net"), s3("net"), None),
            (
                s3("net"),
                s3("new"),
                Some("from `s3` acme/net to `s3` acme/new"),
            ),
            (
                s3("net"),
                http.to_owned(),
                Some("from `s3` acme/net to `http` https://evil.example/net"),
            ),
            (
                s3("net"),
                String::new(),
                Some("from `s3` acme/net to `local` net/terraform.tfstate"),
            ),
            (
                s3("net"),
                s3("${var.key}"),
                Some("from `s3` acme/net to a place that cannot be told"),
            ),
        ] {
            let wanted = wanted.map(|it| format!("this change moves its state {it}"));
            assert_eq!(said(&before, &after), wanted, "{before} {after}");
        }
    }

    #[test]
    fn a_new_root_moves_nothing() {
        let root = Root::try_from("net").unwrap();
        assert_eq!(estate("").moved_state(&Estate::default(), &root), None);
    }
}
