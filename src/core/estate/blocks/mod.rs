//! The blocks of Terraform texts (HCL and JSON) that say what a root is and what it reads, in one neutral form.

pub(super) mod hcl;
mod json;
mod tolerant;

use std::collections::BTreeMap;

pub(super) use tolerant::looks_like_root;

/// A text longer than this is not parsed: no person wrote it, and it would hold up everything else.
const LONGEST: usize = 8 << 20;

/// Words without one of which an HCL text holds no block that matters here; parsing is the slow part.
const WORDS: [&str; 6] = [
    "backend",
    "cloud",
    "live",
    "provider",
    "terraform_remote_state",
    "module",
];

/// What one file, or all files of a directory, say about roots.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Blocks {
    /// `backend` and `cloud` blocks inside `terraform`, in the order of the text.
    pub(super) backends: Vec<Backend>,
    /// Whether choudoufu's `live` block stands inside `terraform`.
    pub(super) is_live: bool,
    pub(super) has_provider: bool,
    pub(super) reads: Vec<StateRead>,
    pub(super) calls: Vec<ModuleCall>,
    /// Names of `variable` blocks, as far as the text was parsed.
    pub(super) variables: Vec<String>,
}

/// Where a root keeps its state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Backend {
    /// The backend's type; `cloud` for a `cloud` block.
    pub(super) kind: String,
    pub(super) config: Config,
}

/// A `data "terraform_remote_state"` block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StateRead {
    pub(super) label: String,
    pub(super) backend: Option<Value>,
    pub(super) config: Option<Value>,
}

/// A `module` block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModuleCall {
    pub(super) label: String,
    pub(super) source: Option<Value>,
}

/// Arguments by name; an argument that is `null` is left out.
pub(super) type Config = BTreeMap<String, Value>;

/// A value as far as literals tell it. `path.module` and `path.root` are known: a root's own directory.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Object(Config),
    /// An expression, a template, or a literal of another type.
    Other,
}

/// Why a file cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) why: String,
}

/// Reads the blocks of one file; the path says which syntax it is in.
pub(super) fn read(path: &str, text: &str) -> Result<Blocks, Unreadable> {
    let text = readable(text)?;
    if is_json(path) {
        return json::read(text);
    }
    if !WORDS.iter().any(|it| text.contains(it)) {
        return Ok(Blocks::default());
    }
    hcl::parse(text).map(|body| hcl::blocks(&body))
}

/// Whether a file is in JSON syntax.
pub(super) fn is_json(path: &str) -> bool {
    path.ends_with(".json")
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The text without its byte order mark, which Terraform takes and the parsers do not; spans count in it.
pub(super) fn readable(text: &str) -> Result<&str, Unreadable> {
    if text.len() > LONGEST {
        return Err(Unreadable {
            line: 1,
            column: 1,
            why: format!("it is longer than {} MiB", LONGEST >> 20),
        });
    }
    Ok(without_mark(text))
}

impl Blocks {
    /// Adds what another file of the same directory says.
    pub(super) fn merge(&mut self, other: Self) {
        self.backends.extend(other.backends);
        self.is_live |= other.is_live;
        self.has_provider |= other.has_provider;
        self.reads.extend(other.reads);
        self.calls.extend(other.calls);
        self.variables.extend(other.variables);
    }

    /// Whether a directory with these blocks is a root: it says where a state or an account is.
    pub(super) fn make_a_root(&self) -> bool {
        !self.backends.is_empty() || self.is_live || self.has_provider
    }
}

#[cfg(test)]
mod tests;
