//! Why a repository has no estate: rules that name what is not there, and circles.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::core::ids::Root;

/// How many known roots a message lists before it only counts the rest.
const LISTED: usize = 20;

/// Why the waves of a repository cannot be cut. Each message says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EstateError {
    /// The links of the circle in order; the last one's upstream is the first one's root.
    #[error("no order of waves exists, because roots wait for each other: {}. {}", chain(.0), cycle_hint(.0))]
    Cycle(Vec<Link>),
    /// A name or glob of `waves.after` that no root answers to.
    #[error("{place}: `{name}` names no root. {}", known(.roots))]
    UnknownRoot {
        place: String,
        name: String,
        roots: Vec<Root>,
    },
    #[error("{place}: the glob `{glob}` cannot be read: {why}.")]
    BadGlob {
        place: String,
        glob: String,
        why: String,
    },
}

/// One root's wait for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub root: Root,
    pub upstream: Root,
    pub by: LinkKind,
}

/// Why a root waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// It reads its state.
    Reads,
    /// `waves.after` says so.
    After,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, upstream, by } = self;
        match by {
            LinkKind::Reads => write!(f, "`{root}` reads the state of `{upstream}`"),
            LinkKind::After => write!(f, "`{root}` comes after `{upstream}` (waves.after)"),
        }
    }
}

fn chain(links: &[Link]) -> String {
    let links: Vec<_> = links.iter().map(Link::to_string).collect();
    links.join(", ")
}

fn cycle_hint(links: &[Link]) -> &'static str {
    if links.iter().any(|it| it.by == LinkKind::After) {
        "Take one of the `waves.after` entries out."
    } else {
        "Let one of them stop reading the next."
    }
}

fn known(roots: &[Root]) -> String {
    if roots.is_empty() {
        return "The repository has no roots.".to_owned();
    }
    let listed: Vec<_> = roots
        .iter()
        .take(LISTED)
        .map(|it| format!("`{it}`"))
        .collect();
    let listed = listed.join(", ");
    match roots.len().saturating_sub(LISTED) {
        0 => format!("The roots are {listed}."),
        more => format!("The roots are {listed} and {more} more."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(name: &str) -> Root {
        Root::try_from(name).unwrap()
    }

    #[test]
    fn a_circle_is_told_link_by_link() {
        let link = |root_name, upstream, by| Link {
            root: root(root_name),
            upstream: root(upstream),
            by,
        };
        let error = EstateError::Cycle(vec![
            link("app", "database", LinkKind::Reads),
            link("database", "app", LinkKind::After),
        ]);
        assert_eq!(
            error.to_string(),
            "no order of waves exists, because roots wait for each other: `app` reads the state of `database`, \
             `database` comes after `app` (waves.after). Take one of the `waves.after` entries out."
        );
    }

    #[test]
    fn a_long_list_of_known_roots_is_cut_and_counted() {
        let error = EstateError::UnknownRoot {
            place: "waves.after.app".to_owned(),
            name: "databse".to_owned(),
            roots: (10..32).map(|it| root(&format!("r{it}"))).collect(),
        };
        let text = error.to_string();
        assert!(
            text.starts_with("waves.after.app: `databse` names no root. The roots are `r10`, ")
        );
        assert!(text.ends_with("`r29` and 2 more."), "{text}");
    }
}
