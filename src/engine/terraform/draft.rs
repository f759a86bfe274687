//! STUB
use crate::core::ids::Root;
use crate::core::plan::{Change, Draft, Mode, Subject};
use crate::engine::Checkout;
use crate::engine::terraform::backend;
use crate::engine::terraform::failure::Failure;
use std::path::Path;

pub(super) fn of_json(
    checkout: &Checkout,
    root: &Root,
    data: &Path,
    json: &[u8],
) -> Result<Draft, Failure> {
    let v: serde_json::Value = serde_json::from_slice(json).unwrap();
    let mut d = empty(checkout, root, data)?;
    for c in v["resource_changes"].as_array().into_iter().flatten() {
        if c["change"]["actions"] == serde_json::json!(["no-op"]) {
            continue;
        }
        d.subject.changes.push(Change {
            address: c["address"].as_str().unwrap().to_owned(),
            deposed: None,
            provider: String::new(),
            previous_address: None,
            actions: serde_json::from_value(c["change"]["actions"].clone()).unwrap(),
            importing: None,
            before: c["change"]["before"].clone(),
            after: c["change"]["after"].clone(),
        });
    }
    Ok(d)
}

pub(super) fn empty(checkout: &Checkout, root: &Root, data: &Path) -> Result<Draft, Failure> {
    let backend =
        backend::read(data, &checkout.env).map_err(|it| Failure::new(format!("{it:#}")))?;
    Ok(Draft {
        subject: Subject {
            root: root.clone(),
            mode: Mode::Normal,
            backend,
            workspace: "default".into(),
            changes: vec![],
            outputs: vec![],
            source: serde_json::Value::Null,
            key: None,
        },
        remarks: vec![],
    })
}
