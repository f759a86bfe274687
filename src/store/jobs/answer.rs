//! What the jobs answer to those who ask something of them.

use crate::core::job::JobSpec;

/// Whether a job was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    New,
    /// It was there already; nothing changed.
    Known,
    /// A newer attempt at its part is there; nothing changed.
    Older,
}

/// What a beat meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beaten {
    /// The job goes on; its lease is renewed.
    Alive,
    /// The job was asked to stop; its lease is renewed until it has.
    Cancel,
    /// The job is over, or never started.
    Over,
}

/// Whether a job's end was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its end is stored, and an event says so.
    New,
    /// It was over before; nothing changed.
    Known,
    Unknown,
}

/// What came of asking a job to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It runs, and hears of it with its next beat.
    Asked,
    /// It had not started, and never will; an event says that it ended.
    Dropped,
    /// It is over, or unknown; nothing changed.
    Over,
}

/// Where a job stands for one who shows its token.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// It runs, and no newer attempt is there.
    Current(Box<JobSpec>),
    /// A newer attempt at its part is there.
    Older,
    /// It said its end, or was cancelled.
    Ended,
    /// It was given up as lost, or was not started yet.
    Over,
    Unknown,
}

/// How many jobs are not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCounts {
    pub queued: i64,
    pub running: i64,
}
