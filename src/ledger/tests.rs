//! The ledger on real bare repositories.

use std::path::Path;

use jiff::Timestamp;
use tempfile::TempDir;

use super::*;
use crate::core::gate::approval::{Names, Record};
use crate::core::gate::facts::{Approval, Pending};
use crate::core::ids::{Digest, Gate};
use crate::core::remote::Remote;

/// A remote in a folder.
struct World {
    home: TempDir,
}

impl World {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Mirror::open(&home.path().join("origin.git"), None)
            .await
            .unwrap();
        Self { home }
    }

    /// A writer with a mirror of its own.
    async fn mirror(&self, name: &str) -> Mirror {
        let remote = Remote {
            url: self.origin().display().to_string(),
            authorization: None,
        };
        Mirror::open(&self.home.path().join(name), Some(remote))
            .await
            .unwrap()
    }

    async fn ledger(&self, name: &str) -> Ledger {
        Ledger::of(self.mirror(name).await)
    }

    fn origin(&self) -> std::path::PathBuf {
        self.home.path().join("origin.git")
    }

    /// What another tool does: puts these files on the branch as they are.
    async fn write(&self, files: &[(&str, &str)]) {
        let ledger = self.ledger("another-tool.git").await;
        let tip = ledger.tip().await.unwrap();
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect();
        let new = NewCommit {
            parent: tip.as_ref(),
            files: &files,
            message: "Another tool's record",
            by: BY,
        };
        let commit = ledger.mirror.write_commit(new).await.unwrap();
        let push = ledger
            .mirror
            .push_child(&ledger.branch, &commit, tip.as_ref());
        assert_eq!(push.await.unwrap(), Push::Landed);
    }

    /// A file of the branch as the remote has it.
    async fn file(&self, path: &str) -> String {
        let ledger = self.ledger("reader.git").await;
        let tip = ledger.tip().await.unwrap().unwrap();
        String::from_utf8(ledger.bytes(&tip, path).await.unwrap()).unwrap()
    }
}

fn op() -> Op {
    Op::tf_apply()
}

fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).unwrap()
}

fn digest(digit: char) -> Digest {
    Digest::try_from(format!("jcs1-sha256:{}", digit.to_string().repeat(64))).unwrap()
}

fn gate() -> Gate {
    Gate::try_from("wave-1").unwrap()
}

fn approval(id: &str) -> Fact {
    Fact::Approval(Approval {
        id: id.to_owned(),
        op: op(),
        gate: gate(),
        timestamp: Timestamp::UNIX_EPOCH,
        digest: digest('a'),
        resolved_by: "github:ada".to_owned(),
        user: None,
        commit: sha('c'),
        pr: None,
        url: None,
    })
}

fn pending(id: &str) -> Fact {
    Fact::Pending(Pending {
        id: id.to_owned(),
        op: op(),
        gate: gate(),
        timestamp: Timestamp::UNIX_EPOCH,
        expires_at: Timestamp::UNIX_EPOCH,
        digest: digest('a'),
        members: Vec::new(),
        commit: sha('c'),
        pr: None,
        description: String::new(),
        url: None,
    })
}

fn used(id: &str) -> Fact {
    Fact::Use(facts::Use {
        id: id.to_owned(),
        op: op(),
        gate: gate(),
        timestamp: Timestamp::UNIX_EPOCH,
        digest: digest('a'),
        approved_at: "1970-01-01T00:00:00.000Z".to_owned(),
        approved_by: "github:ada".to_owned(),
        members: Vec::new(),
        commit: sha('c'),
        pr: None,
        run_id: None,
    })
}

fn ids(facts: &Facts) -> Vec<&str> {
    let ids = facts.lines.iter().filter_map(|it| it.raw["id"].as_str());
    ids.collect()
}

#[tokio::test]
async fn a_branch_that_was_never_made_is_an_empty_ledger() {
    let world = World::new().await;
    let facts = world.ledger("one.git").await.read(&op()).await.unwrap();
    assert_eq!(facts, Facts::default());
}

#[tokio::test]
async fn a_remote_that_does_not_answer_is_an_error_that_names_it() {
    let world = World::new().await;
    let ledger = world.ledger("one.git").await;
    ledger.append(&[approval("a")]).await.unwrap();
    std::fs::remove_dir_all(world.origin()).unwrap();
    for error in [
        ledger.read(&op()).await.map(|_| ()).unwrap_err(),
        ledger
            .append(&[approval("b")])
            .await
            .map(|_| ())
            .unwrap_err(),
    ] {
        let text = format!("{error:#}");
        assert!(text.contains("cannot read the ledger"), "{text}");
        assert!(text.contains(&*world.origin().to_string_lossy()), "{text}");
    }
}

#[tokio::test]
async fn what_one_writes_another_reads_in_order() {
    let world = World::new().await;
    let writer = world.ledger("one.git").await;
    let reader = world.ledger("two.git").await;
    for id in ["a", "b"] {
        let appended = writer.append(&[approval(id)]).await.unwrap();
        assert!(matches!(appended, Appended::Written(_)));
        assert!(ids(&reader.read(&op()).await.unwrap()).ends_with(&[id]));
    }
}

#[tokio::test]
async fn a_fact_is_written_once_whoever_tries_again() {
    let world = World::new().await;
    let facts = [approval("a"), used("u")];
    world.ledger("one.git").await.append(&facts).await.unwrap();
    let before = world.file("_gates/tf-apply.jsonl").await;
    let again = world.ledger("two.git").await.append(&facts).await;
    assert!(matches!(again.unwrap(), Appended::AlreadyThere(_)));
    assert_eq!(world.file("_gates/tf-apply.jsonl").await, before);
}

#[tokio::test]
async fn what_is_missing_of_several_facts_is_written() {
    let world = World::new().await;
    let ledger = world.ledger("one.git").await;
    ledger.append(&[approval("a")]).await.unwrap();
    let both = [approval("a"), approval("b"), approval("b"), used("u")];
    assert!(matches!(
        ledger.append(&both).await.unwrap(),
        Appended::Written(_)
    ));
    let facts = ledger.read(&op()).await.unwrap();
    assert_eq!(ids(&facts), ["a", "b"]);
    assert!(facts.use_with_id("u").is_some());
}

#[tokio::test]
async fn several_facts_are_one_commit() {
    let world = World::new().await;
    let ledger = world.ledger("one.git").await;
    ledger.append(&[approval("a")]).await.unwrap();
    let before = ledger.tip().await.unwrap().unwrap();
    ledger.append(&[approval("b"), used("u")]).await.unwrap();
    let after = ledger.tip().await.unwrap().unwrap();
    let commits = ledger.mirror.commits(&before, &after).await.unwrap();
    assert_eq!(commits, [after]);
}

#[tokio::test]
async fn every_line_ends_whatever_another_tool_left() {
    let world = World::new().await;
    let theirs =
        r#"{"version":1,"op":"tf-apply","gate":"wave-1","timestamp":"t","resolvedBy":"x"}"#;
    world.write(&[("_gates/tf-apply.jsonl", theirs)]).await;
    let ledger = world.ledger("one.git").await;
    ledger.append(&[approval("a")]).await.unwrap();
    let expected = format!("{theirs}\n{}", approval("a").line());
    assert_eq!(world.file("_gates/tf-apply.jsonl").await, expected);
}

#[tokio::test]
async fn other_files_survive_and_nothing_lands_at_the_root() {
    let world = World::new().await;
    let others = [
        ("_gates/migrations.jsonl", "theirs"),
        ("_wave-plans/migrations/head.json", "{}"),
        ("_gates/tf-apply/wave-1/report.json", "{}"),
    ];
    world.write(&others).await;
    let ledger = world.ledger("one.git").await;
    ledger.append(&[approval("a"), used("u")]).await.unwrap();
    for (path, text) in others {
        assert_eq!(world.file(path).await, text);
    }
    let tip = ledger.tip().await.unwrap().unwrap();
    let paths = ledger.mirror.paths(&tip).await.unwrap();
    assert!(
        paths
            .iter()
            .all(|it| Path::new(it).components().count() > 1),
        "{paths:?}"
    );
}

#[tokio::test]
async fn writers_that_race_lose_nothing() {
    let world = World::new().await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..3 {
        // Two of them share a mirror, as two effects of one server do.
        let ledger = world.ledger(&format!("{}.git", writer / 2)).await;
        writers.spawn(async move {
            for n in 0..3 {
                let fact = approval(&format!("{writer}-{n}"));
                ledger.append(&[fact]).await.unwrap();
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let facts = world.ledger("reader.git").await.read(&op()).await.unwrap();
    let mut ids = ids(&facts);
    for writer in 0..3 {
        let own = ids
            .iter()
            .filter(|it| it.starts_with(&format!("{writer}-")));
        assert!(own.is_sorted(), "{ids:?}");
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 9);
}

#[tokio::test]
async fn a_branch_that_was_set_back_is_written_on_from_where_it_is() {
    let world = World::new().await;
    let ledger = world.ledger("one.git").await;
    ledger.append(&[approval("a")]).await.unwrap();
    let first = ledger.tip().await.unwrap().unwrap();
    ledger.append(&[approval("revoked")]).await.unwrap();
    let branch = world.origin().join("refs/heads").join(BRANCH);
    std::fs::write(branch, format!("{first}\n")).unwrap();
    ledger.append(&[approval("b")]).await.unwrap();
    assert_eq!(ids(&ledger.read(&op()).await.unwrap()), ["a", "b"]);
}

#[tokio::test]
async fn approvals_after_an_unreadable_use_count_and_those_before_it_do_not() {
    let world = World::new().await;
    let ledger = world.ledger("one.git").await;
    ledger
        .append(&[pending("p"), approval("before")])
        .await
        .unwrap();
    let uses = "_gates/tf-apply/applied.jsonl";
    world.write(&[(uses, "{ torn\n")]).await;
    let names = Names {
        commit: sha('c'),
        taken_over: Vec::new(),
        pulls: Vec::new(),
    };
    let newest = async || {
        let facts = ledger.read(&op()).await.unwrap();
        let record = Record {
            facts: &facts,
            gate: &gate(),
            names: &names,
        };
        record.newest_approval(&digest('a')).is_some()
    };
    assert!(!newest().await);
    // Later uses and lines move nothing about where the damage stands.
    ledger.append(&[used("u")]).await.unwrap();
    assert!(!newest().await);
    ledger.append(&[approval("after")]).await.unwrap();
    ledger.append(&[used("v")]).await.unwrap();
    assert!(newest().await);
}

#[tokio::test]
async fn the_commit_says_what_was_recorded() {
    let facts = [approval("a"), used("u")].map(|it| NewLine::from(&it));
    assert_eq!(
        subject(&facts[..1]),
        "Gate resolution record: tf-apply wave-1"
    );
    assert_eq!(
        subject(&facts),
        "Gate resolution record: tf-apply wave-1 and 1 more"
    );
}
