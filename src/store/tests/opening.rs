//! What a store says that cannot be opened.

use super::*;

/// What opening this address complains about, as one line.
async fn complaint(url: &str) -> String {
    let Err(error) = Store::open(url).await else {
        panic!("{url} could be opened");
    };
    format!("{error:#}")
}

#[tokio::test]
async fn a_store_that_is_open_is_ready() {
    on_each(async |store| store.ready().await.unwrap()).await;
}

#[tokio::test]
async fn an_address_of_neither_kind_says_which_there_are() {
    let said = complaint("mysql://user:secret@host/db").await;
    assert!(
        said.contains("`sqlite:<path>`") && !said.contains("secret"),
        "{said}"
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_made_says_who_must_be_able_to_write() {
    let said = complaint("sqlite:/nowhere/tidegate.db").await;
    assert!(said.contains("/nowhere/tidegate.db"), "{said}");
    assert!(said.contains("must be able to write"), "{said}");
}

#[tokio::test]
async fn a_file_that_is_no_database_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.db");
    std::fs::write(
        &file,
        "not a database at all, but long enough to have a header of its own".repeat(9),
    )
    .unwrap();
    let said = complaint(&format!("sqlite:{}", file.display())).await;
    assert!(said.contains("not a sound SQLite file"), "{said}");
}

#[tokio::test]
async fn a_database_of_a_newer_version_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("tidegate.db").display());
    let store = Store::open(&url).await.unwrap();
    const SQL: &str =
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (9999, 'from tomorrow', TRUE, 'x', 0)";
    on!(write &store.db, run => sqlx::query(SQL).execute(run).await.map(drop)).unwrap();
    let said = complaint(&url).await;
    assert!(said.contains("a newer tidegate has used it"), "{said}");
}

#[tokio::test]
async fn a_postgres_that_does_not_answer_is_named_without_its_password() {
    let said = complaint("postgres://tide:s3cr3t@127.0.0.1:1/tidegate").await;
    assert!(said.contains("\"tidegate\" at 127.0.0.1:1"), "{said}");
    assert!(
        said.contains("is it running") && !said.contains("s3cr3t"),
        "{said}"
    );
}
