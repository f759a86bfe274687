//! A plan's changes as lines, attribute by attribute, from the same subject that its digest covers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::core::note::text::{capped, visible};
use crate::core::plan::totals::ChangeKind;
use crate::core::plan::{Action, Change, OutputChange, Subject};

/// The longest value that is shown, in characters.
const LONGEST_VALUE: usize = 160;

/// The most attributes of one resource that are shown.
const MOST_ATTRIBUTES: usize = 100;

/// One line a change, with its attributes beneath; the sign stands first, where a diff wants it.
pub(super) fn lines(subject: &Subject) -> String {
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
    shown(lines, "")
}

fn attributes(before: &Value, after: &Value) -> Vec<String> {
    shown(changed(before, after), "  ")
}

/// One attribute that differs.
struct Line {
    path: String,
    before: Option<Value>,
    after: Option<Value>,
}

fn shown(lines: Vec<Line>, indent: &str) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_ATTRIBUTES);
    let shown = lines.iter().take(MOST_ATTRIBUTES).map(|it| {
        let path = visible(&it.path);
        match (&it.before, &it.after) {
            (Some(before), Some(after)) => {
                let (before, after) = both(before, after);
                format!("~ {indent}{path}: {before} → {after}")
            }
            (Some(before), None) => format!("- {indent}{path}: {}", value(before)),
            (None, after) => {
                let after = after.as_ref().map(value).unwrap_or_default();
                format!("+ {indent}{path}: {after}")
            }
        }
    });
    let mut shown: Vec<String> = shown.collect();
    if more > 0 {
        shown.push(format!("# {indent}and {more} more attributes"));
    }
    shown
}

/// The leaves that differ, those that were there first in their own order.
fn changed(before: &Value, after: &Value) -> Vec<Line> {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    flatten("", before, &mut old);
    flatten("", after, &mut new);
    let after: BTreeMap<&str, &Value> = new
        .iter()
        .map(|(path, value)| (path.as_str(), *value))
        .collect();
    let before: BTreeSet<&str> = old.iter().map(|(it, _)| it.as_str()).collect();
    let kept = old.iter().map(|(path, value)| Line {
        path: path.clone(),
        before: Some((*value).clone()),
        after: after.get(path.as_str()).map(|it| (*it).clone()),
    });
    let added = new
        .iter()
        .filter(|(path, _)| !before.contains(path.as_str()));
    let added = added.map(|(path, value)| Line {
        path: path.clone(),
        before: None,
        after: Some((*value).clone()),
    });
    kept.chain(added)
        .filter(|it| it.before != it.after)
        .collect()
}

/// Every leaf with its path. What is null is not there: Terraform sets all that nobody gave to null.
fn flatten<'a>(path: &str, value: &'a Value, leaves: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Null => {}
        Value::Object(map) if !map.is_empty() && mark(map).is_none() => {
            for (key, value) in map {
                flatten(&child(path, key), value, leaves);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (n, value) in items.iter().enumerate() {
                flatten(&format!("{path}[{n}]"), value, leaves);
            }
        }
        Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            leaves.push((path.to_owned(), value));
        }
    }
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

fn value(value: &Value) -> String {
    if let Value::Object(map) = value
        && let Some(mark) = mark(map)
    {
        return mark;
    }
    visible(&capped(&value.to_string(), LONGEST_VALUE))
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
                "-   input.old: true",
                "+   input.new[0]: 1",
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
