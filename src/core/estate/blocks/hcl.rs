//! Blocks out of HCL texts.

use hcl_edit::expr::{Expression, Object, ObjectKey, Traversal, TraversalOperator};
use hcl_edit::structure::{Block, Body, Structure};
use hcl_edit::template::Element;

use super::{Backend, Blocks, Config, ModuleCall, StateRead, Unreadable, Value};

/// Parses a [`readable`](super::readable) text.
pub(in crate::core::estate) fn parse(text: &str) -> Result<Body, Unreadable> {
    hcl_edit::parser::parse_body(text).map_err(|error| Unreadable {
        line: error.location().line(),
        column: error.location().column(),
        why: error.message().to_owned(),
    })
}

/// Reads the blocks that matter out of a parsed text.
pub(in crate::core::estate) fn blocks(body: &Body) -> Blocks {
    let mut found = Blocks::default();
    for block in body.blocks() {
        let labels: Vec<_> = block.labels.iter().map(|it| it.as_str()).collect();
        match (block.ident.as_str(), labels.as_slice()) {
            ("terraform", _) => settings(&block.body, &mut found),
            ("provider", [_]) => found.has_provider = true,
            ("data", ["terraform_remote_state", label]) => found.reads.push(StateRead {
                label: (*label).to_owned(),
                backend: attribute(&block.body, "backend"),
                config: attribute(&block.body, "config").or_else(|| nested(&block.body, "config")),
            }),
            ("module", [label]) => found.calls.push(ModuleCall {
                label: (*label).to_owned(),
                source: attribute(&block.body, "source"),
            }),
            ("variable", [name]) => found.variables.push((*name).to_owned()),
            _ => {}
        }
    }
    found
}

fn settings(body: &Body, found: &mut Blocks) {
    for block in body.blocks() {
        let kind = match (block.ident.as_str(), block.labels.as_slice()) {
            ("backend", [kind]) => kind.as_str(),
            ("cloud", []) => "cloud",
            ("live", _) => {
                found.is_live = true;
                continue;
            }
            _ => continue,
        };
        found.backends.push(Backend {
            kind: kind.to_owned(),
            config: config(&block.body),
        });
    }
}

fn attribute(body: &Body, name: &str) -> Option<Value> {
    value(&body.get_attribute(name)?.value)
}

fn nested(body: &Body, name: &str) -> Option<Value> {
    let block: &Block = body.get_blocks(name).next()?;
    Some(Value::Object(config(&block.body)))
}

/// A body's arguments and nested blocks, as one object.
fn config(body: &Body) -> Config {
    let mut found = Config::new();
    for structure in body {
        match structure {
            Structure::Attribute(it) => {
                let value = value(&it.value);
                found.extend(value.map(|value| (it.key.to_string(), value)));
            }
            Structure::Block(it) => {
                found.insert(it.ident.to_string(), Value::Object(config(&it.body)));
            }
        }
    }
    found
}

/// What an expression says as far as literals go; none for `null`.
pub(in crate::core::estate) fn value(expression: &Expression) -> Option<Value> {
    let value = match expression {
        Expression::Null(_) => return None,
        Expression::String(text) => Value::Text(text.as_str().to_owned()),
        Expression::StringTemplate(template) => elements(template.iter()),
        Expression::Parenthesis(inner) => return value(inner.inner()),
        Expression::Traversal(it) => own_path(it).map_or(Value::Other, Value::Text),
        Expression::Object(it) => Value::Object(object(it)),
        _ => Value::Other,
    };
    Some(value)
}

fn object(object: &Object) -> Config {
    let mut found = Config::new();
    for (key, item) in object {
        let name = match key {
            ObjectKey::Ident(name) => name.as_str().to_owned(),
            ObjectKey::Expression(it) => match value(it) {
                Some(Value::Text(name)) => name,
                Some(Value::Object(_) | Value::Other) | None => continue,
            },
        };
        found.extend(value(item.expr()).map(|value| (name, value)));
    }
    found
}

/// The text of a template, when all of it is literal or a path that a root knows of itself.
pub(super) fn elements<'a>(elements: impl Iterator<Item = &'a Element>) -> Value {
    let mut text = String::new();
    for element in elements {
        match element {
            Element::Literal(it) => text.push_str(it.as_str()),
            Element::Interpolation(it) => match value(&it.expr) {
                Some(Value::Text(inner)) => text.push_str(&inner),
                Some(Value::Object(_) | Value::Other) | None => return Value::Other,
            },
            Element::Directive(_) => return Value::Other,
        }
    }
    Value::Text(text)
}

/// `path.module` and `path.root` are both the root's directory, because only roots' own blocks are asked.
fn own_path(traversal: &Traversal) -> Option<String> {
    let Expression::Variable(variable) = &traversal.expr else {
        return None;
    };
    let [operator] = traversal.operators.as_slice() else {
        return None;
    };
    let TraversalOperator::GetAttr(name) = operator.value() else {
        return None;
    };
    let is_own = variable.as_str() == "path" && matches!(name.as_str(), "module" | "root");
    is_own.then(|| ".".to_owned())
}
