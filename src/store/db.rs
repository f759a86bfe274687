//! Two databases behind one SQL text: pools, transactions, and what to do when one cannot be opened.

use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use crate::core::event::Lane;

/// The tables of this version of the program, step by step.
pub(super) static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How long a statement waits for a connection, or for another process's lock.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// An open database.
#[derive(Clone)]
pub(super) enum Db {
    /// One connection writes, several read.
    Sqlite {
        read: SqlitePool,
        write: SqlitePool,
    },
    Pg(PgPool),
}

/// A transaction that writes; dropped without a commit, it was never there.
pub(super) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Pg(Transaction<'static, Postgres>),
}

/// Compiles one expression for each engine, with a name for what runs statements on it.
macro_rules! on {
    (read $db:expr, $run:ident => $do:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite { read: $run, .. } => $do,
            $crate::store::db::Db::Pg($run) => $do,
        }
    };
    (write $db:expr, $run:ident => $do:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite { write: $run, .. } => $do,
            $crate::store::db::Db::Pg($run) => $do,
        }
    };
    (tx $tx:expr, $run:ident => $do:expr) => {
        match $tx {
            $crate::store::db::Tx::Sqlite(tx) => {
                let $run = &mut **tx;
                $do
            }
            $crate::store::db::Tx::Pg(tx) => {
                let $run = &mut **tx;
                $do
            }
        }
    };
}
pub(super) use on;

impl Db {
    /// Opens `sqlite:<path>` or `postgres://…` and brings it to this program's migrations.
    pub(super) async fn open(url: &str) -> anyhow::Result<Self> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            return Self::open_sqlite(Path::new(path))
                .await
                .map_err(|error| explain_sqlite(path, error));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let (options, place) = pg_options(url)?;
            return Self::open_pg(options)
                .await
                .map_err(|error| explain_pg(&place, error));
        }
        Err(anyhow!(
            "the database's address is neither `sqlite:<path>` nor `postgres://…`"
        ))
    }

    async fn open_sqlite(path: &Path) -> Result<Self, MigrateError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A forge does not send twice: what was answered must survive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(PATIENCE);
        let write = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_with(options.clone())
            .await?;
        MIGRATIONS.run(&write).await?;
        let read = SqlitePoolOptions::new()
            .max_connections(4)
            .connect_with(options.read_only(true).create_if_missing(false))
            .await?;
        Ok(Self::Sqlite { read, write })
    }

    async fn open_pg(options: PgConnectOptions) -> Result<Self, MigrateError> {
        let pool = PgPoolOptions::new()
            .max_connections(10)
            .acquire_timeout(PATIENCE)
            .connect_with(options)
            .await?;
        MIGRATIONS.run(&pool).await?;
        Ok(Self::Pg(pool))
    }

    /// Begins a transaction that writes.
    pub(super) async fn begin(&self) -> sqlx::Result<Tx> {
        Ok(match self {
            // A transaction that begins by reading could not become a writer once another one wrote.
            Self::Sqlite { write, .. } => Tx::Sqlite(write.begin_with("BEGIN IMMEDIATE").await?),
            Self::Pg(pool) => Tx::Pg(pool.begin().await?),
        })
    }
}

/// A text as a column holds it: PostgreSQL takes no NUL, and what tools and jobs say may hold one.
pub(super) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

impl Tx {
    /// Makes it so.
    pub(super) async fn commit(self) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(tx) => tx.commit().await,
            Self::Pg(tx) => tx.commit().await,
        }
    }

    /// Takes the next row number. Other transactions that take one wait until this one ends.
    pub(super) async fn next_number(&mut self) -> sqlx::Result<i64> {
        const SQL: &str =
            "UPDATE counters SET value = value + 1 WHERE name = 'rows' RETURNING value";
        on!(tx self, run => sqlx::query_scalar(SQL).fetch_one(run).await)
    }
}

/// A value as it stands in a TEXT column.
pub(super) fn to_json(value: &impl Serialize) -> sqlx::Result<String> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(error.into()))
}

/// A value out of a TEXT column.
pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> sqlx::Result<T> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// A name out of a TEXT column.
pub(super) fn name<T: TryFrom<String>>(text: String) -> sqlx::Result<T>
where
    T::Error: std::error::Error + Send + Sync + 'static,
{
    T::try_from(text).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// A lane out of a TEXT column.
pub(super) fn lane(text: String) -> sqlx::Result<Lane> {
    serde_json::from_value(text.into()).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// A time out of a BIGINT column.
pub(super) fn time(millis: i64) -> sqlx::Result<Timestamp> {
    Timestamp::from_millisecond(millis).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// A count of attempts out of a BIGINT column.
pub(super) fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// How a PostgreSQL is reached, and its name for people, without a password.
pub(super) fn pg_options(url: &str) -> anyhow::Result<(PgConnectOptions, String)> {
    // The parser's own complaint may quote the address, and with it a password.
    let options: PgConnectOptions = url.parse().map_err(|_| {
        anyhow!(
            "the database's address cannot be read: write `postgres://user:password@host/database`"
        )
    })?;
    let place = format!(
        "the database {:?} at {}:{}",
        options.get_database().unwrap_or_default(),
        options.get_host(),
        options.get_port()
    );
    Ok((options, place))
}

/// What to do about a file that cannot be opened.
pub(super) fn explain_sqlite(path: &str, error: MigrateError) -> anyhow::Error {
    let hint = hint_for_migrations(&error).or_else(|| {
        let primary = code(&error)?.parse::<u32>().ok()? & 0xff;
        Some(match primary {
            5 | 6 => "another process holds its lock: stop the other tidegate that uses this file, or give this one a `data` folder of its own",
            3 | 8 | 14 | 23 => "the folder must be there, and the user tidegate runs as must be able to write in it and to the file",
            13 => "the disk is full",
            11 | 26 => "it is not a sound SQLite file: put it aside and run `tidegate recover`",
            _ => return None,
        })
    });
    with_hint(format!("cannot open the database file {path}"), hint, error)
}

/// What to do about a PostgreSQL that cannot be opened.
pub(super) fn explain_pg(place: &str, error: MigrateError) -> anyhow::Error {
    let hint = hint_for_migrations(&error).or_else(|| match code(&error).as_deref() {
        Some("28P01" | "28000") => Some("the user or the password in `database` is wrong"),
        Some("3D000") => Some("create the database first"),
        Some("42501") => Some("the user in `database` must be allowed to create tables there"),
        Some("53300") => Some("it has no connection left: raise its `max_connections`"),
        Some(_) => None,
        None => Some("is it running, and can this machine reach it?"),
    });
    with_hint(format!("cannot open {place}"), hint, error)
}

fn hint_for_migrations(error: &MigrateError) -> Option<&'static str> {
    match error {
        MigrateError::VersionMissing(_) | MigrateError::VersionTooNew(..) => Some(
            "a newer tidegate has used it: run that version, or restore the copy from before the upgrade",
        ),
        MigrateError::VersionMismatch(_) | MigrateError::Dirty(_) => Some(
            "its tables are not the ones this tidegate makes: restore a copy, or start with an empty database and run `tidegate recover`",
        ),
        _ => None,
    }
}

fn code(error: &MigrateError) -> Option<String> {
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else {
        return None;
    };
    error.as_database_error()?.code().map(Into::into)
}

fn with_hint(what: String, hint: Option<&str>, error: MigrateError) -> anyhow::Error {
    let what = match hint {
        Some(hint) => format!("{what} ({hint})"),
        None => what,
    };
    anyhow::Error::new(error).context(what)
}
