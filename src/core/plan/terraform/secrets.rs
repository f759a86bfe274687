//! Values that are sensitive somewhere in a plan, and so must not be shown anywhere in it.
//!
//! Terraform loses the mark on the way through some attributes and remote states, and prints the value there.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::core::hidden::Hidden;
use crate::core::plan::digest::sha256_hex;
use crate::core::plan::terraform::PlanError;
use crate::core::plan::terraform::tree::{Reader, holds_true, is_mark, union};
use crate::core::plan::terraform::wire::{ChangeJson, ModuleJson, PlanJson, ValuesJson};

/// Texts that must not be shown.
pub(super) struct Secrets {
    /// What is marked as sensitive somewhere in the plan.
    marked: Hidden,
    /// What the job was given as a secret.
    given: Hidden,
}

/// Texts that are marked as sensitive, as they are found.
#[derive(Default)]
struct Marked(BTreeSet<String>);

impl Secrets {
    /// Collects them from all a plan holds, beside those that were `given`.
    pub(super) fn of(plan: &PlanJson, reader: &Reader, given: Hidden) -> Result<Self, PlanError> {
        let mut secrets = Marked::default();
        let resources = plan.resource_changes.iter().flatten();
        for entry in resources.chain(plan.resource_drift.iter().flatten()) {
            secrets.add_change(&entry.change, reader)?;
        }
        for change in plan.output_changes.iter().flatten().map(|(_, it)| it) {
            secrets.add_change(change, reader)?;
        }
        let prior = plan.prior_state.as_ref().and_then(|it| it.values.as_ref());
        for values in prior.into_iter().chain(&plan.planned_values) {
            secrets.add_values(values, reader)?;
        }
        secrets.add_variables(plan, reader)?;
        let marked = secrets.0.iter().map(|it| ("sensitive", it.as_str()));
        Ok(Self {
            marked: Hidden::new(marked),
            given,
        })
    }

    /// Marks every text of a tree that holds one of these.
    pub(super) fn scrub(&self, tree: Value) -> Value {
        match tree {
            Value::String(text) if self.are_in(&text) => {
                json!({ "$sensitive": sha256_hex(&text) })
            }
            Value::Array(list) => list.into_iter().map(|it| self.scrub(it)).collect(),
            Value::Object(map) if map.keys().any(|it| self.were_given(it)) => {
                json!({ "$sensitive": sha256_hex(&Value::Object(map).to_string()) })
            }
            Value::Object(map) if !is_mark(&map) => map
                .into_iter()
                .map(|(key, value)| (key, self.scrub(value)))
                .collect(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => tree,
        }
    }

    /// Whether a text holds one of these.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.marked.are_in(text) || self.were_given(text)
    }

    /// Whether a text holds one that the job was given.
    pub(super) fn were_given(&self, text: &str) -> bool {
        self.given.are_in(text)
    }
}

impl Marked {
    fn add_change(&mut self, change: &ChangeJson, reader: &Reader) -> Result<(), PlanError> {
        // What is secret on one side is secret on both, also where the other side's value stands unmarked.
        let before_mask = reader.optional(change.before_sensitive)?;
        let mask = union(&before_mask, &reader.optional(change.after_sensitive)?);
        self.add_masked(&reader.optional(change.before)?, &mask);
        self.add_masked(&reader.optional(change.after)?, &mask);
        Ok(())
    }

    fn add_values(&mut self, values: &ValuesJson, reader: &Reader) -> Result<(), PlanError> {
        for output in values.outputs.iter().flatten().map(|(_, it)| it) {
            let value = reader.optional(output.value)?;
            self.add_masked(&value, &Value::Bool(output.sensitive));
        }
        values
            .root_module
            .iter()
            .try_for_each(|it| self.add_module(it, reader))
    }

    fn add_module(&mut self, module: &ModuleJson, reader: &Reader) -> Result<(), PlanError> {
        for resource in module.resources.iter().flatten() {
            let values = reader.optional(resource.values)?;
            self.add_masked(&values, &reader.optional(resource.sensitive_values)?);
        }
        for child in module.child_modules.iter().flatten() {
            self.add_module(child, reader)?;
        }
        Ok(())
    }

    fn add_variables(&mut self, plan: &PlanJson, reader: &Reader) -> Result<(), PlanError> {
        let root = plan
            .configuration
            .as_ref()
            .and_then(|it| it.root_module.as_ref());
        let declared = root.and_then(|it| it.variables.as_ref());
        for (name, variable) in plan.variables.iter().flatten() {
            let block = declared.and_then(|it| it.get(name));
            if block.is_some_and(|it| it.sensitive || it.ephemeral) {
                self.add_all(&reader.optional(variable.value)?);
            }
        }
        Ok(())
    }

    fn add_masked(&mut self, tree: &Value, mask: &Value) {
        match (tree, mask) {
            _ if !holds_true(mask) => {}
            (Value::Object(map), Value::Object(mask)) if !is_mark(map) => {
                for (key, value) in map {
                    self.add_masked(value, mask.get(key).unwrap_or(&Value::Null));
                }
            }
            (Value::Array(list), Value::Array(mask)) => {
                for (value, mask) in list.iter().zip(mask) {
                    self.add_masked(value, mask);
                }
            }
            _ => self.add_all(tree),
        }
    }

    fn add_all(&mut self, tree: &Value) {
        match tree {
            Value::String(text) => {
                self.0.insert(text.trim().to_owned());
            }
            Value::Array(list) => list.iter().for_each(|it| self.add_all(it)),
            Value::Object(map) if !is_mark(map) => map.values().for_each(|it| self.add_all(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
}
