//! Values of a plan as trees with marks: numbers as written, what is unknown, what is sensitive.
//!
//! A key that starts with one `$` is a mark of ours and stands alone in its object; a `$` that a user's key starts
//! with is doubled, so no value of a plan can be taken for a mark.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::core::plan::digest::sha256_hex;
use crate::core::plan::terraform::PlanError;

/// How deep a value may be nested; Terraform's own types are far shallower.
const DEPTH: usize = 64;

/// What stands for the checkout's path, wherever it is on this machine.
const CHECKOUT: &str = "$CHECKOUT";

/// Reads raw JSON into marked trees.
pub(super) struct Reader<'a> {
    checkout: &'a str,
}

impl<'a> Reader<'a> {
    /// A reader for plans made below this absolute path.
    pub(super) fn new(checkout_dir: &'a str) -> Self {
        Self {
            checkout: checkout_dir.trim_end_matches('/'),
        }
    }

    /// Reads a value; nothing is null.
    pub(super) fn optional(&self, raw: Option<&RawValue>) -> Result<Value, PlanError> {
        raw.map_or(Ok(Value::Null), |it| self.read(it))
    }

    /// Reads a value.
    pub(super) fn read(&self, raw: &RawValue) -> Result<Value, PlanError> {
        self.at_depth(raw, 0)
    }

    /// A text without this machine's path of the checkout.
    pub(super) fn text(&self, text: &str) -> String {
        let text = text.replace(CHECKOUT, "$$CHECKOUT");
        if self.checkout.is_empty() {
            return text;
        }
        let mut parts = text.split(self.checkout);
        let mut portable = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // A longer name that only starts like the checkout is another folder.
            let is_other = part.starts_with(|it: char| it.is_alphanumeric() || "._-".contains(it));
            portable += if is_other { self.checkout } else { CHECKOUT };
            portable += part;
        }
        portable
    }

    fn at_depth(&self, raw: &RawValue, depth: usize) -> Result<Value, PlanError> {
        if depth > DEPTH {
            return Err(PlanError::TooDeep);
        }
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'{') => {
                let pairs: BTreeMap<String, &RawValue> = parse(text)?;
                let pairs = pairs
                    .into_iter()
                    .map(|(key, value)| Ok((self.key(&key), self.at_depth(value, depth + 1)?)));
                pairs.collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = parse(text)?;
                let items = items.into_iter().map(|it| self.at_depth(it, depth + 1));
                items.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            Some(b'"') => parse(text).map(|it: String| Value::String(self.text(&it))),
            Some(b'-' | b'0'..=b'9') => Ok(json!({ "$number": text })),
            Some(_) | None => parse(text),
        }
    }

    fn key(&self, key: &str) -> String {
        let key = self.text(key);
        if key.starts_with('$') {
            format!("${key}")
        } else {
            key
        }
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, PlanError> {
    serde_json::from_str(text).map_err(|error| PlanError::Unreadable {
        line: error.line(),
        column: error.column(),
    })
}

/// Puts the mark of the unknown wherever `unknown` says so: such a key is missing from an object.
pub(super) fn mark_unknown(tree: Value, unknown: &Value) -> Value {
    match (tree, unknown) {
        (_, Value::Bool(true)) => json!({ "$unknown": true }),
        (Value::Null, Value::Object(_)) if holds_true(unknown) => {
            mark_unknown(Value::Object(Map::new()), unknown)
        }
        (Value::Null, Value::Array(_)) if holds_true(unknown) => {
            mark_unknown(Value::Array(Vec::new()), unknown)
        }
        (Value::Object(mut map), Value::Object(unknown)) => {
            for (key, unknown) in unknown.iter().filter(|(_, it)| holds_true(it)) {
                let value = map.remove(key).unwrap_or_default();
                map.insert(key.clone(), mark_unknown(value, unknown));
            }
            Value::Object(map)
        }
        (Value::Array(mut list), Value::Array(unknown)) => {
            list.resize(list.len().max(unknown.len()), Value::Null);
            let marked = list.into_iter().enumerate().map(|(at, value)| {
                let unknown = unknown.get(at).unwrap_or(&Value::Null);
                mark_unknown(value, unknown)
            });
            Value::Array(marked.collect())
        }
        // A mask of another shape than its value hides all of it rather than nothing.
        (_, unknown) if holds_true(unknown) => json!({ "$unknown": true }),
        (tree, _) => tree,
    }
}

/// Replaces what `mask` calls sensitive by the SHA-256 of its canonical bytes. Null and unknown stay: they say only
/// that there is no value yet.
pub(super) fn mark_sensitive(tree: Value, mask: &Value) -> Value {
    if !holds_true(mask) || tree.is_null() || is_unknown(&tree) {
        return tree;
    }
    match (tree, mask) {
        (Value::Object(map), Value::Object(mask)) if !is_mark(&map) => {
            let marked = map.into_iter().map(|(key, value)| {
                let value = mark_sensitive(value, mask.get(&key).unwrap_or(&Value::Null));
                (key, value)
            });
            Value::Object(marked.collect())
        }
        (Value::Array(list), Value::Array(mask)) => {
            let marked = list
                .into_iter()
                .enumerate()
                .map(|(at, value)| mark_sensitive(value, mask.get(at).unwrap_or(&Value::Null)));
            Value::Array(marked.collect())
        }
        (tree, _) => json!({ "$sensitive": sha256_hex(&tree) }),
    }
}

/// A mask that hides what either hides.
pub(super) fn union(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut both = one.clone();
            for (key, other) in other {
                let mask = union(both.get(key).unwrap_or(&Value::Null), other);
                both.insert(key.clone(), mask);
            }
            Value::Object(both)
        }
        (Value::Array(one), Value::Array(other)) => {
            let at = |list: &[Value], at: usize| list.get(at).cloned().unwrap_or_default();
            let both = 0..one.len().max(other.len());
            Value::Array(both.map(|n| union(&at(one, n), &at(other, n))).collect())
        }
        (one, other) if !holds_true(other) => one.clone(),
        (one, other) if !holds_true(one) => other.clone(),
        _ => Value::Bool(true),
    }
}

/// Whether a mask hides anything.
pub(super) fn holds_true(mask: &Value) -> bool {
    match mask {
        Value::Bool(hides) => *hides,
        Value::Array(list) => list.iter().any(holds_true),
        Value::Object(map) => map.values().any(holds_true),
        Value::Null | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether an object is one of our marks.
pub(super) fn is_mark(map: &Map<String, Value>) -> bool {
    map.keys()
        .any(|key| key.starts_with('$') && !key.starts_with("$$"))
}

fn is_unknown(tree: &Value) -> bool {
    tree.get("$unknown").is_some()
}
