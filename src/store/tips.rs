//! The commit of each branch that was last handled.

use crate::core::ids::{Branch, Repo, Sha};
use crate::store::db::{Tx, name, on};
use crate::store::{Store, key};

impl Store {
    /// The tip of a branch that was last handled.
    pub async fn tip(&self, repo: &Repo, branch: &Branch) -> sqlx::Result<Option<Sha>> {
        const SQL: &str = "SELECT tip FROM tips WHERE forge = $1 AND repo_id = $2 AND branch = $3";
        let (forge, id) = key(repo);
        let found: Option<String> = on!(read &self.db, run => {
            sqlx::query_scalar(SQL).bind(forge).bind(id).bind(branch.as_str()).fetch_optional(run).await
        })?;
        found.map(name).transpose()
    }

    /// Moves the tip of a branch from what it was read at; not when somebody else moved it meanwhile.
    pub async fn move_tip(
        &self,
        (repo, branch): (&Repo, &Branch),
        from: Option<&Sha>,
        to: &Sha,
    ) -> sqlx::Result<bool> {
        const FIRST: &str = "INSERT INTO tips (forge, repo_id, branch, tip) VALUES ($1, $2, $3, $4)
            ON CONFLICT (forge, repo_id, branch) DO NOTHING";
        const NEXT: &str = "UPDATE tips SET tip = $4
            WHERE forge = $1 AND repo_id = $2 AND branch = $3 AND tip = $5";
        let (forge, id) = key(repo);
        let (branch, to) = (branch.as_str(), to.as_str());
        let moved = match from {
            None => on!(write &self.db, run => {
                sqlx::query(FIRST).bind(forge).bind(id).bind(branch).bind(to)
                    .execute(run).await.map(|it| it.rows_affected())
            })?,
            Some(from) => on!(write &self.db, run => {
                sqlx::query(NEXT).bind(forge).bind(id).bind(branch).bind(to).bind(from.as_str())
                    .execute(run).await.map(|it| it.rows_affected())
            })?,
        };
        Ok(moved == 1)
    }
}

pub(super) async fn save(tx: &mut Tx, repo: &Repo, branch: &Branch, tip: &Sha) -> sqlx::Result<()> {
    const SQL: &str = "INSERT INTO tips (forge, repo_id, branch, tip) VALUES ($1, $2, $3, $4)
        ON CONFLICT (forge, repo_id, branch) DO UPDATE SET tip = excluded.tip";
    let (forge, id) = key(repo);
    on!(tx tx, run => {
        sqlx::query(SQL).bind(forge).bind(id).bind(branch.as_str()).bind(tip.as_str())
            .execute(run).await.map(drop)
    })
}
