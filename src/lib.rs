//! tidegate lets infrastructure changes out in waves that pass their gate only with plans somebody approved.

pub mod cli;
pub mod core;
pub mod engine;
pub mod executor;
pub mod forge;
pub mod git;
pub mod handlers;
pub mod jobs;
pub mod ledger;
pub mod outbox;
pub mod process;
pub mod runner;
pub mod sandbox;
pub mod serve;
pub mod store;
