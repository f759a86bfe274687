//! The repositories we serve, and what they are called now.

use crate::core::ids::{Repo, RepoId, RepoName};
use crate::store::db::{Tx, name, on};
use crate::store::{Store, key};

impl Store {
    /// All repositories that were seen, by name.
    pub async fn repos(&self) -> sqlx::Result<Vec<Repo>> {
        const SQL: &str = "SELECT forge, repo_id, name FROM repos ORDER BY name, forge, repo_id";
        let rows: Vec<(String, i64, String)> =
            on!(read &self.db, run => sqlx::query_as(SQL).fetch_all(run).await)?;
        let repo = |(forge, id, text): (String, i64, String)| {
            Ok(Repo {
                forge: name(forge)?,
                id: RepoId(id.cast_unsigned()),
                name: name(text)?,
            })
        };
        rows.into_iter().map(repo).collect()
    }

    /// What a repository is called now; it may have been renamed since `repo` was written down.
    pub async fn repo_name(&self, repo: &Repo) -> sqlx::Result<Option<RepoName>> {
        const SQL: &str = "SELECT name FROM repos WHERE forge = $1 AND repo_id = $2";
        let (forge, id) = key(repo);
        let found: Option<String> = on!(read &self.db, run => {
            sqlx::query_scalar(SQL).bind(forge).bind(id).fetch_optional(run).await
        })?;
        found.map(name).transpose()
    }
}

pub(super) async fn save(tx: &mut Tx, repo: &Repo) -> sqlx::Result<()> {
    const SQL: &str = "INSERT INTO repos (forge, repo_id, name) VALUES ($1, $2, $3)
        ON CONFLICT (forge, repo_id) DO UPDATE SET name = excluded.name";
    let (forge, id) = key(repo);
    on!(tx tx, run => {
        sqlx::query(SQL).bind(forge).bind(id).bind(repo.name.as_str()).execute(run).await.map(drop)
    })
}
