//! Whether the database can be used, and whose tables it holds; nothing in it is changed.

use std::path::Path;

use anyhow::anyhow;
use sqlx::migrate::MigrateError;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::core::finding::Finding;
use crate::store::db::{MIGRATIONS, PATIENCE, explain_pg, explain_sqlite, pg_options};

/// The steps by which tables came to be.
const SQL: &str = "SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version";

/// A step that was taken: its number, and a hash of what it did.
type Step = (i64, Vec<u8>);

/// Looks at `sqlite:<path>` or `postgres://…`.
pub async fn check(url: &str) -> Finding {
    let (place, steps) = match url.strip_prefix("sqlite:") {
        Some(path) if !Path::new(path).exists() => {
            return Finding::ok(
                "store",
                format!("there is no {path} yet; the server makes it at its first start"),
            );
        }
        Some(path) => (path.to_owned(), steps_in_file(path).await),
        None => match pg_options(url) {
            Ok((_, place)) => (place, steps_in_pg(url).await),
            Err(error) => return unusable(&error),
        },
    };
    match steps {
        Ok(steps) => judge(&place, &steps, &known()),
        Err(error) => unusable(&error),
    }
}

fn known() -> Vec<Step> {
    let steps = MIGRATIONS.iter();
    steps.map(|it| (it.version, it.checksum.to_vec())).collect()
}

fn judge(place: &str, taken: &[Step], known: &[Step]) -> Finding {
    let newest = known.last().map_or(0, |(version, _)| *version);
    if let Some((version, _)) = taken.iter().find(|(version, _)| *version > newest) {
        return Finding::fail(
            "store",
            format!(
                "{place} was used by a newer tidegate (its tables are at step {version}, this program knows {newest})"
            ),
            "run that version, or restore the copy from before the upgrade",
        );
    }
    if taken.iter().any(|step| !known.contains(step)) {
        return Finding::fail(
            "store",
            format!("the tables in {place} are not the ones this tidegate makes"),
            "restore a copy, or start with an empty database and run `tidegate recover`",
        );
    }
    match known.len() - taken.len() {
        0 => Finding::ok("store", format!("{place} opens, at step {newest}")),
        missing => Finding::ok(
            "store",
            format!(
                "{place} opens; the server brings its tables up to date at its next start ({missing} steps)"
            ),
        ),
    }
}

fn unusable(error: &anyhow::Error) -> Finding {
    Finding::fail(
        "store",
        format!("{error:#}"),
        "mend it, or say another `database` in the server's file",
    )
}

async fn steps_in_file(path: &str) -> anyhow::Result<Vec<Step>> {
    let look = async {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .busy_timeout(PATIENCE);
        let mut file: SqliteConnection = options.connect().await?;
        let steps = sqlx::query_as(SQL).fetch_all(&mut file).await;
        file.close().await?;
        steps
    };
    let failed = |error| explain_sqlite(path, MigrateError::Execute(error));
    or_none(look.await).map_err(failed)
}

async fn steps_in_pg(url: &str) -> anyhow::Result<Vec<Step>> {
    let (options, place) = pg_options(url)?;
    let look = async {
        let mut connection: PgConnection = options.connect().await?;
        let steps = sqlx::query_as(SQL).fetch_all(&mut connection).await;
        connection.close().await?;
        steps
    };
    let Ok(steps) = tokio::time::timeout(PATIENCE, look).await else {
        let seconds = PATIENCE.as_secs();
        return Err(anyhow!("{place} does not answer within {seconds} seconds"));
    };
    or_none(steps).map_err(|error| explain_pg(&place, MigrateError::Execute(error)))
}

/// A database without the table is one that nobody has used yet.
fn or_none(steps: sqlx::Result<Vec<Step>>) -> sqlx::Result<Vec<Step>> {
    match steps {
        Err(sqlx::Error::Database(error)) if error.message().contains("_sqlx_migrations") => {
            Ok(Vec::new())
        }
        steps => steps,
    }
}
