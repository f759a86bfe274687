//! What we remember of each pull request, and what its note asked for over time.

use jiff::Timestamp;

use crate::core::effect::{Ask, ShownAsk};
use crate::core::ids::{Pull, Repo};
use crate::core::rollout::pull::PullMemory;
use crate::store::db::{Tx, from_json, name, on, time, to_json};
use crate::store::{Store, key, millis};

impl Store {
    /// What we remember of a pull request.
    pub async fn pull(&self, pull: &Pull) -> sqlx::Result<Option<PullMemory>> {
        const SQL: &str =
            "SELECT memory FROM pulls WHERE forge = $1 AND repo_id = $2 AND pull = $3";
        let (forge, id) = key(&pull.repo);
        let found: Option<String> = on!(read &self.db, run => {
            sqlx::query_scalar(SQL).bind(forge).bind(id).bind(number(pull)).fetch_optional(run).await
        })?;
        found.as_deref().map(from_json).transpose()
    }

    /// All pull requests of a repository that we remember, the newest first.
    pub async fn pulls_of(&self, repo: &Repo) -> sqlx::Result<Vec<PullMemory>> {
        const SQL: &str =
            "SELECT memory FROM pulls WHERE forge = $1 AND repo_id = $2 ORDER BY pull DESC";
        let (forge, id) = key(repo);
        let rows: Vec<String> = on!(read &self.db, run => {
            sqlx::query_scalar(SQL).bind(forge).bind(id).fetch_all(run).await
        })?;
        rows.iter().map(|it| from_json(it)).collect()
    }

    /// Keeps what a note asks for and since when it can be read; an ask that its gate showed last is not kept again.
    pub async fn note_shown(&self, pull: &Pull, asks: &[Ask], at: Timestamp) -> sqlx::Result<()> {
        if asks.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin().await?;
        for ask in asks {
            let place = tx.next_number().await?;
            if newest_digest(&mut tx, pull, ask).await?.as_deref() != Some(ask.digest.as_str()) {
                insert_ask(&mut tx, pull, ask, at, place).await?;
            }
        }
        tx.commit().await
    }

    /// What a pull request's note asked for, in the order it was shown.
    pub async fn asks(&self, pull: &Pull) -> sqlx::Result<Vec<ShownAsk>> {
        const SQL: &str = "SELECT gate, digest, shown_at FROM shown_asks
            WHERE forge = $1 AND repo_id = $2 AND pull = $3 ORDER BY number";
        let (forge, id) = key(&pull.repo);
        let rows: Vec<(String, String, i64)> = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(forge).bind(id).bind(number(pull)).fetch_all(run).await
        })?;
        let shown = |(gate, digest, shown_at)| {
            Ok(ShownAsk {
                ask: Ask {
                    gate: name(gate)?,
                    digest: name(digest)?,
                },
                shown_at: time(shown_at)?,
            })
        };
        rows.into_iter().map(shown).collect()
    }
}

pub(super) async fn save(tx: &mut Tx, memory: &PullMemory) -> sqlx::Result<()> {
    const SQL: &str = "INSERT INTO pulls (forge, repo_id, pull, memory) VALUES ($1, $2, $3, $4)
        ON CONFLICT (forge, repo_id, pull) DO UPDATE SET memory = excluded.memory";
    let ((forge, id), text) = (key(&memory.pull.repo), to_json(memory)?);
    on!(tx tx, run => {
        sqlx::query(SQL).bind(forge).bind(id).bind(number(&memory.pull)).bind(text)
            .execute(run).await.map(drop)
    })
}

async fn newest_digest(tx: &mut Tx, pull: &Pull, ask: &Ask) -> sqlx::Result<Option<String>> {
    const SQL: &str = "SELECT digest FROM shown_asks
        WHERE forge = $1 AND repo_id = $2 AND pull = $3 AND gate = $4 ORDER BY number DESC LIMIT 1";
    let (forge, id) = key(&pull.repo);
    on!(tx tx, run => {
        sqlx::query_scalar(SQL).bind(forge).bind(id).bind(number(pull)).bind(ask.gate.as_str())
            .fetch_optional(run).await
    })
}

async fn insert_ask(
    tx: &mut Tx,
    pull: &Pull,
    ask: &Ask,
    at: Timestamp,
    place: i64,
) -> sqlx::Result<()> {
    const SQL: &str =
        "INSERT INTO shown_asks (forge, repo_id, pull, number, gate, digest, shown_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let (forge, id) = key(&pull.repo);
    on!(tx tx, run => {
        sqlx::query(SQL).bind(forge).bind(id).bind(number(pull)).bind(place).bind(ask.gate.as_str())
            .bind(ask.digest.as_str()).bind(millis(at)).execute(run).await.map(drop)
    })
}

fn number(pull: &Pull) -> i64 {
    pull.number.0.cast_signed()
}
