//! tidegate lets infrastructure changes out in waves that pass their gate only with plans somebody approved.
//!
//! # Reading order
//!
//! Start with [`core::event`] (all that can happen) and [`core::effect`] (all that we can do); then
//! [`core::gate::decide`], the one decision everything else serves. `handlers` turns events into effects, `jobs` does
//! the work of one job, and the rooms below them each hide one outside thing.
//!
//! # A pull request event, end to end
//!
//! [`serve`] checks a delivery over its raw bytes, reads it into an [`core::event::Event`] and files it (202). Its
//! worker claims the oldest delivery whose lane is free and hands it to [`handlers`], which gathers, asks the core and
//! answers with changes and effects; both are stored in the transaction that finishes the delivery. [`outbox`] performs
//! the effects in order: a status, a note, a job. An [`executor`] starts this same program as `tidegate job`;
//! [`jobs`] fetches the commit and its question through [`runner`], plans with an [`engine`], asks the gate, applies
//! what was cleared, and reports. The report comes in by the same door, as an event, and the rollout moves on.
//!
//! # Rooms
//!
//! | room | it holds |
//! |---|---|
//! | [`core`] | PURE: decisions, and the words for them |
//! | [`process`], [`git`] | programs and git, each behind one door |
//! | [`forge`] | the forges, behind one trait |
//! | [`ledger`] | facts on the ledger branch of the repository itself |
//! | [`engine`], [`executor`] | what plans and applies; where jobs run |
//! | [`store`], [`outbox`] | what the server remembers; what it still has to do |
//! | [`handlers`], [`serve`] | what the server does about an event; HTTP and time |
//! | [`runner`], [`jobs`] | a job's line to its server; what a job does |
//! | [`sandbox`], [`cli`] | a small forge for trying and testing; one file per command |
//!
//! # Invariants
//!
//! - The core does no IO and knows no time but what it is given.
//! - Nothing outside `forge` asks which forge it is, nothing outside `engine` which engine.
//! - No handler waits for Terraform; no job answers a webhook.
//! - [`engine::Engine::apply`] takes a [`core::gate::decide::Cleared`], and only `core::gate` makes one.
//! - Rules are only ever [`core::gate::AtBase`]: read at the commit before the change.
//! - A delivery is filed before it is answered; a lane is handled in order, lanes run side by side.
//! - A job holds no forge token and cannot push to the ledger.
//! - Losing the store loses time, never an approval: the ledger is the record.
//!
//! `tests/it/tidy.rs` holds the direction between rooms and the purity of the core.

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
