//! Which directories are roots.
