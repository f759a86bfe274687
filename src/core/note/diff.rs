//! A plan's changes as lines, attribute by attribute, from the same subject that its digest covers.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::core::note::text::{capped, visible};
use crate::core::plan::totals::ChangeKind;
use crate::core::plan::{Action, Change, OutputChange, Subject};

/// The longest value that is shown, in characters.
const LONGEST_VALUE: usize = 160;

/// The most attributes of one resource that are shown.
const MOST_ATTRIBUTES: usize = 100;

/// One line a change, with its attributes beneath; the sign stands first, where a diff wants it.
pub fn lines(subject: &Subject) -> String {
    let mut lines = Vec::new();
    for change in &subject.changes {
        lines.push(headline(change));
        lines.extend(attributes(&change.before, &change.after));
    }
    for output in &subject.outputs {
        lines.extend(output_lines(output));
    }
    lines.join("\n")
}

/// What happens to a resource, in words: `replace (the new one first)`, `update, moved from x`.
pub(super) fn doing(change: &Change) -> String {
    let kind = change.kind();
    let mut doing = match kind {
        ChangeKind::Replace if change.actions.first() == Some(&Action::Create) => {
            "replace (the new one first)".to_owned()
        }
        ChangeKind::Replace if change.actions.contains(&Action::Forget) => {
            "replace (the old one stays, unmanaged)".to_owned()
        }
        ChangeKind::Delete => "destroy".to_owned(),
        ChangeKind::Forget => "forget (it stays, unmanaged)".to_owned(),
        ChangeKind::Create
        | ChangeKind::Update
        | ChangeKind::Replace
        | ChangeKind::Move
        | ChangeKind::Import => kind.to_string(),
    };
    if let Some(deposed) = &change.deposed {
        doing += &format!(" of the deposed object {}", visible(deposed));
    }
    if let Some(from) = &change.previous_address {
        doing += &format!(", moved from {}", visible(from));
    }
    if change.importing.is_some() && kind != ChangeKind::Import {
        doing += ", imported";
    }
    doing
}

fn headline(change: &Change) -> String {
    let sign = match change.kind() {
        ChangeKind::Create => "+",
        ChangeKind::Delete => "-",
        ChangeKind::Replace if change.actions.first() == Some(&Action::Create) => "+/-",
        ChangeKind::Replace => "-/+",
        ChangeKind::Update | ChangeKind::Move | ChangeKind::Import => "~",
        ChangeKind::Forget => "#",
    };
    format!("{sign} {}: {}", visible(&change.address), doing(change))
}

fn output_lines(output: &OutputChange) -> Vec<String> {
    let name = format!("output {}", visible(&output.name));
    let mut lines = changed(&output.before, &output.after);
    if lines.is_empty() {
        return vec![format!("~ {name}")];
    }
    for line in &mut lines {
        line.path = match line.path.as_str() {
            "" => name.clone(),
            path if path.starts_with('[') => format!("{name}{path}"),
            path => format!("{name}.{path}"),
        };
    }
    shown(&lines, "")
}

fn attributes(before: &Value, after: &Value) -> Vec<String> {
    shown(&changed(before, after), "  ")
}

/// One attribute that differs; what is null is not there, as Terraform sets all that nobody gave to null.
struct Line<'a> {
    path: String,
    before: &'a Value,
    after: &'a Value,
}

fn shown(lines: &[Line], indent: &str) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_ATTRIBUTES);
    let mut shown: Vec<String> = lines
        .iter()
        .take(MOST_ATTRIBUTES)
        .map(|it| shown_line(it, indent))
        .collect();
    if more > 0 {
        shown.push(format!("# {indent}and {more} more attributes"));
    }
    shown
}

fn shown_line(line: &Line, indent: &str) -> String {
    let path = visible(&line.path);
    match (line.before, line.after) {
        (Value::Null, after) => format!("+ {indent}{path}: {}", value(after)),
        (before, Value::Null) => format!("- {indent}{path}: {}", value(before)),
        (before, after) => {
            let (before, after) = both(before, after);
            format!("~ {indent}{path}: {before} → {after}")
        }
    }
}

/// The leaves that differ, by path.
fn changed<'a>(before: &'a Value, after: &'a Value) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let path = String::new();
    collect(
        Line {
            path,
            before,
            after,
        },
        &mut lines,
    );
    lines
}

fn collect<'a>(line: Line<'a>, lines: &mut Vec<Line<'a>>) {
    if line.before == line.after {
        return;
    }
    let pairs = match (line.before, line.after) {
        (Value::Null, Value::Object(_)) => of_maps(&line.path, line.before, line.after),
        (Value::Object(_), Value::Null | Value::Object(_)) => {
            of_maps(&line.path, line.before, line.after)
        }
        (Value::Null, Value::Array(_)) | (Value::Array(_), Value::Null | Value::Array(_)) => {
            of_lists(&line.path, line.before, line.after)
        }
        (_, _) => None,
    };
    match pairs {
        Some(pairs) => pairs.into_iter().for_each(|it| collect(it, lines)),
        None => lines.push(line),
    }
}

/// A map's values by key; none when one side is a mark, or neither holds anything.
fn of_maps<'a>(path: &str, before: &'a Value, after: &'a Value) -> Option<Vec<Line<'a>>> {
    let keys = |value: &'a Value| value.as_object().into_iter().flat_map(Map::keys);
    if is_mark(before) || is_mark(after) {
        return None;
    }
    let keys: BTreeSet<&String> = keys(before).chain(keys(after)).collect();
    let lines = keys.into_iter().map(|key| Line {
        path: child(path, key),
        before: before.get(key).unwrap_or(&Value::Null),
        after: after.get(key).unwrap_or(&Value::Null),
    });
    Some(lines.collect()).filter(|it: &Vec<Line>| !it.is_empty())
}

/// A list's items, side by side from where the lists begin to differ to where they end alike.
fn of_lists<'a>(path: &str, before: &'a Value, after: &'a Value) -> Option<Vec<Line<'a>>> {
    let items = |value: &'a Value| value.as_array().map(Vec::as_slice).unwrap_or_default();
    let (old, new) = (items(before), items(after));
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let ends = old.iter().rev().zip(new.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let lines = (0..old.len().max(new.len())).map(|n| Line {
        path: format!("{path}[{}]", start + n),
        before: old.get(n).unwrap_or(&Value::Null),
        after: new.get(n).unwrap_or(&Value::Null),
    });
    Some(lines.collect()).filter(|it: &Vec<Line>| !it.is_empty())
}

fn child(path: &str, key: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | '$');
    if key.is_empty() || !key.chars().all(is_plain) {
        return format!("{path}[{}]", Value::from(key));
    }
    if path.is_empty() {
        return key.to_owned();
    }
    format!("{path}.{key}")
}

/// What a subject's mark stands for (see [`Subject`]).
fn mark(map: &Map<String, Value>) -> Option<String> {
    let (key, value) = map.iter().next().filter(|_| map.len() == 1)?;
    match (key.as_str(), value) {
        ("$sensitive" | "$hmac", Value::String(_)) => Some("(sensitive)".to_owned()),
        ("$unknown", Value::Bool(true)) => Some("(known after apply)".to_owned()),
        ("$number", Value::String(token)) => Some(visible(&capped(token, LONGEST_VALUE))),
        (_, _) => None,
    }
}

fn is_mark(value: &Value) -> bool {
    value.as_object().is_some_and(|it| mark(it).is_some())
}

/// A value on one line. What a map or a list holds is only shown item by item, where its marks are known.
fn value(value: &Value) -> String {
    match value {
        Value::Object(map) => match mark(map) {
            Some(mark) => mark,
            None if map.is_empty() => "{}".to_owned(),
            None => "{…}".to_owned(),
        },
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(_) => "[…]".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            visible(&capped(&value.to_string(), LONGEST_VALUE))
        }
    }
}

/// Two values side by side. Long texts that begin alike are shown from shortly before they differ.
fn both(before: &Value, after: &Value) -> (String, String) {
    const LEAD: usize = 20;
    let (Value::String(old), Value::String(new)) = (before, after) else {
        return (value(before), value(after));
    };
    let alike = old
        .chars()
        .zip(new.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let is_short = old.chars().count().max(new.chars().count()) <= LONGEST_VALUE;
    if is_short || alike <= LEAD * 2 {
        return (value(before), value(after));
    }
    let rest = |text: &str| {
        let rest: String = text.chars().skip(alike - LEAD).collect();
        format!("…{}", value(&Value::String(rest)))
    };
    (rest(old), rest(new))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn diff(before: Value, after: Value) -> Vec<String> {
        attributes(&before, &after)
    }

    #[test]
    fn only_what_differs_is_shown() {
        let before = json!({"input": {"cidr": "10.1", "env": "dev", "old": true}, "id": "x"});
        let after =
            json!({"input": {"cidr": "10.2", "env": "dev", "new": [1]}, "id": {"$unknown": true}});
        assert_eq!(
            diff(before, after),
            [
                "~   id: \"x\" → (known after apply)",
                "~   input.cidr: \"10.1\" → \"10.2\"",
                "+   input.new[0]: 1",
                "-   input.old: true",
            ]
        );
    }

    #[test]
    fn marks_are_words() {
        let before = json!({"a": {"$hmac": "aa"}, "b": {"$number": "1"}, "c": {"$sensitive": "x"}});
        let after = json!({"a": {"$hmac": "bb"}, "b": {"$number": "9007199254740993"}, "c": {"$sensitive": "x"}});
        assert_eq!(
            diff(before, after),
            [
                "~   a: (sensitive) → (sensitive)",
                "~   b: 1 → 9007199254740993"
            ]
        );
    }

    #[test]
    fn a_list_is_shown_where_it_differs() {
        assert_eq!(
            diff(
                json!({"a": ["x", "y", "z"]}),
                json!({"a": ["w", "x", "y", "z"]})
            ),
            ["+   a[0]: \"w\""]
        );
        assert_eq!(
            diff(json!({"a": ["x", "y", "z"]}), json!({"a": ["x", "Y"]})),
            ["~   a[1]: \"y\" → \"Y\"", "-   a[2]: \"z\""]
        );
    }

    #[test]
    fn what_is_inside_a_changed_kind_stays_unsaid() {
        let before = json!({"a": {"secret": {"$hmac": "aa"}}, "b": [], "c": {}});
        let after = json!({"a": {"$unknown": true}, "b": "x", "c": null});
        assert_eq!(
            diff(before, after),
            [
                "~   a: {…} → (known after apply)",
                "~   b: [] → \"x\"",
                "-   c: {}",
            ]
        );
    }

    #[test]
    fn a_long_value_is_shown_around_its_change() {
        let text =
            |middle: &str| Value::from(format!("{}{middle}{}", "x".repeat(3000), "y".repeat(3000)));
        let lines = diff(json!({"policy": text("A")}), json!({"policy": text("B")}));
        assert!(
            lines[0].contains("xxA") && lines[0].contains("xxB"),
            "{lines:?}"
        );
        assert!(lines[0].chars().count() < 600);
    }

    #[test]
    fn nothing_in_a_value_makes_a_line_of_its_own() {
        let lines = diff(
            Value::Null,
            json!({"a\nb": "c\nd\u{1b}[0m\0\u{202e}", "e.f": ""}),
        );
        assert_eq!(
            lines,
            [
                "+   [\"a\\nb\"]: \"c\\nd\\u001b[0m\\u0000\\u{202e}\"",
                "+   [\"e.f\"]: \"\"",
            ]
        );
    }

    #[test]
    fn many_attributes_are_counted() {
        let many: Vec<u32> = (0..250).collect();
        let lines = diff(Value::Null, json!({ "list": many }));
        assert_eq!(lines.len(), 101);
        assert_eq!(lines[100], "#   and 150 more attributes");
    }
}
