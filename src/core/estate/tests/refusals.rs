//! What makes a repository have no waves, and how it is told.

use super::*;
use crate::core::estate::error::LinkKind;

fn errors(files: &[(String, String)], project: &Project) -> Vec<String> {
    read(files, project)
        .unwrap_err()
        .iter()
        .map(EstateError::to_string)
        .collect()
}

#[test]
fn a_circle_of_reads_is_named_in_order() {
    let files = [
        reading("c", &["a"]),
        reading("a", &["b"]),
        reading("b", &["c"]),
        reading("d", &["a"]),
    ];
    assert_eq!(
        errors(&files, &Project::default()),
        [
            "no order of waves exists, because roots wait for each other: `a` reads the state of `b`, `b` reads the \
             state of `c`, `c` reads the state of `a`. Let one of them stop reading the next."
        ]
    );
}

#[test]
fn every_circle_is_named_and_says_what_waves_after_brings() {
    let files = [
        reading("a", &["b"]),
        reading("b", &[]),
        reading("x", &["y"]),
        reading("y", &["x"]),
    ];
    let found = read(&files, &after(&[("b", &["a"])])).unwrap_err();
    let kinds: Vec<Vec<LinkKind>> = found
        .into_iter()
        .filter_map(|it| match it {
            EstateError::Cycle(links) => Some(links.iter().map(|it| it.by).collect()),
            EstateError::UnknownRoot { .. } | EstateError::BadGlob { .. } => None,
        })
        .collect();
    let (reads, after) = (LinkKind::Reads, LinkKind::After);
    assert_eq!(kinds, [[reads, after], [reads, reads]]);
}

#[test]
fn waves_after_refuses_what_it_does_not_know() {
    let files = [reading("app", &[]), reading("database", &[])];
    let project = after(&[("app", &["databse", "envs/*"]), ("web", &["app"])]);
    assert_eq!(
        errors(&files, &project),
        [
            "waves.after.app: `databse` names no root. The roots are `app`, `database`.",
            "waves.after.app: `envs/*` names no root. The roots are `app`, `database`.",
            "waves.after: `web` names no root. The roots are `app`, `database`.",
        ]
    );
}
