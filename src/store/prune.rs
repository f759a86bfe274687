//! What is long done is forgotten: deliveries and effects that nobody asks about any more.

use jiff::Timestamp;

use crate::store::db::on;
use crate::store::{Store, millis};

impl Store {
    /// Forgets deliveries that were done before this moment, and their effects. What was given up stays, and so does
    /// everything of a delivery that has something left to do. Answers how many deliveries it were.
    pub async fn prune(&self, before: Timestamp) -> sqlx::Result<u64> {
        const EFFECTS: &str = "DELETE FROM effects WHERE state = 'done' AND delivery IN (
            SELECT number FROM deliveries WHERE state = 'done' AND ended_at < $1)";
        const DELIVERIES: &str = "DELETE FROM deliveries WHERE state = 'done' AND ended_at < $1
            AND NOT EXISTS (SELECT 1 FROM effects WHERE effects.delivery = deliveries.number)";
        let before = millis(before);
        on!(write &self.db, run => {
            sqlx::query(EFFECTS).bind(before).execute(run).await?;
            Ok(sqlx::query(DELIVERIES).bind(before).execute(run).await?.rows_affected())
        })
    }
}
