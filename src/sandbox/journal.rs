//! What was asked of the sandbox and what it delivered, as JSON lines that tests can check against the forges' schemas.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use serde::Serialize;
use serde_json::Value;

use crate::sandbox::model::hook::Dialect;

/// The two logs in the sandbox's folder. No header is in them, and no hook's secret.
pub(crate) struct Journal {
    requests: Mutex<File>,
    deliveries: Mutex<File>,
}

/// One request to a forge's API.
#[derive(Serialize)]
pub(crate) struct RequestLine<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) body: Value,
    pub(crate) status: u16,
    pub(crate) answer: Value,
}

/// One attempt to deliver an event.
#[derive(Serialize)]
pub(crate) struct DeliveryLine<'a> {
    pub(crate) id: &'a str,
    pub(crate) hook: u64,
    pub(crate) forge: Dialect,
    pub(crate) event: &'a str,
    pub(crate) action: Option<&'a str>,
    /// None: the receiver could not be reached.
    pub(crate) status: Option<u16>,
    pub(crate) payload: Value,
}

impl Journal {
    pub(crate) fn open(dir: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            requests: Mutex::new(append_to(&dir.join("requests.jsonl"))?),
            deliveries: Mutex::new(append_to(&dir.join("deliveries.jsonl"))?),
        })
    }

    pub(crate) fn request(&self, mut line: RequestLine<'_>) {
        hide_secrets(&mut line.body);
        hide_secrets(&mut line.answer);
        write(&self.requests, &line);
    }

    pub(crate) fn delivery(&self, line: &DeliveryLine<'_>) {
        write(&self.deliveries, line);
    }
}

fn append_to(file: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    options
        .open(file)
        .with_context(|| format!("cannot open {}", file.display()))
}

fn write(file: &Mutex<File>, line: &impl Serialize) {
    let text = serde_json::to_string(line).expect("a line of text keys and JSON values is JSON");
    let mut file = file.lock().expect("no writer panics while it writes");
    if let Err(error) = writeln!(file, "{text}") {
        tracing::warn!(%error, "cannot write the sandbox's journal");
    }
}

/// A hook is made with its secret in the body, and a token is answered; the log keeps the shape and not the secret.
fn hide_secrets(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if ["secret", "token"].contains(&name.as_str()) && field.is_string() {
                    *field = Value::from("********");
                } else {
                    hide_secrets(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide_secrets),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
