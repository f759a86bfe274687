//! Git, by its own program: mirrors, texts at a commit, diffs, shallow fetches, pushes. Knows no forge.
//!
//! # Why the program and not a library
//!
//! Every process gets its configuration from us alone: no system or user file, no hook, no credential helper, no
//! prompt. The right to use a remote travels in git's environment, never in an argument or a URL. A library that
//! pushes lost lines of a file under four writers; the program's compare-and-swap on the remote lost none.

pub mod backend;
mod check;
mod checkout;
mod command;
mod commit;
mod mirror;
mod repository;

pub use check::check;
pub use checkout::checkout;
pub use commit::{Identity, NewCommit, Push};
pub use mirror::{Heads, Mirror};
pub use repository::Repository;

#[cfg(test)]
mod tests;
