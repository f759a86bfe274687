//! The inbox: deliveries, filed before they are answered and handled lane by lane.

use jiff::{SignedDuration, Timestamp};

use crate::core::effect::Effect;
use crate::core::event::{Commented, Event};
use crate::core::ids::{DeliveryId, ForgeHost};
use crate::store::bell::Bell;
use crate::store::db::{Db, Tx, from_json, name, on, small, storable, time, to_json};
use crate::store::filing::Filing;
use crate::store::outbox::EffectKey;
use crate::store::{Handled, millis, outbox, remember};

/// The sender of events of our own; no host is named so.
const OWN: &str = "(own)";

/// The deliveries.
#[derive(Clone)]
pub struct Inbox {
    db: Db,
    bell: Bell,
    filing: Filing,
}

/// Who sent a delivery, and the sender's own id for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub forge: ForgeHost,
    pub id: DeliveryId,
}

/// Whether a delivery was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filed {
    New,
    /// It was filed before, under this id or as the same comment; nothing was stored.
    Known,
}

/// A delivery that is this worker's to handle, until its lease ends.
#[derive(Debug)]
pub struct Claimed {
    pub id: DeliveryId,
    pub event: Event,
    /// How often it was claimed, with this time.
    pub attempt: u32,
    number: i64,
    worker: String,
}

/// What became of a delivery that was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Everything is stored.
    Stored,
    /// Nothing is stored: a rollout had moved since it was read. To be handled again.
    Moved,
    /// Nothing is stored: the lease ran out, and the delivery is another worker's.
    LeaseLost,
}

/// A delivery that was tried too often.
#[derive(Debug, PartialEq)]
pub struct DeadDelivery {
    pub id: DeliveryId,
    pub lane: String,
    pub attempts: u32,
    pub error: String,
    pub filed_at: Timestamp,
}

/// How full the inbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxCounts {
    pub queued: i64,
    pub dead: i64,
}

type Row = (i64, String, String, i64);

/// A delivery is free when it is the oldest of its lane that is not done, nobody holds it, and all effects of the
/// deliveries before it are performed.
macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "UPDATE deliveries SET worker = $1, lease_until = $2, attempts = attempts + 1 WHERE number = (
                SELECT it.number FROM deliveries it
                WHERE it.state = 'queued' AND it.run_at <= $3 AND (it.lease_until IS NULL OR it.lease_until <= $3)
                AND NOT EXISTS (
                    SELECT 1 FROM deliveries older
                    WHERE older.lane = it.lane AND older.state = 'queued' AND older.number < it.number)
                AND NOT EXISTS (
                    SELECT 1 FROM effects effect WHERE effect.lane = it.lane AND effect.state = 'waiting')
                ORDER BY it.number LIMIT 1 ",
            $lock,
            ") RETURNING number, delivery, event, attempts"
        )
    };
}

/// Claims a delivery on SQLite, where one writes at a time.
pub(super) const CLAIM: &str = claim!("");

impl Inbox {
    /// The deliveries of a database; called within a runtime, where they are stored.
    pub(super) fn new(db: Db, bell: Bell) -> Self {
        let filing = Filing::start(db.clone(), bell.clone());
        Self { db, bell, filing }
    }

    /// Files a forge's delivery, once by its id, and a comment once by its own id.
    pub async fn file(
        &self,
        delivery: &Delivery,
        event: &Event,
        now: Timestamp,
    ) -> sqlx::Result<Filed> {
        self.filing.file(delivery, event, now).await
    }

    /// Files an event of our own, once by its id.
    pub async fn file_own(
        &self,
        id: &DeliveryId,
        event: &Event,
        now: Timestamp,
    ) -> sqlx::Result<Filed> {
        let mut tx = self.db.begin().await?;
        let filed = insert_own(&mut tx, id, event, now).await?;
        tx.commit().await?;
        self.bell.ring();
        Ok(filed)
    }

    /// Whether an event of our own is filed already, under this id or as the same comment.
    pub async fn has(&self, id: &DeliveryId, event: &Event) -> sqlx::Result<bool> {
        const SQL: &str = "SELECT EXISTS (SELECT 1 FROM deliveries
            WHERE (sender = $1 AND delivery = $2) OR content_key = $3)";
        on!(read &self.db, run => {
            sqlx::query_scalar(SQL).bind(OWN).bind(id.as_str()).bind(content_key(event))
                .fetch_one(run).await
        })
    }

    /// Claims the oldest delivery whose lane is free, until `now` and `lease`.
    pub async fn claim(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> sqlx::Result<Option<Claimed>> {
        while let Some((number, id, event, attempts)) = self.claim_row(worker, now, lease).await? {
            match (name(id), from_json(&event)) {
                (Ok(id), Ok(event)) => {
                    return Ok(Some(Claimed {
                        id,
                        event,
                        attempt: small(attempts),
                        number,
                        worker: worker.to_owned(),
                    }));
                }
                // Another version of this program wrote it; it must not hold up its lane.
                (_, Err(error)) | (Err(error), Ok(_)) => {
                    self.bury(number, &format!("it cannot be read: {error}"), now)
                        .await?;
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

    /// Renews the lease of a delivery that is still being handled; false when it is another worker's by now.
    pub async fn renew(
        &self,
        claimed: &Claimed,
        now: Timestamp,
        lease: SignedDuration,
    ) -> sqlx::Result<bool> {
        const SQL: &str = "UPDATE deliveries SET lease_until = $4
            WHERE number = $1 AND worker = $2 AND attempts = $3 AND state = 'queued'";
        let renewed = on!(write &self.db, run => {
            sqlx::query(SQL).bind(claimed.number).bind(&claimed.worker).bind(i64::from(claimed.attempt))
                .bind(millis(now + lease)).execute(run).await?.rows_affected()
        });
        Ok(renewed == 1)
    }

    /// Ends a delivery and stores what its handler decided, all in one transaction or nothing.
    pub async fn finish(
        &self,
        claimed: &Claimed,
        handled: &Handled,
        now: Timestamp,
    ) -> sqlx::Result<Finished> {
        let mut tx = self.db.begin().await?;
        if !end(&mut tx, claimed, "done", None, now).await? {
            return Ok(Finished::LeaseLost);
        }
        if !remember(&mut tx, &handled.changes).await? {
            return Ok(Finished::Moved);
        }
        store_effects(&mut tx, claimed, &handled.effects, now).await?;
        tx.commit().await?;
        self.bell.ring();
        Ok(Finished::Stored)
    }

    /// Gives a delivery back, to be handled again at `run_again_at`; its lane waits for it.
    pub async fn fail(
        &self,
        claimed: &Claimed,
        error: &str,
        run_again_at: Timestamp,
    ) -> sqlx::Result<()> {
        const SQL: &str = "UPDATE deliveries SET lease_until = NULL, error = $4, run_at = $5
            WHERE number = $1 AND worker = $2 AND attempts = $3 AND state = 'queued'";
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(claimed.number).bind(&claimed.worker).bind(i64::from(claimed.attempt))
                .bind(storable(error)).bind(millis(run_again_at)).execute(run).await.map(drop)
        })
    }

    /// Ends a delivery that was tried too often, with the effects that tell people. It stays visible, its lane goes on.
    pub async fn give_up(
        &self,
        claimed: &Claimed,
        error: &str,
        effects: &[Effect],
        now: Timestamp,
    ) -> sqlx::Result<Finished> {
        let mut tx = self.db.begin().await?;
        if !end(&mut tx, claimed, "dead", Some(error), now).await? {
            return Ok(Finished::LeaseLost);
        }
        store_effects(&mut tx, claimed, effects, now).await?;
        tx.commit().await?;
        self.bell.ring();
        Ok(Finished::Stored)
    }

    async fn bury(&self, number: i64, error: &str, now: Timestamp) -> sqlx::Result<()> {
        const SQL: &str = "UPDATE deliveries
            SET state = 'dead', lease_until = NULL, error = $2, ended_at = $3 WHERE number = $1";
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(number).bind(storable(error)).bind(millis(now)).execute(run).await.map(drop)
        })
    }

    /// Counts what is still to be handled, and what was given up.
    pub async fn counts(&self) -> sqlx::Result<InboxCounts> {
        const SQL: &str = "SELECT (SELECT count(*) FROM deliveries WHERE state = 'queued'),
            (SELECT count(*) FROM deliveries WHERE state = 'dead')";
        let (queued, dead) = on!(read &self.db, run => sqlx::query_as(SQL).fetch_one(run).await)?;
        Ok(InboxCounts { queued, dead })
    }

    /// The newest deliveries that were given up.
    pub async fn dead(&self, limit: u32) -> sqlx::Result<Vec<DeadDelivery>> {
        const SQL: &str =
            "SELECT delivery, lane, attempts, coalesce(error, ''), filed_at FROM deliveries
            WHERE state = 'dead' ORDER BY number DESC LIMIT $1";
        let rows: Vec<(String, String, i64, String, i64)> = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(i64::from(limit)).fetch_all(run).await
        })?;
        let dead = |(id, lane, attempts, error, filed_at)| {
            Ok(DeadDelivery {
                id: name(id)?,
                lane,
                attempts: small(attempts),
                error,
                filed_at: time(filed_at)?,
            })
        };
        rows.into_iter().map(dead).collect()
    }
}

/// Files an event of our own within a transaction.
pub(super) async fn insert_own(
    tx: &mut Tx,
    id: &DeliveryId,
    event: &Event,
    now: Timestamp,
) -> sqlx::Result<Filed> {
    insert(tx, OWN, id, event, now).await
}

/// Files an event once by its sender's id for it, and a comment once by its own, within a transaction.
pub(super) async fn insert(
    tx: &mut Tx,
    sender: &str,
    id: &DeliveryId,
    event: &Event,
    now: Timestamp,
) -> sqlx::Result<Filed> {
    const SQL: &str = "INSERT INTO deliveries
        (number, sender, delivery, content_key, lane, event, state, attempts, run_at, filed_at)
        VALUES ($1, $2, $3, $4, $5, $6, 'queued', 0, $7, $7) ON CONFLICT DO NOTHING";
    let number = tx.next_number().await?;
    let (lane, text) = (event.lane(), to_json(event)?);
    let filed = on!(tx tx, run => {
        sqlx::query(SQL).bind(number).bind(sender).bind(id.as_str()).bind(content_key(event))
            .bind(lane.as_str()).bind(text).bind(millis(now)).execute(run).await?.rows_affected()
    });
    Ok(if filed == 1 { Filed::New } else { Filed::Known })
}

/// What makes two deliveries the same whatever their ids: a comment is handled once.
fn content_key(event: &Event) -> Option<String> {
    match event {
        Event::Commented(Commented { pull, comment, .. }) => Some(format!(
            "{}/{}/comment/{comment}",
            pull.repo.forge, pull.repo.id
        )),
        Event::PullOpened { .. }
        | Event::PullPushed { .. }
        | Event::PullRetargeted { .. }
        | Event::PullClosed { .. }
        | Event::Reviewed { .. }
        | Event::BranchPushed { .. }
        | Event::JobEnded { .. }
        | Event::Installed { .. }
        | Event::Removed { .. }
        | Event::WaveCalled { .. }
        | Event::NoteStale { .. } => None,
    }
}

/// Ends a delivery if it is still this worker's.
async fn end(
    tx: &mut Tx,
    claimed: &Claimed,
    state: &str,
    error: Option<&str>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    const SQL: &str = "UPDATE deliveries SET state = $4, error = coalesce($5, error), lease_until = NULL, ended_at = $6
        WHERE number = $1 AND worker = $2 AND attempts = $3 AND state = 'queued'";
    let ended = on!(tx tx, run => {
        sqlx::query(SQL).bind(claimed.number).bind(&claimed.worker).bind(i64::from(claimed.attempt))
            .bind(state).bind(error.map(storable)).bind(millis(now)).execute(run).await?.rows_affected()
    });
    Ok(ended == 1)
}

async fn store_effects(
    tx: &mut Tx,
    claimed: &Claimed,
    effects: &[Effect],
    now: Timestamp,
) -> sqlx::Result<()> {
    let lane = claimed.event.lane();
    for (ordinal, effect) in (0..).zip(effects) {
        let key = EffectKey {
            delivery: claimed.number,
            ordinal,
        };
        outbox::insert(tx, key, &lane, effect, now).await?;
    }
    Ok(())
}
