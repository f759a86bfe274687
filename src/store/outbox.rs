//! The outbox: effects in the order they were decided, one at a time in each lane.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::core::effect::Effect;
use crate::core::event::Lane;
use crate::store::bell::Bell;
use crate::store::db::{Db, Tx, from_json, lane, on, small, storable, to_json};
use crate::store::millis;

/// The effects.
#[derive(Clone)]
pub struct Outbox {
    db: Db,
    bell: Bell,
}

/// Names an effect for good: the delivery it came from, and its place among that delivery's effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectKey {
    pub delivery: i64,
    pub ordinal: i64,
}

impl fmt::Display for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.delivery, self.ordinal)
    }
}

/// An effect that is this worker's to perform, until its lease ends.
#[derive(Debug)]
pub struct ClaimedEffect {
    pub key: EffectKey,
    pub lane: Lane,
    pub effect: Effect,
    /// How often it was claimed, with this time.
    pub attempt: u32,
    worker: String,
}

/// How full the outbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxCounts {
    pub waiting: i64,
    pub given_up: i64,
}

type Row = (i64, i64, String, String, i64);

/// An effect is free when it is the first of its lane that is not performed, and nobody holds it.
macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "UPDATE effects SET worker = $1, lease_until = $2, attempts = attempts + 1 WHERE (delivery, ordinal) = (
                SELECT it.delivery, it.ordinal FROM effects it
                WHERE it.state = 'waiting' AND it.run_at <= $3 AND (it.lease_until IS NULL OR it.lease_until <= $3)
                AND NOT EXISTS (
                    SELECT 1 FROM effects older WHERE older.lane = it.lane AND older.state = 'waiting'
                    AND (older.delivery, older.ordinal) < (it.delivery, it.ordinal))
                ORDER BY it.delivery, it.ordinal LIMIT 1 ",
            $lock,
            ") RETURNING delivery, ordinal, lane, effect, attempts"
        )
    };
}

/// Claims an effect on SQLite, where one writes at a time.
pub(super) const CLAIM: &str = claim!("");

impl Outbox {
    pub(super) fn new(db: Db, bell: Bell) -> Self {
        Self { db, bell }
    }

    /// Claims the oldest effect that is the first of its lane, until `now` and `lease`.
    pub async fn claim(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> sqlx::Result<Option<ClaimedEffect>> {
        while let Some(row) = self.claim_row(worker, now, lease).await? {
            let (delivery, ordinal, in_lane, text, attempts) = row;
            let key = EffectKey { delivery, ordinal };
            match from_json(&text) {
                Ok(effect) => {
                    return Ok(Some(ClaimedEffect {
                        key,
                        lane: lane(in_lane)?,
                        effect,
                        attempt: small(attempts),
                        worker: worker.to_owned(),
                    }));
                }
                // Another version of this program wrote it; it must not hold up its lane.
                Err(error) => {
                    let error = format!("it cannot be read: {error}");
                    self.bury(key, &error, now).await?;
                }
            }
        }
        Ok(None)
    }

    async fn claim_row(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> sqlx::Result<Option<Row>> {
        let (until, now) = (millis(now + lease), millis(now));
        match &self.db {
            Db::Sqlite { write, .. } => {
                let claim = sqlx::query_as(CLAIM).bind(worker);
                claim.bind(until).bind(now).fetch_optional(write).await
            }
            Db::Pg(pool) => {
                let claim = sqlx::query_as(claim!("FOR UPDATE SKIP LOCKED")).bind(worker);
                claim.bind(until).bind(now).fetch_optional(pool).await
            }
        }
    }

    /// Marks an effect performed.
    pub async fn done(&self, claimed: &ClaimedEffect, now: Timestamp) -> sqlx::Result<()> {
        const SQL: &str = "UPDATE effects SET state = 'done', lease_until = NULL, ended_at = $5
            WHERE delivery = $1 AND ordinal = $2 AND worker = $3 AND attempts = $4 AND state = 'waiting'";
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(claimed.key.delivery).bind(claimed.key.ordinal).bind(&claimed.worker)
                .bind(i64::from(claimed.attempt)).bind(millis(now)).execute(run).await.map(drop)
        })?;
        self.bell.ring();
        Ok(())
    }

    /// Gives an effect back after a failure, to be performed at `at`; its lane waits for it.
    pub async fn retry(
        &self,
        claimed: &ClaimedEffect,
        at: Timestamp,
        error: &str,
    ) -> sqlx::Result<()> {
        self.give_back(claimed, at, error, 0).await
    }

    /// Gives an effect back until the forge takes requests again; this time does not count as a try.
    pub async fn postpone(
        &self,
        claimed: &ClaimedEffect,
        until: Timestamp,
        error: &str,
    ) -> sqlx::Result<()> {
        self.give_back(claimed, until, error, 1).await
    }

    async fn give_back(
        &self,
        claimed: &ClaimedEffect,
        at: Timestamp,
        error: &str,
        uncounted: i64,
    ) -> sqlx::Result<()> {
        const SQL: &str = "UPDATE effects
            SET lease_until = NULL, run_at = $5, error = $6, attempts = attempts - $7
            WHERE delivery = $1 AND ordinal = $2 AND worker = $3 AND attempts = $4 AND state = 'waiting'";
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(claimed.key.delivery).bind(claimed.key.ordinal).bind(&claimed.worker)
                .bind(i64::from(claimed.attempt)).bind(millis(at)).bind(storable(error)).bind(uncounted)
                .execute(run).await.map(drop)
        })
    }

    /// Leaves an effect undone for good, so that its lane goes on; it stays visible with its error.
    pub async fn give_up(
        &self,
        claimed: &ClaimedEffect,
        error: &str,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        self.bury(claimed.key, error, now).await?;
        self.bell.ring();
        Ok(())
    }

    async fn bury(&self, key: EffectKey, error: &str, now: Timestamp) -> sqlx::Result<()> {
        const SQL: &str =
            "UPDATE effects SET state = 'given-up', lease_until = NULL, error = $3, ended_at = $4
            WHERE delivery = $1 AND ordinal = $2 AND state = 'waiting'";
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(key.delivery).bind(key.ordinal).bind(storable(error)).bind(millis(now))
                .execute(run).await.map(drop)
        })
    }

    /// Counts what is still to be done, and what was given up.
    pub async fn counts(&self) -> sqlx::Result<OutboxCounts> {
        const SQL: &str = "SELECT (SELECT count(*) FROM effects WHERE state = 'waiting'),
            (SELECT count(*) FROM effects WHERE state = 'given-up')";
        let (waiting, given_up) =
            on!(read &self.db, run => sqlx::query_as(SQL).fetch_one(run).await)?;
        Ok(OutboxCounts { waiting, given_up })
    }
}

/// Stores an effect in the transaction that finishes its delivery.
pub(super) async fn insert(
    tx: &mut Tx,
    key: EffectKey,
    lane: &Lane,
    effect: &Effect,
    now: Timestamp,
) -> sqlx::Result<()> {
    const SQL: &str =
        "INSERT INTO effects (delivery, ordinal, lane, effect, state, attempts, run_at)
        VALUES ($1, $2, $3, $4, 'waiting', 0, $5)";
    let text = to_json(effect)?;
    on!(tx tx, run => {
        sqlx::query(SQL).bind(key.delivery).bind(key.ordinal).bind(lane.as_str()).bind(text).bind(millis(now))
            .execute(run).await.map(drop)
    })
}
