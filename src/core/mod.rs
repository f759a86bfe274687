//! PURE: the decisions, and the words for them. No IO, no clock, no randomness.

pub mod command;
pub mod config;
pub mod effect;
pub mod estate;
pub mod event;
pub mod finding;
pub mod gate;
pub mod hidden;
pub mod ids;
pub mod inspect;
pub mod job;
pub mod key;
pub mod lost;
pub mod note;
pub mod outcome;
pub mod person;
pub mod plan;
pub mod preview;
pub mod refusal;
pub mod remote;
pub mod rollout;
pub mod token;
