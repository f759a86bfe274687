//! The one integration binary: stories through the whole world, and the rules of the house.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approve;
mod cli;
mod comment;
mod delivery;
mod forges;
mod gate;
mod github_app;
mod isolation;
mod leash;
mod ledger;
mod manifests;
mod pull;
mod rollout;
mod testdrive;
mod tidy;
mod world;
