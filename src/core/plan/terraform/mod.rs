//! Terraform plan JSON in, a draft out.
//!
//! The input is what `terraform show -json` prints of a saved plan. It holds secrets in clear; nothing of it leaves
//! here before it went past [`secrets::Secrets`].

mod remarks;
mod secrets;
mod tree;
mod wire;

use serde_json::{Map, Value, json};

use crate::core::hidden::Hidden;
use crate::core::ids::Root;
use crate::core::plan::digest::sha256_hex;
use crate::core::plan::terraform::secrets::Secrets;
use crate::core::plan::terraform::tree::Reader;
use crate::core::plan::terraform::wire::{ChangeJson, PlanJson, ResourceChange};
use crate::core::plan::{Action, Change, Draft, Mode, OutputChange, Subject};

/// What plan JSON does not say of itself.
#[derive(Clone, Debug)]
pub struct DraftContext {
    pub root: Root,
    pub mode: Mode,
    /// Never a credential.
    pub backend: Value,
    pub workspace: String,
    /// The source that plan JSON does not show, as one text; none where there is none.
    pub source: Option<String>,
    /// The checkout's absolute path, which must not enter a digest.
    pub checkout_dir: String,
    /// What the job was given as secrets: code that is planned may read them and print them anywhere.
    pub hidden: Hidden,
}

/// Why plan JSON has no digest. The text never holds a value of the plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("Terraform's plan cannot be read (line {line}, column {column})")]
    Unreadable { line: usize, column: usize },
    #[error("Terraform's plan is nested deeper than can be read")]
    TooDeep,
    #[error("Terraform's plan has format version {0}, and only 1 is known")]
    UnknownVersion(String),
    #[error("the plan ended with an error, so nobody can say what applying it would do")]
    Errored,
    #[error("the plan leaves changes for a later run, so nobody can say what applying it would do")]
    Incomplete,
    #[error("the plan runs provider actions, which a digest does not cover yet")]
    RunsActions,
    #[error(
        "the plan names a resource by a value that jobs are given as a secret, so it cannot be shown"
    )]
    NamesSecret,
}

/// Reads what `terraform show -json` printed of a saved plan into the normal form that a digest covers.
pub fn draft(json: &[u8], context: &DraftContext) -> Result<Draft, PlanError> {
    let plan: PlanJson = serde_json::from_slice(json).map_err(|error| PlanError::Unreadable {
        line: error.line(),
        column: error.column(),
    })?;
    check(&plan)?;
    let reader = Reader::new(&context.checkout_dir);
    let secrets = Secrets::of(&plan, &reader, context.hidden.clone())?;
    let maker = Maker { reader, secrets };
    Ok(Draft {
        subject: Subject {
            root: context.root.clone(),
            mode: context.mode,
            backend: maker.backend(&context.backend)?,
            workspace: context.workspace.clone(),
            changes: maker.changes(&plan)?,
            outputs: maker.outputs(&plan)?,
            source: context.source.as_ref().map_or(Value::Null, source_mark),
            key: None,
            told: None,
        },
        remarks: remarks::of(&plan, &maker.reader, &maker.secrets),
    })
}

fn check(plan: &PlanJson) -> Result<(), PlanError> {
    if plan.format_version.split('.').next() != Some("1") {
        return Err(PlanError::UnknownVersion(plan.format_version.clone()));
    }
    if plan.errored {
        return Err(PlanError::Errored);
    }
    if plan.complete == Some(false) || plan.deferred_changes.iter().flatten().next().is_some() {
        return Err(PlanError::Incomplete);
    }
    if plan.action_invocations.iter().flatten().next().is_some() {
        return Err(PlanError::RunsActions);
    }
    Ok(())
}

fn source_mark(source: &String) -> Value {
    json!({ "$sensitive": sha256_hex(source) })
}

/// Makes the parts of one subject.
struct Maker<'a> {
    reader: Reader<'a>,
    secrets: Secrets,
}

/// A change's two sides, with every mark in place but those for values that are secret elsewhere.
struct Sides {
    before: Value,
    after: Value,
}

impl Maker<'_> {
    fn backend(&self, backend: &Value) -> Result<Value, PlanError> {
        let raw = serde_json::value::to_raw_value(backend).expect("a JSON value can be written");
        self.reader.read(&raw)
    }

    fn changes(&self, plan: &PlanJson) -> Result<Vec<Change>, PlanError> {
        let mut changes = Vec::new();
        for entry in plan.resource_changes.iter().flatten() {
            if entry.mode == "managed" && does_something(entry) {
                changes.push(self.change(entry)?);
            }
        }
        changes.sort_by(|a, b| (&a.address, &a.deposed).cmp(&(&b.address, &b.deposed)));
        Ok(changes)
    }

    fn change(&self, entry: &ResourceChange) -> Result<Change, PlanError> {
        let mut names = [Some(entry.address.as_str()), moved_from(entry)].into_iter();
        if names.any(|it| it.is_some_and(|it| self.secrets.were_given(it))) {
            return Err(PlanError::NamesSecret);
        }
        let sides = self.sides(&entry.change)?;
        let importing = match entry.change.importing {
            Some(raw) => Some(self.secrets.scrub(self.reader.read(raw)?)),
            None => None,
        };
        Ok(Change {
            address: self.reader.text(&entry.address),
            deposed: entry.deposed.clone(),
            provider: entry.provider_name.clone(),
            previous_address: moved_from(entry).map(|it| self.reader.text(it)),
            actions: entry.change.actions.clone(),
            importing,
            before: self.secrets.scrub(sides.before),
            after: self.secrets.scrub(sides.after),
        })
    }

    fn outputs(&self, plan: &PlanJson) -> Result<Vec<OutputChange>, PlanError> {
        let mut outputs = Vec::new();
        for (name, change) in plan.output_changes.iter().flatten() {
            if change.actions == [Action::NoOp] {
                continue;
            }
            let sides = self.sides(change)?;
            outputs.push(OutputChange {
                name: name.clone(),
                actions: change.actions.clone(),
                before: self.secrets.scrub(sides.before),
                after: self.secrets.scrub(sides.after),
            });
        }
        Ok(outputs)
    }

    fn sides(&self, change: &ChangeJson) -> Result<Sides, PlanError> {
        let before = self.reader.optional(change.before)?;
        let after = self.reader.optional(change.after)?;
        let after = tree::mark_unknown(after, &self.reader.optional(change.after_unknown)?);
        let before_mask = self.reader.optional(change.before_sensitive)?;
        let after_mask = self.reader.optional(change.after_sensitive)?;
        // What is secret on one side is shown on neither.
        let mask = tree::union(&before_mask, &after_mask);
        let masked = Sides {
            before: tree::mark_sensitive(before.clone(), &mask),
            after: tree::mark_sensitive(after.clone(), &mask),
        };
        let in_place = matches!(change.actions[..], [Action::Update] | [Action::NoOp]);
        let own = Sides {
            before: tree::mark_sensitive(before, &before_mask),
            after: tree::mark_sensitive(after, &after_mask),
        };
        match (in_place, own.before, own.after) {
            (true, Value::Object(before), Value::Object(after)) => {
                Ok(only_moved(masked, &before, &after))
            }
            (true | false, _, _) => Ok(masked),
        }
    }
}

/// Keeps the top-level attributes that differ, so that one which plays no part in an update does not move a digest.
fn only_moved(masked: Sides, before: &Map<String, Value>, after: &Map<String, Value>) -> Sides {
    let moved = |name: &String| {
        before.get(name).unwrap_or(&Value::Null) != after.get(name).unwrap_or(&Value::Null)
    };
    let names: Vec<&String> = before
        .keys()
        .chain(after.keys())
        .filter(|it| moved(it))
        .collect();
    let pick = |side: &Value| {
        let value = |name: &String| side.get(name).cloned().unwrap_or(Value::Null);
        Value::Object(names.iter().map(|it| ((*it).clone(), value(it))).collect())
    };
    Sides {
        before: pick(&masked.before),
        after: pick(&masked.after),
    }
}

/// Whether applying does anything about this resource; a move or an import without another change does.
fn does_something(entry: &ResourceChange) -> bool {
    entry.change.actions != [Action::NoOp]
        || moved_from(entry).is_some()
        || entry.change.importing.is_some()
}

fn moved_from<'a>(entry: &'a ResourceChange) -> Option<&'a str> {
    entry
        .previous_address
        .as_deref()
        .filter(|it| *it != entry.address)
}

#[cfg(test)]
mod tests;
