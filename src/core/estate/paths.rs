//! Paths of the repository as texts: `/` between the parts, `.` is the repository itself.

/// Resolves `path` as written in directory `dir`. What leaves the repository keeps its leading `..`; what is absolute
/// stays so.
pub(super) fn resolve(dir: &str, path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let start = if is_absolute { "" } else { dir };
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|it| *it != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            _ => parts.push(part),
        }
    }
    match (is_absolute, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// Resolves `path` as written in directory `dir`; none when it leaves the repository.
pub(super) fn join(dir: &str, path: &str) -> Option<String> {
    let resolved = resolve(dir, path);
    let leaves = resolved.starts_with('/') || resolved == ".." || resolved.starts_with("../");
    (!leaves).then_some(resolved)
}

/// The directory a path stands in; `.` at the top.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(dir, _)| dir)
}

/// The path itself and every directory above it, up to `.`.
pub(super) fn with_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |it| (*it != ".").then(|| parent(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_resolved_where_it_is_written() {
        for (dir, path, wanted) in [
            ("live/app", "../../state/app.tfstate", "state/app.tfstate"),
            ("live/app", "./x//y/", "live/app/x/y"),
            ("live/app", "../..", "."),
            (".", "modules/net", "modules/net"),
            (".", "..", ".."),
            ("live", "../../x/../y", "../y"),
            ("live", "../../..", "../.."),
            ("live", "/var/../srv/./s", "/srv/s"),
            ("live", "/..", "/"),
        ] {
            assert_eq!(resolve(dir, path), wanted, "{path} in {dir}");
        }
    }

    #[test]
    fn a_path_that_leaves_the_repository_joins_nothing() {
        for path in ["../..", "../../x", "/etc/passwd"] {
            assert_eq!(join("live", path), None, "{path}");
        }
        assert_eq!(join("live", "../..x"), Some("..x".to_owned()));
    }

    #[test]
    fn ancestors_end_at_the_repository_itself() {
        let all: Vec<_> = with_ancestors("a/b/c.tf").collect();
        assert_eq!(all, ["a/b/c.tf", "a/b", "a", "."]);
        assert_eq!(with_ancestors(".").collect::<Vec<_>>(), ["."]);
    }
}
