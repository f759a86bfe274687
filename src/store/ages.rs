//! How long what waits has waited, and in how many lanes.

use jiff::Timestamp;

use crate::store::db::on;
use crate::store::{Store, millis};

/// The longest waits, in seconds (nothing waits: 0), and how many lanes have something to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    pub delivery: i64,
    pub effect: i64,
    pub job: i64,
    pub lanes: i64,
}

impl Store {
    /// Tells how long the oldest delivery, effect and job have waited.
    pub async fn ages(&self, now: Timestamp) -> sqlx::Result<Ages> {
        const SQL: &str = "SELECT
            (SELECT min(filed_at) FROM deliveries WHERE state = 'queued'),
            (SELECT min(filed_at) FROM deliveries WHERE number IN
                (SELECT delivery FROM effects WHERE state = 'waiting')),
            (SELECT min(added_at) FROM jobs WHERE state = 'queued'),
            (SELECT count(DISTINCT lane) FROM deliveries WHERE state = 'queued')";
        type Row = (Option<i64>, Option<i64>, Option<i64>, i64);
        let (delivery, effect, job, lanes): Row =
            on!(read &self.db, run => sqlx::query_as(SQL).fetch_one(run).await)?;
        let age = |since: Option<i64>| since.map_or(0, |it| (millis(now) - it).max(0) / 1000);
        Ok(Ages {
            delivery: age(delivery),
            effect: age(effect),
            job: age(job),
            lanes,
        })
    }
}
