//! A root's draft: what its plan JSON says, with what that does not say of itself.

use std::path::Path;

use crate::core::plan::terraform::{DraftContext, draft};
use crate::core::plan::{Draft, Mode};
use crate::engine::Checkout;
use crate::engine::scrub;
use crate::engine::terraform::failure::Failure;
use crate::engine::terraform::run::Run;
use crate::engine::terraform::source::Source;

/// Plan JSON of a root with nothing to do.
const NOTHING: &[u8] = br#"{"format_version":"1.2"}"#;

/// What a plan would do, by what the tool shows of it; without, nothing.
pub(super) fn of(run: &Run<'_>, source: &Source, json: Option<Vec<u8>>) -> Result<Draft, Failure> {
    let checkout = run.checkout();
    let json = json.map_or_else(|| NOTHING.to_vec(), |it| without_scratch(checkout, it));
    let source = source
        .text(&json)
        .map_err(|_| Failure::new("Terraform's plan cannot be read"))?;
    let context = DraftContext {
        root: run.root().clone(),
        mode: Mode::Normal,
        backend: run.backend()?,
        workspace: "default".to_owned(),
        source,
        checkout_dir: checkout.dir.to_string_lossy().into_owned(),
        hidden: scrub::secrets(checkout),
    };
    draft(&json, &context).map_err(|error| Failure::new(sentence(&error.to_string())))
}

/// Fetched modules stand in the scratch folder, and a plan may hold their paths: named from the checkout, these are
/// the same in every job.
fn without_scratch(checkout: &Checkout, json: Vec<u8>) -> Vec<u8> {
    let path = |it: &Path| {
        let quoted = serde_json::Value::from(it.to_string_lossy()).to_string();
        quoted.trim_matches('"').to_owned()
    };
    let here = path(&checkout.scratch);
    let there = format!("{}/../scratch", path(&checkout.dir));
    match String::from_utf8(json) {
        Ok(text) if text.contains(&here) => text.replace(&here, &there).into_bytes(),
        Ok(text) => text.into_bytes(),
        // What is not text is no plan either; whoever reads it says so.
        Err(bytes) => bytes.into_bytes(),
    }
}

fn sentence(clause: &str) -> String {
    let mut rest = clause.chars();
    let first = rest.next().map(|it| it.to_uppercase().to_string());
    first.unwrap_or_default() + rest.as_str()
}
