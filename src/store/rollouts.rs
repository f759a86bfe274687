//! The rollouts: documents with a version, so that the gate and a lane cannot write over each other.

use crate::core::ids::{Branch, Pull, Repo, RolloutId};
use crate::core::rollout::{Rollout, Source};
use crate::store::db::{Tx, from_json, on, to_json};
use crate::store::{Store, key};

impl Store {
    /// A rollout, and the version to save it at.
    pub async fn rollout(&self, id: &RolloutId) -> sqlx::Result<Option<(Rollout, i64)>> {
        const SQL: &str = "SELECT rollout, version FROM rollouts WHERE id = $1";
        let row = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(id.as_str()).fetch_optional(run).await
        })?;
        row.map(read).transpose()
    }

    /// The unfinished rollouts of a branch, oldest first, with their versions.
    pub async fn open_rollouts(
        &self,
        repo: &Repo,
        branch: &Branch,
    ) -> sqlx::Result<Vec<(Rollout, i64)>> {
        const SQL: &str = "SELECT rollout, version FROM rollouts
            WHERE forge = $1 AND repo_id = $2 AND branch = $3 AND is_open ORDER BY number";
        let (forge, repo_id) = key(repo);
        let rows: Vec<(String, i64)> = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(forge).bind(repo_id).bind(branch.as_str()).fetch_all(run).await
        })?;
        rows.into_iter().map(read).collect()
    }

    /// The newest rollouts of all repositories, newest first, with their versions.
    pub async fn recent_rollouts(&self, limit: u32) -> sqlx::Result<Vec<(Rollout, i64)>> {
        const SQL: &str = "SELECT rollout, version FROM rollouts ORDER BY number DESC LIMIT $1";
        let rows: Vec<(String, i64)> = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(i64::from(limit)).fetch_all(run).await
        })?;
        rows.into_iter().map(read).collect()
    }

    /// The rollouts that bring a pull request or come from it, oldest first, with their versions.
    pub async fn rollouts_of_pull(&self, pull: &Pull) -> sqlx::Result<Vec<(Rollout, i64)>> {
        const SQL: &str = "SELECT it.rollout, it.version FROM rollouts it
            JOIN rollout_pulls brought ON brought.rollout = it.id
            WHERE brought.forge = $1 AND brought.repo_id = $2 AND brought.pull = $3 ORDER BY it.number";
        let (forge, repo_id) = key(&pull.repo);
        let rows: Vec<(String, i64)> = on!(read &self.db, run => {
            sqlx::query_as(SQL).bind(forge).bind(repo_id).bind(pull.number.0.cast_signed())
                .fetch_all(run).await
        })?;
        rows.into_iter().map(read).collect()
    }

    /// Saves a rollout read at `version`, or a new one at 0; false, and nothing saved, when it moved in between.
    pub async fn save_rollout(&self, rollout: &Rollout, version: i64) -> sqlx::Result<bool> {
        let mut tx = self.db.begin().await?;
        let is_saved = save(&mut tx, rollout, version).await?;
        tx.commit().await?;
        Ok(is_saved)
    }
}

pub(super) async fn save(tx: &mut Tx, rollout: &Rollout, version: i64) -> sqlx::Result<bool> {
    let is_saved = match version {
        0 => insert(tx, rollout).await?,
        _ => update(tx, rollout, version).await?,
    };
    if is_saved {
        save_pulls(tx, rollout).await?;
    }
    Ok(is_saved)
}

async fn insert(tx: &mut Tx, rollout: &Rollout) -> sqlx::Result<bool> {
    const SQL: &str =
        "INSERT INTO rollouts (id, number, version, forge, repo_id, branch, is_open, rollout)
        VALUES ($1, $2, 1, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING";
    let branch = match &rollout.source {
        Source::Push { branch, .. } => branch.as_str(),
        Source::Pull { .. } => "",
    };
    let (number, text) = (tx.next_number().await?, to_json(rollout)?);
    let (forge, repo_id) = key(&rollout.repo);
    let saved = on!(tx tx, run => {
        sqlx::query(SQL).bind(rollout.id.as_str()).bind(number).bind(forge).bind(repo_id).bind(branch)
            .bind(rollout.is_open()).bind(text).execute(run).await?.rows_affected()
    });
    Ok(saved == 1)
}

async fn update(tx: &mut Tx, rollout: &Rollout, version: i64) -> sqlx::Result<bool> {
    const SQL: &str = "UPDATE rollouts SET version = version + 1, is_open = $3, rollout = $4
        WHERE id = $1 AND version = $2";
    let text = to_json(rollout)?;
    let saved = on!(tx tx, run => {
        sqlx::query(SQL).bind(rollout.id.as_str()).bind(version).bind(rollout.is_open()).bind(text)
            .execute(run).await?.rows_affected()
    });
    Ok(saved == 1)
}

async fn save_pulls(tx: &mut Tx, rollout: &Rollout) -> sqlx::Result<()> {
    const SQL: &str = "INSERT INTO rollout_pulls (rollout, forge, repo_id, pull)
        VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    let own = match &rollout.source {
        Source::Push { .. } => None,
        Source::Pull { pull, .. } => Some(pull.number),
    };
    let (forge, repo_id) = key(&rollout.repo);
    for number in rollout.pulls.iter().copied().chain(own) {
        on!(tx tx, run => {
            sqlx::query(SQL).bind(rollout.id.as_str()).bind(forge).bind(repo_id)
                .bind(number.0.cast_signed()).execute(run).await.map(drop)
        })?;
    }
    Ok(())
}

fn read((text, version): (String, i64)) -> sqlx::Result<(Rollout, i64)> {
    Ok((from_json(&text)?, version))
}
