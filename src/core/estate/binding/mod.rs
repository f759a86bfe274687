//! The source that decides what an apply does and that plan JSON does not show.
//!
//! Which account a provider talks to and what a provisioner runs leave no trace in a plan's resource changes
//! (DESIGN, "What a plan digest covers"), so a digest covers their source. What cannot be followed makes the whole
//! source enter: it errs to asking again.

mod follow;
mod reference;
mod source;

use std::collections::BTreeSet;

use crate::core::estate::Files;
use crate::core::ids::Root;

use follow::Follow;
use source::Source;

/// What a digest has to cover beside the plan. Everything is sorted, so equal sources give equal values. The texts may
/// hold secrets that somebody wrote into the code: they are for hashing, not for showing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingSource {
    /// Pieces of source as they are written, each after the path of its file and the address of its block.
    pub texts: Vec<String>,
    /// Files of the repository whose contents these pieces read.
    pub files: Vec<String>,
    /// Where the name of a file that is read cannot be told, or may be a directory: everything at or below these
    /// paths may be read.
    pub folders: Vec<String>,
    /// Variables of the root whose values these pieces use.
    pub variables: BTreeSet<String>,
}

/// Gathers the source of a root's `provider`, `terraform`, `provisioner` and `connection` blocks, of its choices of
/// providers, and of the same in its local modules, with everything these refer to: locals, defaults of variables,
/// arguments of modules, data and outputs. Calls of modules from elsewhere enter whole.
///
/// Resources that they refer to stay out: when one changes, the plan shows it. Files outside the repository stay out
/// too; their paths are in the texts.
pub fn binding_source(files: &Files, root: &Root) -> BindingSource {
    let source = Source::load(files, root);
    let followed = Follow::new(&source).run();
    followed.unwrap_or_else(|| follow::whole(&source))
}

#[cfg(test)]
mod tests;
