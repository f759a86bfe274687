//! What is said of a database that is only looked at.

use super::*;
use crate::core::finding::{Finding, Level};

async fn found(url: &str) -> (Level, String) {
    let Finding { level, what, .. } = check(url).await;
    (level, what)
}

#[tokio::test]
async fn a_file_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.db");
    let (level, what) = found(&format!("sqlite:{}", file.display())).await;
    assert_eq!(level, Level::Ok);
    assert!(what.contains("at its first start"), "{what}");
    assert!(!file.exists());
}

#[tokio::test]
async fn an_empty_database_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.db");
    std::fs::write(&file, "").unwrap();
    let (level, what) = found(&format!("sqlite:{}", file.display())).await;
    assert!(level == Level::Ok && what.contains("next start"), "{what}");
    assert_eq!(std::fs::read(&file).unwrap(), b"");
}

#[tokio::test]
async fn a_database_of_this_version_opens_beside_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("tidegate.db").display());
    let store = Store::open(&url).await.unwrap();
    let (level, what) = found(&url).await;
    assert!(
        level == Level::Ok && what.contains("opens, at step"),
        "{what}"
    );
    drop(store);
}

#[tokio::test]
async fn a_database_of_a_newer_version_or_of_other_tables_fails() {
    for (sql, expected) in [
        (
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (99991231235959, 'from tomorrow', TRUE, 'x', 0)",
            "newer tidegate",
        ),
        ("UPDATE _sqlx_migrations SET checksum = 'x'", "not the ones"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("tidegate.db").display());
        let store = Store::open(&url).await.unwrap();
        on!(write &store.db, run => sqlx::query(sql).execute(run).await.map(drop)).unwrap();
        let (level, what) = found(&url).await;
        assert!(level == Level::Fail && what.contains(expected), "{what}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_and_a_server_that_is_not_there_fail() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.db");
    std::fs::write(&file, "nothing of a database ".repeat(99)).unwrap();
    let (level, what) = found(&format!("sqlite:{}", file.display())).await;
    assert!(
        level == Level::Fail && what.contains("not a sound"),
        "{what}"
    );
    let (level, what) = found("postgres://tide:s3cr3t@127.0.0.1:1/tidegate").await;
    assert!(
        level == Level::Fail && what.contains("is it running"),
        "{what}"
    );
    assert!(!what.contains("s3cr3t"), "{what}");
}
