//! What a run would do: the subject a digest covers, and what people read of it.
//!
//! A job makes a [`Draft`] from Terraform's plan JSON, or of what a command of the project's own says, and sends it; the server seals it under the
//! installation's key into a [`Plan`], and renders what people see from the same bytes it digests.

pub mod digest;
pub mod mask;
pub mod op;
pub mod terraform;
pub mod totals;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::ids::{Digest, Root};
use crate::core::plan::op::Told;

/// One run as a job planned it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    pub root: Root,
    pub result: PlanResult,
}

/// How planning a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanResult {
    Made(Draft),
    /// No digest: `why` is one sentence, `detail` is the tool's own text (scrubbed, capped).
    Failed {
        why: String,
        detail: String,
    },
    /// No digest yet: it reads roots that have never applied.
    Deferred {
        waits_for: Vec<Root>,
    },
}

/// A plan as a job sends it: its subject, with the SHA-256 of each sensitive leaf in the leaf's place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    pub subject: Subject,
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

/// What a digest covers: the consequence of applying, nothing that moves by itself.
///
/// Serialised with [`digest`]'s canonical form under the kind `tidegate-plan/1` (DESIGN, "What a plan digest
/// covers"). Leaves: `{"$sensitive": "<sha256>"}` in a draft, `{"$hmac": "<hex>"}` once sealed,
/// `{"$unknown": true}`, `{"$number": "<token>"}`, `$CHECKOUT` inside strings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    pub root: Root,
    pub mode: Mode,
    /// `{"type": "s3", "bucket": …, "key": …}`, never a credential.
    pub backend: Value,
    pub workspace: String,
    /// Managed resource changes that do something, sorted by (address, deposed).
    pub changes: Vec<Change>,
    /// Outputs that change, sorted by name.
    pub outputs: Vec<OutputChange>,
    /// A keyed hash over the source that plan JSON does not show (provider, terraform, provisioner and connection
    /// blocks with what they refer to); null where there is none.
    pub source: Value,
    /// The id of the key that sealed it; absent in a draft.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// What the project's own plan command says of the run; then nothing but the root stands beside it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub told: Option<Told>,
}

/// What kind of plan it is; Terraform's plan JSON does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Normal,
    Destroy,
}

/// One managed resource instance that changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deposed: Option<String>,
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous_address: Option<String>,
    /// Terraform's own actions, in order: `["delete","create"]` is a replace.
    pub actions: Vec<Action>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub importing: Option<Value>,
    pub before: Value,
    pub after: Value,
}

/// Terraform's actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    NoOp,
    Create,
    Read,
    Update,
    Delete,
    Forget,
}

/// One output that changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputChange {
    pub name: String,
    pub actions: Vec<Action>,
    pub before: Value,
    pub after: Value,
}

/// Something people should know of a plan that its digest does not cover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// The resource it is about; none for the plan as a whole.
    pub address: Option<String>,
    /// A sentence, such as "replaced because it is tainted" or "`name` forces a replacement".
    pub text: String,
}

/// A plan under its digest, sealed by the server (or by a job in plain CI).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub root: Root,
    pub digest: Digest,
    /// SHA-256 (hex) of the subject as the job sent it.
    pub sent_sha256: String,
    pub subject: Subject,
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

/// How many resources a plan, or several, would touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub create: u32,
    pub update: u32,
    pub replace: u32,
    pub delete: u32,
    pub forget: u32,
    /// Moved and imported, without another change.
    pub other: u32,
    pub outputs: u32,
    /// Runs whose own command says that they change something, and destroy or replace nothing.
    pub told_changing: u32,
    /// Runs whose own command says that they destroy or replace something.
    pub told_destructive: u32,
}
