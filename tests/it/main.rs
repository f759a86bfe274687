//! The one integration binary: stories through the whole world, and the rules of the house.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approve;
mod cli;
mod comment;
mod delivery;
mod forges;
mod fuzz;
mod gate;
mod github_app;
mod isolation;
mod kill;
mod leash;
mod ledger;
mod manifests;
mod outage;
mod pull;
mod reference;
mod repeat;
mod rollout;
mod stop;
mod testdrive;
mod tidy;
mod world;
