//! When each repository is looked at for what was never delivered, and what was seen there last.

use jiff::{SignedDuration, Timestamp};

use crate::core::ids::{ForgeHost, Repo, RepoId};
use crate::core::lost::{Seen, Tips};
use crate::store::db::{Db, from_json, name, on, small, time, to_json};
use crate::store::{key, millis};

/// The looks at repositories.
#[derive(Clone)]
pub struct Looks {
    db: Db,
}

/// A repository that is this server's to look at, until its lease ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    pub repo: Repo,
    pub seen: Seen,
    /// How many looks in a row could not be taken.
    pub failures: u32,
}

type Row = (i64, String, i64, String, i64);

/// The repository of a forge that waits longest for a look.
macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "UPDATE looks SET lease_until = $3 WHERE (forge, repo_id) = (
                SELECT it.forge, it.repo_id FROM looks it
                WHERE it.forge = $1 AND it.due_at <= $2 AND (it.lease_until IS NULL OR it.lease_until <= $2)
                ORDER BY it.due_at LIMIT 1 ",
            $lock,
            ") RETURNING repo_id, (SELECT repos.name FROM repos
                WHERE repos.forge = looks.forge AND repos.repo_id = looks.repo_id),
                seen_until, tips, failures"
        )
    };
}

impl Looks {
    pub(super) fn new(db: Db) -> Self {
        Self { db }
    }

    /// Has every repository that is known and was never looked at looked at from `due_at` on.
    pub async fn enrol(&self, seen: &Seen, due_at: Timestamp) -> sqlx::Result<()> {
        const NEW: &str = "SELECT EXISTS (SELECT 1 FROM repos WHERE NOT EXISTS (
            SELECT 1 FROM looks WHERE looks.forge = repos.forge AND looks.repo_id = repos.repo_id))";
        const SQL: &str = "INSERT INTO looks (forge, repo_id, due_at, failures, seen_until, tips)
            SELECT forge, repo_id, $1, 0, $2, $3 FROM repos WHERE NOT EXISTS (
                SELECT 1 FROM looks WHERE looks.forge = repos.forge AND looks.repo_id = repos.repo_id)
            ON CONFLICT (forge, repo_id) DO NOTHING";
        let is_new: bool = on!(read &self.db, run => sqlx::query_scalar(NEW).fetch_one(run).await)?;
        if !is_new {
            return Ok(());
        }
        let tips = to_json(&seen.tips)?;
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(millis(due_at)).bind(millis(seen.until)).bind(tips)
                .execute(run).await.map(drop)
        })
    }

    /// Has every repository looked at now: called when a server starts. What another server looks at is looked at twice,
    /// and what both find is filed once.
    pub async fn all_due(&self, now: Timestamp) -> sqlx::Result<()> {
        const SQL: &str = "UPDATE looks SET due_at = $1, lease_until = NULL";
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(millis(now)).execute(run).await.map(drop)
        })
    }

    /// Claims the repository of a forge that waits longest for a look, until `now` and `lease`.
    pub async fn claim(
        &self,
        forge: &ForgeHost,
        now: Timestamp,
        lease: SignedDuration,
    ) -> sqlx::Result<Option<Due>> {
        const WAITS: &str = "SELECT EXISTS (SELECT 1 FROM looks
            WHERE forge = $1 AND due_at <= $2 AND (lease_until IS NULL OR lease_until <= $2))";
        let (until, now) = (millis(now + lease), millis(now));
        let waits: bool = on!(read &self.db, run => {
            sqlx::query_scalar(WAITS).bind(forge.as_str()).bind(now).fetch_one(run).await
        })?;
        if !waits {
            return Ok(None);
        }
        let row: Option<Row> = match &self.db {
            Db::Sqlite { write, .. } => {
                let claim = sqlx::query_as(claim!("")).bind(forge.as_str());
                claim.bind(now).bind(until).fetch_optional(write).await
            }
            Db::Pg(pool) => {
                let claim = sqlx::query_as(claim!("FOR UPDATE SKIP LOCKED")).bind(forge.as_str());
                claim.bind(now).bind(until).fetch_optional(pool).await
            }
        }?;
        let due = |(id, text, until, tips, failures): Row| {
            let repo = Repo {
                forge: forge.clone(),
                id: RepoId(id.cast_unsigned()),
                name: name(text)?,
            };
            let tips: Tips = from_json(&tips)?;
            let seen = Seen {
                until: time(until)?,
                tips,
            };
            let failures = small(failures);
            Ok(Due {
                repo,
                seen,
                failures,
            })
        };
        row.map(due).transpose()
    }

    /// Keeps what was seen of a repository, and when it is looked at again.
    pub async fn looked(
        &self,
        (repo, seen): (&Repo, &Seen),
        now: Timestamp,
        due_at: Timestamp,
    ) -> sqlx::Result<()> {
        const SQL: &str = "UPDATE looks SET due_at = $3, lease_until = NULL, failures = 0,
            seen_until = $4, tips = $5, looked_at = $6 WHERE forge = $1 AND repo_id = $2";
        let (forge, id) = key(repo);
        let tips = to_json(&seen.tips)?;
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(forge).bind(id).bind(millis(due_at)).bind(millis(seen.until))
                .bind(tips).bind(millis(now)).execute(run).await.map(drop)
        })
    }

    /// Puts a look off that could not be taken.
    pub async fn failed(&self, repo: &Repo, due_at: Timestamp) -> sqlx::Result<()> {
        const SQL: &str =
            "UPDATE looks SET due_at = $3, lease_until = NULL, failures = failures + 1
            WHERE forge = $1 AND repo_id = $2";
        let (forge, id) = key(repo);
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(forge).bind(id).bind(millis(due_at)).execute(run).await.map(drop)
        })
    }

    /// Puts every look at a forge off that would come before this moment.
    pub async fn postpone(&self, forge: &ForgeHost, until: Timestamp) -> sqlx::Result<()> {
        const SQL: &str = "UPDATE looks SET due_at = $2, lease_until = NULL
            WHERE forge = $1 AND due_at < $2";
        on!(write &self.db, run => {
            sqlx::query(SQL).bind(forge.as_str()).bind(millis(until)).execute(run).await.map(drop)
        })
    }

    /// How many repositories of a forge are looked at.
    pub async fn count(&self, forge: &ForgeHost) -> sqlx::Result<i64> {
        const SQL: &str = "SELECT count(*) FROM looks WHERE forge = $1";
        on!(read &self.db, run => {
            sqlx::query_scalar(SQL).bind(forge.as_str()).fetch_one(run).await
        })
    }

    /// How long ago, in seconds, the repository was looked at that was looked at longest ago; 0 where none was.
    pub async fn oldest(&self, now: Timestamp) -> sqlx::Result<i64> {
        const SQL: &str = "SELECT min(looked_at) FROM looks";
        let oldest: Option<i64> =
            on!(read &self.db, run => sqlx::query_scalar(SQL).fetch_one(run).await)?;
        Ok(oldest.map_or(0, |it| (millis(now) - it).max(0) / 1000))
    }
}
