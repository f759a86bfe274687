//! The parts of Terraform's plan JSON that are read, as it writes them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::core::plan::Action;

/// A plan. Values stay raw text, because their numbers must be read as they were written.
#[derive(Deserialize)]
pub(super) struct PlanJson<'a> {
    pub(super) format_version: String,
    #[serde(default)]
    pub(super) errored: bool,
    pub(super) complete: Option<bool>,
    #[serde(borrow)]
    pub(super) resource_changes: Option<Vec<ResourceChange<'a>>>,
    #[serde(borrow)]
    pub(super) resource_drift: Option<Vec<ResourceChange<'a>>>,
    #[serde(borrow)]
    pub(super) output_changes: Option<BTreeMap<String, ChangeJson<'a>>>,
    #[serde(borrow)]
    pub(super) variables: Option<BTreeMap<String, VariableJson<'a>>>,
    #[serde(borrow)]
    pub(super) planned_values: Option<ValuesJson<'a>>,
    #[serde(borrow)]
    pub(super) prior_state: Option<StateJson<'a>>,
    pub(super) configuration: Option<ConfigurationJson>,
    pub(super) checks: Option<Vec<CheckJson>>,
    pub(super) deferred_changes: Option<Vec<IgnoredAny>>,
    pub(super) action_invocations: Option<Vec<IgnoredAny>>,
}

/// One resource instance, or one deposed object of it.
#[derive(Deserialize)]
pub(super) struct ResourceChange<'a> {
    pub(super) address: String,
    #[serde(default)]
    pub(super) mode: String,
    #[serde(default)]
    pub(super) provider_name: String,
    pub(super) deposed: Option<String>,
    pub(super) previous_address: Option<String>,
    pub(super) action_reason: Option<String>,
    #[serde(borrow)]
    pub(super) change: ChangeJson<'a>,
}

/// What happens to a resource or an output.
#[derive(Deserialize)]
pub(super) struct ChangeJson<'a> {
    pub(super) actions: Vec<Action>,
    #[serde(borrow)]
    pub(super) before: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) after: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) after_unknown: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) before_sensitive: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) after_sensitive: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) importing: Option<&'a RawValue>,
    pub(super) replace_paths: Option<Vec<Vec<Step>>>,
}

/// One step of a path into a value.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Step {
    Name(String),
    Index(u64),
    /// A set's element has no name.
    Other(IgnoredAny),
}

/// The value of an input variable, in clear.
#[derive(Deserialize)]
pub(super) struct VariableJson<'a> {
    #[serde(borrow)]
    pub(super) value: Option<&'a RawValue>,
}

/// A state inside a plan.
#[derive(Deserialize)]
pub(super) struct StateJson<'a> {
    #[serde(borrow)]
    pub(super) values: Option<ValuesJson<'a>>,
}

/// Outputs and resources of a state.
#[derive(Deserialize)]
pub(super) struct ValuesJson<'a> {
    #[serde(borrow)]
    pub(super) outputs: Option<BTreeMap<String, OutputJson<'a>>>,
    #[serde(borrow)]
    pub(super) root_module: Option<ModuleJson<'a>>,
}

/// An output of a state.
#[derive(Deserialize)]
pub(super) struct OutputJson<'a> {
    #[serde(default)]
    pub(super) sensitive: bool,
    #[serde(borrow)]
    pub(super) value: Option<&'a RawValue>,
}

/// A module of a state.
#[derive(Deserialize)]
pub(super) struct ModuleJson<'a> {
    #[serde(borrow)]
    pub(super) resources: Option<Vec<ResourceJson<'a>>>,
    #[serde(borrow)]
    pub(super) child_modules: Option<Vec<ModuleJson<'a>>>,
}

/// A resource of a state.
#[derive(Deserialize)]
pub(super) struct ResourceJson<'a> {
    #[serde(borrow)]
    pub(super) values: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) sensitive_values: Option<&'a RawValue>,
}

/// The configuration, as far as it says which variables are secret.
#[derive(Deserialize)]
pub(super) struct ConfigurationJson {
    pub(super) root_module: Option<RootModuleJson>,
}

/// The root module of a configuration.
#[derive(Deserialize)]
pub(super) struct RootModuleJson {
    pub(super) variables: Option<BTreeMap<String, VariableBlock>>,
}

/// A declared variable.
#[derive(Deserialize)]
pub(super) struct VariableBlock {
    #[serde(default)]
    pub(super) sensitive: bool,
    #[serde(default)]
    pub(super) ephemeral: bool,
}

/// A `check` block, a precondition or a postcondition, and how it stands.
#[derive(Deserialize)]
pub(super) struct CheckJson {
    pub(super) address: CheckAddress,
    pub(super) status: String,
    pub(super) instances: Option<Vec<CheckInstance>>,
}

/// Which check it is.
#[derive(Deserialize)]
pub(super) struct CheckAddress {
    pub(super) to_display: String,
}

/// One instance of what a check is about.
#[derive(Deserialize)]
pub(super) struct CheckInstance {
    pub(super) problems: Option<Vec<Problem>>,
}

/// What a failed check says.
#[derive(Deserialize)]
pub(super) struct Problem {
    pub(super) message: String,
}
