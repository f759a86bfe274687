//! `tidegate job`.
