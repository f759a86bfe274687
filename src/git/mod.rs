//! Git, by its own program: mirrors, texts at a commit, diffs, shallow fetches, pushes. Knows no forge.

pub mod backend;
