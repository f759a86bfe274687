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
