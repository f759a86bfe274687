//! Where a key stands in a file.

use crate::core::config::yaml::{self, Node, Place, Value};

/// Line and column of the key with this path, or of the nearest one above it that is there.
pub fn place_of(text: &str, path: &str) -> (usize, usize) {
    let place = match yaml::parse(text) {
        Ok(top) => find(&top, path, Place::START),
        Err((place, _)) => place,
    };
    (place.line, place.column)
}

/// Keys may hold dots themselves, so a path is not cut at its dots: the longest key that begins it is followed.
fn find(node: &Node, path: &str, above: Place) -> Place {
    let Value::Map(entries) = &node.value else {
        return above;
    };
    let begins = |key: &str| path == key || path.starts_with(&format!("{key}."));
    let found = entries.iter().filter(|(key, _)| begins(&key.name));
    let Some((key, below)) = found.max_by_key(|(key, _)| key.name.len()) else {
        return above;
    };
    let rest = path[key.name.len()..].trim_start_matches('.');
    find(below, rest, key.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_although_keys_hold_dots() {
        let text = "gate: never\nwaves:\n  after:\n    a: [b]\n    a.b: [c]\n";
        for (path, place) in [
            ("gate", (1, 1)),
            ("waves.after.a", (4, 5)),
            ("waves.after.a.b", (5, 5)),
            ("waves.canary", (2, 1)),
            ("roots", (1, 1)),
        ] {
            assert_eq!(place_of(text, path), place, "{path}");
        }
    }
}
