//! Configuration: texts in, valid values or all complaints out, each with its line and column.
//!
//! # Why a tree and not derived structs
//!
//! A derived `Deserialize` stops at its first error. People who mistyped two keys should hear of both, so the text is
//! read once into nodes that know their place, and the checks walk the nodes and collect.

pub mod commands;
mod keys;
pub mod length;
mod near;
mod place;
pub mod project;
pub mod schema;
mod section;
pub mod server;
mod yaml;

use std::fmt;

use serde::Serialize;

pub use place::place_of;

pub(in crate::core) use near::distance;

/// One thing wrong with a configuration file: where, what, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Complaint {
    /// The file's name, as people know it.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// The key's path, such as `waves.canary`; empty for the file as a whole.
    pub path: String,
    /// What is wrong, without a full stop. Never a value that could be a secret.
    pub what: String,
    /// What to do, without a full stop; empty when `what` says it all.
    pub hint: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)?;
        if self.hint.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.hint)
        }
    }
}

#[cfg(test)]
mod tests;
