//! A job as it is stored, read out of its row.

use jiff::Timestamp;

use crate::core::job::JobSpec;
use crate::store::db::{from_json, small, time};

/// A job's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for a free place.
    Queued,
    Running,
    Ended,
    Lost,
    Cancelled,
}

/// A job as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub spec: JobSpec,
    pub state: JobState,
    /// How often it was started; more than once when it never reported.
    pub starts: u32,
    /// Whether it reported since it was started.
    pub has_beaten: bool,
    /// What it said it is doing.
    pub doing: String,
    pub added_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

#[derive(sqlx::FromRow)]
pub(super) struct Row {
    pub(super) number: i64,
    spec: String,
    state: String,
    starts: i64,
    beaten: bool,
    doing: String,
    added_at: i64,
    started_at: Option<i64>,
    ended_at: Option<i64>,
}

/// The rows that can be read: one that another version of this program wrote must not hide the others.
pub(super) fn jobs(rows: Vec<Row>) -> Vec<Job> {
    rows.into_iter().filter_map(|it| job(it).ok()).collect()
}

pub(super) fn job(row: Row) -> sqlx::Result<Job> {
    Ok(Job {
        spec: from_json(&row.spec)?,
        state: state(&row.state)?,
        starts: small(row.starts),
        has_beaten: row.beaten,
        doing: row.doing,
        added_at: time(row.added_at)?,
        started_at: row.started_at.map(time).transpose()?,
        ended_at: row.ended_at.map(time).transpose()?,
    })
}

pub(super) fn state(text: &str) -> sqlx::Result<JobState> {
    Ok(match text {
        "queued" => JobState::Queued,
        "running" => JobState::Running,
        "ended" => JobState::Ended,
        "lost" => JobState::Lost,
        "cancelled" => JobState::Cancelled,
        _ => return Err(sqlx::Error::Decode("an unknown job state".into())),
    })
}
