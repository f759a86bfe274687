//! The one integration binary: stories through the whole world, and the rules of the house.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod forges;
mod gate;
mod leash;
mod manifests;
mod testdrive;
mod tidy;
mod world;
