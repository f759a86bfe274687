//! Configuration: texts in, valid values or all complaints out, each with its line and column.

pub mod project;
pub mod server;
