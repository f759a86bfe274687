//! The world in which stories are told.

pub(crate) mod site;
pub(crate) mod spec;
