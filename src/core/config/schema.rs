//! The files described: as JSON Schema for editors, as a table for people. Both are made from the tables that parse.

use serde_json::{Map, Value, json};

use crate::core::config::keys::{Keys, Known, Shape};
use crate::core::config::{project, server};

/// The files there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// `tidegate.yml`.
    Project,
    /// `tidegate-server.yml`.
    Server,
}

impl File {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => project::FILE,
            Self::Server => server::FILE,
        }
    }

    fn keys(self) -> &'static Keys {
        match self {
            Self::Project => &project::keys::KEYS,
            Self::Server => &server::keys::KEYS,
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Project => "What a repository decides for itself, at its root",
            Self::Server => "What a repository must not decide, beside the server",
        }
    }
}

/// A file's JSON Schema (draft 7, which editors read).
pub fn schema(file: File) -> Value {
    let mut schema = section(file.keys());
    let more = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": file.name(),
        "description": file.about(),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        schema[key] = value.clone();
    }
    if file == File::Project {
        // An empty file is the default project.
        schema["type"] = json!(["object", "null"]);
    }
    schema
}

fn section(keys: &Keys) -> Value {
    let properties: Map<String, Value> = (keys.read.iter())
        .map(|it| (it.name.to_owned(), property(it)))
        .collect();
    let needed: Vec<&str> = (keys.read.iter())
        .filter(|it| it.default.is_none())
        .map(|it| it.name)
        .collect();
    let mut section = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    if !needed.is_empty() {
        section["required"] = json!(needed);
    }
    section
}

fn property(key: &Known) -> Value {
    let mut property = shape(&key.shape);
    property["description"] = match key.default {
        Some(default) => json!(format!("{} (default: {default})", key.about)),
        None => json!(key.about),
    };
    property
}

fn shape(of: &Shape) -> Value {
    match of {
        Shape::Text => json!({ "type": "string", "pattern": "\\S" }),
        Shape::Like(pattern) => json!({ "type": "string", "pattern": pattern }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Whole(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Shape::Words(words) => json!({ "enum": words() }),
        Shape::List(item) => json!({ "type": "array", "items": shape(item) }),
        Shape::Some(item) => json!({ "type": "array", "minItems": 1, "items": shape(item) }),
        Shape::Holding(pattern) => json!({
            "type": "array",
            "minItems": 1,
            "items": shape(&Shape::Text),
            "contains": shape(&Shape::Like(pattern)),
        }),
        Shape::Section(keys) => section(keys),
        Shape::Entries(item) => json!({ "type": "object", "additionalProperties": shape(item) }),
        Shape::Any(shapes) => {
            json!({ "anyOf": shapes.iter().map(shape).collect::<Vec<_>>() })
        }
    }
}

/// A file's keys as a Markdown table.
pub fn table(file: File) -> String {
    let mut rows = String::from("| key | default | meaning |\n|---|---|---|\n");
    add_rows(&mut rows, "", file.keys());
    rows
}

fn add_rows(rows: &mut String, above: &str, keys: &Keys) {
    for key in keys.read {
        let path = format!("{above}{}", key.name);
        let default = key.default.unwrap_or("required");
        // A key that only holds others is told by them.
        let holds_others = matches!(
            key.shape,
            Shape::Section(_) | Shape::Some(Shape::Section(_))
        );
        if !holds_others || !matches!(key.default, None | Some("none")) {
            *rows += &format!("| `{path}` | {default} | {} |\n", key.about);
        }
        add_below(rows, &path, &key.shape);
    }
}

fn add_below(rows: &mut String, path: &str, shape: &Shape) {
    match shape {
        Shape::Section(keys) => add_rows(rows, &format!("{path}."), keys),
        Shape::List(item) | Shape::Some(item) => add_below(rows, &format!("{path}[]"), item),
        Shape::Any(shapes) => shapes.iter().for_each(|it| add_below(rows, path, it)),
        Shape::Text
        | Shape::Like(_)
        | Shape::Flag
        | Shape::Whole(..)
        | Shape::Words(_)
        | Shape::Holding(_)
        | Shape::Entries(_) => {}
    }
}
