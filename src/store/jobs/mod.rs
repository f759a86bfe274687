//! The jobs: one row a try at a part, from being asked for to its end.

mod answer;
mod job;

use jiff::{SignedDuration, Timestamp};

use crate::core::event::{Event, Lane};
use crate::core::ids::{Attempt, DeliveryId};
use crate::core::job::{JobEnd, JobKey, JobSpec, Report};
use crate::core::outcome::Outcome;
use crate::store::bell::Bell;
use crate::store::db::{Db, Tx, from_json, lane, name, on, small, storable, to_json};
use crate::store::jobs::job::{Row, job, jobs, state};
use crate::store::{inbox, key, millis};

pub use crate::store::jobs::answer::{Added, Beaten, Cancelled, Ended, JobCounts, Standing};
pub use crate::store::jobs::job::{Job, JobState};

/// The jobs.
#[derive(Clone)]
pub struct Jobs {
    db: Db,
    bell: Bell,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT number, spec, state, starts, beaten, doing, added_at, started_at, ended_at FROM jobs ",
            $rest
        )
    };
}

impl Jobs {
    pub(super) fn new(db: Db, bell: Bell) -> Self {
        Self { db, bell }
    }

    /// Queues a job whose end will be an event in `lane`. An older attempt that never started is dropped.
    pub async fn add(&self, spec: &JobSpec, lane: &Lane, now: Timestamp) -> sqlx::Result<Added> {
        let mut tx = self.db.begin().await?;
        let added = insert(&mut tx, spec, lane, now).await?;
        tx.commit().await?;
        self.bell.ring();
        Ok(added)
    }

    /// Takes the oldest queued job into `running`, unless that many run already. Who gets it must start it now.
    pub async fn start_next(
        &self,
        parallel: usize,
        now: Timestamp,
        lease: SignedDuration,
    ) -> sqlx::Result<Option<Job>> {
        while let Some(row) = self.start_row(parallel, now, lease).await? {
            let number = row.number;
            match job(row) {
                Ok(job) => return Ok(Some(job)),
                Err(error) => self.bury(number, &error, now).await?,
            }
        }
        Ok(None)
    }

    async fn start_row(
        &self,
        parallel: usize,
        now: Timestamp,
        lease: SignedDuration,
    ) -> sqlx::Result<Option<Row>> {
        const WAITS: &str = "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'queued')";
        const SQL: &str = "UPDATE jobs
            SET state = 'running', starts = starts + 1, started_at = $1, lease_until = $2
            WHERE number = (
                SELECT number FROM jobs WHERE state = 'queued' AND run_at <= $1 ORDER BY number LIMIT 1)
            AND (SELECT count(*) FROM jobs WHERE state = 'running') < $3
            RETURNING number, spec, state, starts, beaten, doing, added_at, started_at, ended_at";
        let waits: bool =
            on!(read &self.db, run => sqlx::query_scalar(WAITS).fetch_one(run).await)?;
        if !waits {
            return Ok(None);
        }
        let mut tx = self.db.begin().await?;
        // Two replicas must not count the same free place: whoever takes a number goes first.
        tx.next_number().await?;
        let parallel = i64::try_from(parallel).unwrap_or(i64::MAX);
        let row: Option<Row> = on!(tx &mut tx, run => {
            sqlx::query_as(SQL).bind(millis(now)).bind(millis(now + lease)).bind(parallel)
                .fetch_optional(run).await
        })?;
        tx.commit().await?;
        Ok(row)
    }

    /// Ends a job that cannot be read: another version of this program wrote it, and it must not keep others waiting.
    async fn bury(&self, number: i64, error: &sqlx::Error, now: Timestamp) -> sqlx::Result<()> {
        const SQL: &str = "UPDATE jobs
            SET state = 'lost', ended_at = $2, lease_until = NULL, doing = $3 WHERE number = $1";
        let why = format!("it cannot be read: {error}");
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(number).bind(millis(now)).bind(storable(&why)).execute(run).await.map(drop)
        })
    }

    /// Queues a job again that could not be started, or never reported, for `run_at`.
    pub async fn requeue(&self, job: &JobKey, run_at: Timestamp) -> sqlx::Result<()> {
        const SQL: &str = "UPDATE jobs SET state = 'queued', run_at = $3, lease_until = NULL
            WHERE part = $1 AND attempt = $2 AND state = 'running' AND NOT beaten";
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(&job.part).bind(attempt(job)).bind(millis(run_at))
                .execute(run).await.map(drop)
        })
    }

    /// The oldest jobs that wait to be started.
    pub async fn queued(&self, limit: u32) -> sqlx::Result<Vec<Job>> {
        const SQL: &str = select!("WHERE state = 'queued' ORDER BY number LIMIT $1");
        let rows = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(i64::from(limit)).fetch_all(run).await
        })?;
        Ok(jobs(rows))
    }

    /// All jobs that run, oldest first.
    pub async fn running(&self) -> sqlx::Result<Vec<Job>> {
        const SQL: &str = select!("WHERE state = 'running' ORDER BY number");
        let rows = on!(read &self.db, run => sqlx::query_as(SQL).fetch_all(run).await)?;
        Ok(jobs(rows))
    }

    /// Running jobs whose lease has ended; one that cannot be read is over with it.
    pub async fn expired(&self, now: Timestamp) -> sqlx::Result<Vec<Job>> {
        const SQL: &str = select!("WHERE state = 'running' AND lease_until <= $1 ORDER BY number");
        let rows: Vec<Row> = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(millis(now)).fetch_all(run).await
        })?;
        let mut expired = Vec::new();
        for row in rows {
            let number = row.number;
            match job(row) {
                Ok(job) => expired.push(job),
                Err(error) => self.bury(number, &error, now).await?,
            }
        }
        Ok(expired)
    }

    /// Counts what waits and what runs.
    pub async fn counts(&self) -> sqlx::Result<JobCounts> {
        const SQL: &str = "SELECT (SELECT count(*) FROM jobs WHERE state = 'queued'),
            (SELECT count(*) FROM jobs WHERE state = 'running')";
        let (queued, running) =
            on!(read &self.db, run => sqlx::query_as(SQL).fetch_one(run).await)?;
        Ok(JobCounts { queued, running })
    }

    /// The newest try at a part.
    pub async fn newest(&self, part: &str) -> sqlx::Result<Option<Job>> {
        const SQL: &str = select!("WHERE part = $1 ORDER BY attempt DESC LIMIT 1");
        let row: Option<Row> = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(part).fetch_optional(run).await
        })?;
        row.map(job).transpose()
    }

    /// One try at a part.
    pub async fn find(&self, key: &JobKey) -> sqlx::Result<Option<Job>> {
        const SQL: &str = select!("WHERE part = $1 AND attempt = $2");
        let row: Option<Row> = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(&key.part).bind(attempt(key)).fetch_optional(run).await
        })?;
        row.map(job).transpose()
    }

    /// The newest attempt at a part; 0 before the first.
    pub async fn attempt_of(&self, part: &str) -> sqlx::Result<Attempt> {
        const SQL: &str = "SELECT coalesce(max(attempt), 0) FROM jobs WHERE part = $1";
        let newest: i64 = on!(read &self.db, run => {
            sqlx::query_scalar(SQL).bind(part).fetch_one(run).await
        })?;
        Ok(Attempt(small(newest)))
    }

    /// Where a job stands for one who shows its token.
    pub async fn standing(&self, job: &JobKey) -> sqlx::Result<Standing> {
        const SQL: &str = "SELECT spec, state,
            EXISTS (SELECT 1 FROM jobs newer WHERE newer.part = $1 AND newer.attempt > $2)
            FROM jobs WHERE part = $1 AND attempt = $2";
        let row: Option<(String, String, bool)> = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(&job.part).bind(attempt(job)).fetch_optional(run).await
        })?;
        let Some((spec, text, is_older)) = row else {
            return Ok(Standing::Unknown);
        };
        Ok(match state(&text)? {
            JobState::Ended | JobState::Cancelled => Standing::Ended,
            JobState::Queued | JobState::Lost => Standing::Over,
            JobState::Running if is_older => Standing::Older,
            JobState::Running => Standing::Current(Box::new(from_json(&spec)?)),
        })
    }

    /// Renews a running job's lease and keeps what it says it is doing.
    pub async fn beat(
        &self,
        job: &JobKey,
        doing: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> sqlx::Result<Beaten> {
        const SQL: &str = "UPDATE jobs SET lease_until = $3, doing = $4, beaten = TRUE
            WHERE part = $1 AND attempt = $2 AND state = 'running' RETURNING cancel_asked";
        let asked: Option<bool> = on!(write &self.db, run => {
            sqlx::query_scalar(SQL).bind(&job.part).bind(attempt(job)).bind(millis(now + lease))
                .bind(storable(doing)).fetch_optional(run).await
        })?;
        Ok(match asked {
            Some(true) => Beaten::Cancel,
            Some(false) => Beaten::Alive,
            None => Beaten::Over,
        })
    }

    /// Gives every running job a whole lease; for a server that was away and starts again.
    pub async fn renew_all(&self, now: Timestamp, lease: SignedDuration) -> sqlx::Result<()> {
        const SQL: &str =
            "UPDATE jobs SET lease_until = $1 WHERE state = 'running' AND lease_until < $1";
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(millis(now + lease)).execute(run).await.map(drop)
        })
    }

    /// Ends a job and files the event that says so, once.
    pub async fn end(&self, job: &JobKey, end: &JobEnd, now: Timestamp) -> sqlx::Result<Ended> {
        let mut tx = self.db.begin().await?;
        let ended = match close(&mut tx, job, end, now).await? {
            true => Ended::New,
            false if is_there(&mut tx, job).await? => Ended::Known,
            false => Ended::Unknown,
        };
        tx.commit().await?;
        self.bell.ring();
        Ok(ended)
    }

    /// Asks a running job to stop; a queued one ends at once.
    pub async fn ask_cancel(&self, job: &JobKey, now: Timestamp) -> sqlx::Result<Cancelled> {
        const SQL: &str = "UPDATE jobs SET cancel_asked = TRUE
            WHERE part = $1 AND attempt = $2 AND state IN ('queued', 'running') RETURNING state";
        let mut tx = self.db.begin().await?;
        let found: Option<String> = on!(tx &mut tx, run => {
            sqlx::query_scalar(SQL).bind(&job.part).bind(attempt(job)).fetch_optional(run).await
        })?;
        let cancelled = match found.as_deref() {
            None => Cancelled::Over,
            Some("running") => Cancelled::Asked,
            Some(_) => {
                close(&mut tx, job, &never_started(), now).await?;
                Cancelled::Dropped
            }
        };
        tx.commit().await?;
        self.bell.ring();
        Ok(cancelled)
    }
}

async fn insert(tx: &mut Tx, spec: &JobSpec, lane: &Lane, now: Timestamp) -> sqlx::Result<Added> {
    const INSERT: &str = "INSERT INTO jobs (part, attempt, number, forge, repo_id, lane, spec, state, starts, run_at,
            beaten, cancel_asked, doing, added_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, 'queued', 0, $8, FALSE, FALSE, '', $8) ON CONFLICT DO NOTHING";
    const NEWER: &str = "SELECT EXISTS (SELECT 1 FROM jobs WHERE part = $1 AND attempt > $2)";
    const DROP_OLDER: &str = "UPDATE jobs SET state = 'cancelled', ended_at = $3
        WHERE part = $1 AND attempt < $2 AND state = 'queued'";
    let number = tx.next_number().await?;
    let (part, attempt) = (&spec.key.part, attempt(&spec.key));
    let is_older: bool = on!(tx tx, run => {
        sqlx::query_scalar(NEWER).bind(part).bind(attempt).fetch_one(run).await
    })?;
    if is_older {
        return Ok(Added::Older);
    }
    let ((forge, repo_id), text) = (key(&spec.repo), to_json(spec)?);
    let added = on!(tx tx, run => {
        sqlx::query(INSERT).bind(part).bind(attempt).bind(number).bind(forge).bind(repo_id)
            .bind(lane.as_str()).bind(text).bind(millis(now)).execute(run).await?.rows_affected()
    });
    if added == 0 {
        return Ok(Added::Known);
    }
    on!(tx tx, run => {
        sqlx::query(DROP_OLDER).bind(part).bind(attempt).bind(millis(now)).execute(run).await.map(drop)
    })?;
    Ok(Added::New)
}

/// Ends a job that is queued or running, and files its event; whether it was.
async fn close(tx: &mut Tx, job: &JobKey, end: &JobEnd, now: Timestamp) -> sqlx::Result<bool> {
    const SQL: &str = "UPDATE jobs SET state = $3, ended_at = $4, lease_until = NULL
        WHERE part = $1 AND attempt = $2 AND state IN ('queued', 'running') RETURNING lane, spec";
    let state = match end {
        JobEnd::Lost { .. } => "lost",
        JobEnd::Said(Report {
            cancelled: true, ..
        }) => "cancelled",
        JobEnd::Said(_) => "ended",
    };
    let closed: Option<(String, String)> = on!(tx tx, run => {
        sqlx::query_as(SQL).bind(&job.part).bind(attempt(job)).bind(state).bind(millis(now))
            .fetch_optional(run).await
    })?;
    let Some((in_lane, spec)) = closed else {
        return Ok(false);
    };
    let event = Event::JobEnded {
        repo: from_json::<JobSpec>(&spec)?.repo,
        lane: lane(in_lane)?,
        job: job.clone(),
        end: end.clone(),
    };
    let id: DeliveryId = name(format!("job/{job}"))?;
    inbox::insert_own(tx, &id, &event, now).await?;
    Ok(true)
}

async fn is_there(tx: &mut Tx, job: &JobKey) -> sqlx::Result<bool> {
    const SQL: &str = "SELECT EXISTS (SELECT 1 FROM jobs WHERE part = $1 AND attempt = $2)";
    on!(tx tx, run => {
        sqlx::query_scalar(SQL).bind(&job.part).bind(attempt(job)).fetch_one(run).await
    })
}

/// The end of a job that was cancelled before it started.
fn never_started() -> JobEnd {
    JobEnd::Said(Report {
        outcome: Outcome::Failed,
        cancelled: true,
        plans: Vec::new(),
        applied: Vec::new(),
        error: None,
        survey: None,
    })
}

fn attempt(job: &JobKey) -> i64 {
    i64::from(job.attempt.0)
}
