//! The server's database: SQLite in its folder, or, where `TIDEGATE_TEST_DATABASE` is `postgres`, one of its own in the
//! cluster that `TIDEGATE_TEST_POSTGRES` names. A story may ask for one of the two.

use std::env;
use std::path::{Path, PathBuf};

use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// Somebody beside the server who reads its database.
#[derive(Clone)]
pub(crate) enum Database {
    Sqlite { file: PathBuf, pool: SqlitePool },
    Postgres { url: String, pool: PgPool },
}

/// On what a story is told.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    /// What `TIDEGATE_TEST_DATABASE` asks for.
    fn asked_for() -> Self {
        match env::var("TIDEGATE_TEST_DATABASE").as_deref() {
            Ok("postgres") => Self::Postgres,
            Ok("sqlite") | Err(_) => Self::Sqlite,
            Ok(other) => panic!("TIDEGATE_TEST_DATABASE is neither sqlite nor postgres: {other}"),
        }
    }
}

impl Database {
    /// The database of a server that keeps its things in a folder; on PostgreSQL it is made here.
    pub(crate) async fn new(kind: Option<Kind>, folder: &Path) -> Self {
        match kind.unwrap_or_else(Kind::asked_for) {
            Kind::Sqlite => Self::in_file(folder.join("tidegate.db")),
            Kind::Postgres => Self::make().await,
        }
    }

    fn in_file(file: PathBuf) -> Self {
        let options = SqliteConnectOptions::new().filename(&file).read_only(true);
        let pool = SqlitePoolOptions::new().max_connections(1);
        let pool = pool.connect_lazy_with(options);
        Self::Sqlite { file, pool }
    }

    async fn make() -> Self {
        let name = format!("w{}", uuid::Uuid::now_v7().simple());
        run_on_cluster(format!("CREATE DATABASE {name}")).await;
        let mut url = url::Url::parse(&cluster()).unwrap();
        url.set_path(&name);
        let pool = PgPoolOptions::new().max_connections(1);
        let pool = pool.connect_lazy(url.as_str()).unwrap();
        let url = url.into();
        Self::Postgres { url, pool }
    }

    /// Its address for a store.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite { file, .. } => format!("sqlite:{}", file.display()),
            Self::Postgres { url, .. } => url.clone(),
        }
    }

    /// The line of the server's file that names it; SQLite is what a server has without one.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Sqlite { .. } => String::new(),
            Self::Postgres { url, .. } => format!("database: {url}\n"),
        }
    }

    /// The one number that a query answers.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        let query = AssertSqlSafe(query.to_owned());
        let number = match self {
            Self::Sqlite { pool, .. } => sqlx::query_scalar(query).fetch_one(pool).await,
            Self::Postgres { pool, .. } => sqlx::query_scalar(query).fetch_one(pool).await,
        };
        number.unwrap()
    }

    /// Everything in it, as text; what is in a file is read there.
    pub(crate) async fn text(&self) -> String {
        let Self::Postgres { pool, .. } = self else {
            return String::new();
        };
        let tables =
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'";
        let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(pool).await.unwrap();
        let mut text = String::new();
        for table in tables {
            let all = format!("SELECT coalesce(string_agg(it::text, ' '), '') FROM \"{table}\" it");
            let rows: String = sqlx::query_scalar(AssertSqlSafe(all))
                .fetch_one(pool)
                .await
                .unwrap();
            text += &rows;
        }
        text
    }

    /// Takes away what was made for the story.
    pub(crate) async fn drop(self) {
        if let Self::Postgres { url, pool } = self {
            pool.close().await;
            let name = url.rsplit('/').next().unwrap().to_owned();
            run_on_cluster(format!("DROP DATABASE {name} WITH (FORCE)")).await;
        }
    }
}

fn cluster() -> String {
    env::var("TIDEGATE_TEST_POSTGRES").expect("TIDEGATE_TEST_POSTGRES names a cluster")
}

async fn run_on_cluster(sql: String) {
    let mut admin = PgConnection::connect(&cluster()).await.unwrap();
    admin.execute(AssertSqlSafe(sql)).await.unwrap();
}
