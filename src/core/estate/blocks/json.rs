//! Blocks out of texts in Terraform's JSON syntax.

use serde_json::{Map, Value as Json};

use super::{Backend, Blocks, Config, ModuleCall, StateRead, Unreadable, Value, hcl};

type Object = Map<String, Json>;

/// Reads the blocks that matter out of a JSON text.
pub(super) fn read(text: &str) -> Result<Blocks, Unreadable> {
    let json: Json = serde_json::from_str(text).map_err(|error| Unreadable {
        line: error.line(),
        column: error.column(),
        why: error.to_string(),
    })?;
    let mut found = Blocks::default();
    for body in bodies(&json) {
        for settings in nested(body, "terraform") {
            for (kind, config) in labelled(settings, "backend") {
                found.backends.push(backend(kind, config));
            }
            let clouds = nested(settings, "cloud").into_iter();
            found.backends.extend(clouds.map(|it| backend("cloud", it)));
            found.is_live |= settings.contains_key("live");
        }
        found.has_provider |= !labelled(body, "provider").is_empty();
        for data in nested(body, "data") {
            let states = labelled(data, "terraform_remote_state").into_iter();
            found
                .reads
                .extend(states.map(|(label, it)| read_of(label, it)));
        }
        let calls = labelled(body, "module").into_iter();
        found.calls.extend(calls.map(|(label, it)| ModuleCall {
            label: label.to_owned(),
            source: it.get("source").and_then(value),
        }));
        let variables = labelled(body, "variable").into_iter();
        found
            .variables
            .extend(variables.map(|(name, _)| name.to_owned()));
    }
    Ok(found)
}

fn backend(kind: &str, object: &Object) -> Backend {
    Backend {
        kind: kind.to_owned(),
        config: config(object),
    }
}

fn read_of(label: &str, object: &Object) -> StateRead {
    StateRead {
        label: label.to_owned(),
        backend: object.get("backend").and_then(value),
        config: object.get("config").and_then(value),
    }
}

/// A block's bodies: one object, or a list of them.
fn bodies(json: &Json) -> Vec<&Object> {
    match json {
        Json::Object(it) => vec![it],
        Json::Array(items) => items.iter().filter_map(Json::as_object).collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Vec::new(),
    }
}

fn nested<'a>(object: &'a Object, name: &str) -> Vec<&'a Object> {
    object.get(name).map(bodies).unwrap_or_default()
}

/// Blocks of one type by their label. `//` is JSON syntax's comment.
fn labelled<'a>(object: &'a Object, name: &str) -> Vec<(&'a str, &'a Object)> {
    let labels = nested(object, name).into_iter().flatten();
    labels
        .filter(|(label, _)| *label != "//")
        .flat_map(|(label, json)| bodies(json).into_iter().map(|it| (label.as_str(), it)))
        .collect()
}

fn config(object: &Object) -> Config {
    let values = object
        .iter()
        .filter_map(|(name, json)| Some((name.clone(), value(json)?)));
    values.collect()
}

fn value(json: &Json) -> Option<Value> {
    let value = match json {
        Json::Null => return None,
        Json::String(text) => template(text),
        Json::Object(it) => Value::Object(config(it)),
        Json::Array(items) => match items.as_slice() {
            [Json::Object(it)] => Value::Object(config(it)),
            _ => Value::Other,
        },
        Json::Bool(_) | Json::Number(_) => Value::Other,
    };
    Some(value)
}

/// A string in JSON syntax is a template.
fn template(text: &str) -> Value {
    if !text.contains("${") && !text.contains("%{") {
        return Value::Text(text.to_owned());
    }
    match hcl_edit::parser::parse_template(text) {
        Ok(template) => hcl::elements(template.iter()),
        Err(_) => Value::Other,
    }
}
