//! Lines of the ledger, read and written.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::core::gate::facts::{Approval, Fact, ForgeUser, Pending, Use};
use crate::core::ids::UserId;
use crate::core::job::Applied;

const CHANT: &str = include_str!("../../../../tests/vectors/ledger.jsonl");
const LINES: &str = include_str!("../../../../tests/vectors/facts.jsonl");

fn op() -> Op {
    Op::tf_apply()
}

fn gate() -> Gate {
    Gate::try_from("wave-2").unwrap()
}

fn digest(digit: char) -> Digest {
    Digest::try_from(format!("jcs1-sha256:{}", digit.to_string().repeat(64))).unwrap()
}

fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_069_700 + second).unwrap()
}

fn members() -> Vec<Member> {
    vec![Member {
        member: Root::try_from("app").unwrap(),
        plan_digest: digest('1'),
    }]
}

fn pending() -> Pending {
    Pending {
        id: "ask-1/pending".to_owned(),
        op: op(),
        gate: gate(),
        timestamp: at(0),
        expires_at: at(172_800),
        digest: digest('a'),
        members: members(),
        commit: sha('c'),
        pr: Some(PullNumber(12)),
        description: "wave-2: `app`; gate on-destructive, approval ledger".to_owned(),
        url: None,
    }
}

fn approval() -> Approval {
    Approval {
        id: "comment-7/approval".to_owned(),
        op: op(),
        gate: gate(),
        timestamp: at(60),
        digest: digest('a'),
        resolved_by: "github:ada".to_owned(),
        user: Some(ForgeUser {
            forge: "github.com".to_owned(),
            id: UserId(1234),
        }),
        commit: sha('c'),
        pr: Some(PullNumber(12)),
        url: Some("https://github.com/acme/infra/pull/12#issuecomment-7".to_owned()),
    }
}

fn used() -> Use {
    Use {
        id: "ask-2/use".to_owned(),
        op: op(),
        gate: gate(),
        timestamp: at(120),
        digest: digest('a'),
        approved_at: "2026-11-30T20:16:00.000Z".to_owned(),
        approved_by: "github:ada".to_owned(),
        members: members(),
        commit: sha('c'),
        pr: Some(PullNumber(12)),
        run_id: Some("r1/wave-2/2".to_owned()),
    }
}

type Ends<'a> = &'a [(&'a str, Option<&'a str>)];

fn report(outcome: Outcome, applied: Ends) -> Report {
    let applied = applied.iter().map(|(root, error)| Applied {
        root: Root::try_from(*root).unwrap(),
        error: error.map(str::to_owned),
    });
    Report {
        outcome,
        cancelled: false,
        plans: Vec::new(),
        applied: applied.collect(),
        error: None,
        survey: None,
    }
}

fn read_use() -> UseLine {
    let facts = Facts::read(&op(), "", &Fact::Use(used()).line());
    facts.use_with_id("ask-2/use").unwrap().clone()
}

/// The facts of one gate's life, in order.
fn all_facts() -> Vec<Fact> {
    let report = report(Outcome::Done, &[("app", None)]);
    let end = read_use().finished(&op(), "ask-2/finished", &report, at(180));
    vec![
        Fact::Pending(pending()),
        Fact::Approval(approval()),
        Fact::Use(used()),
        Fact::Finished(end.unwrap()),
    ]
}

#[test]
fn facts_are_written_as_the_formats_say() {
    let lines: String = all_facts().iter().map(Fact::line).collect();
    assert_eq!(lines, LINES, "\n{lines}");
}

#[test]
fn a_fact_knows_its_file_and_its_commit_subject() {
    let told: Vec<_> = all_facts()
        .iter()
        .map(|it| (it.path(), it.subject()))
        .collect();
    let gates = "_gates/tf-apply.jsonl".to_owned();
    let uses = "_gates/tf-apply/applied.jsonl".to_owned();
    let expected = [
        (
            gates.clone(),
            "Pending gate record: tf-apply wave-2".to_owned(),
        ),
        (gates, "Gate resolution record: tf-apply wave-2".to_owned()),
        (
            uses.clone(),
            "Applied under approval: tf-apply wave-2".to_owned(),
        ),
        (uses, "Finished under approval: tf-apply wave-2".to_owned()),
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_was_written_is_read_back() {
    let lines: Vec<&str> = LINES.lines().collect();
    let facts = Facts::read(&op(), &lines[..2].join("\n"), &lines[2..].join("\n"));
    assert_eq!(facts.complaints, []);
    let naming = Naming::Named {
        pr: Some(PullNumber(12)),
        commit: Some(sha('c')),
    };
    let [ask, resolution] = &facts.lines[..] else {
        panic!("{facts:?}");
    };
    let kind = LineKind::Pending {
        expires_at: Some(at(172_800)),
        members: members(),
    };
    assert_eq!((&ask.kind, &ask.naming), (&kind, &naming));
    let by = LineKind::Approval {
        by: "github:ada".to_owned(),
    };
    assert_eq!(
        (&resolution.kind, &resolution.digest),
        (&by, &Some(digest('a')))
    );
    assert_eq!(facts.uses[0].approved_at, resolution.timestamp);
    assert_eq!(facts.ends[0].applied, facts.uses[0].timestamp);
    assert!(!facts.ends[0].failed);
}

#[test]
fn a_use_ends_as_its_job_reports() {
    let table: [(Outcome, Ends, bool, &[&str]); 4] = [
        (Outcome::Done, &[("app", None)], false, &["app"]),
        (Outcome::Failed, &[("app", Some("boom"))], true, &[]),
        (Outcome::Failed, &[("app", None)], true, &["app"]),
        (
            Outcome::Done,
            &[("app", None), ("db", Some("boom"))],
            true,
            &["app"],
        ),
    ];
    for (outcome, applied, failed, members) in table {
        let end = read_use().finished(&op(), "id", &report(outcome, applied), at(180));
        let end = end.unwrap();
        let done: Vec<_> = end.members.iter().map(Root::as_str).collect();
        assert_eq!((end.failed, &done[..]), (failed, members));
    }
}

#[test]
fn lines_of_chant_are_read() {
    let facts = Facts::read(&Op::try_from("migrations").unwrap(), CHANT, "");
    assert_eq!(facts.complaints, []);
    let gates: Vec<_> = facts.lines.iter().map(|it| it.gate.as_str()).collect();
    assert_eq!(
        gates,
        [
            "migrations-wave-2",
            "migrations-wave-2",
            "migrations-wave-1"
        ]
    );
    assert!(facts.lines.iter().all(|it| it.naming == Naming::Bare));
}

#[test]
fn a_line_that_cannot_be_read_is_counted_and_placed() {
    let good =
        json!({ "version": 1, "op": "o", "gate": "g", "timestamp": "t", "resolvedBy": "ada" });
    let with = |key: &str, value: Value| {
        let mut line = good.clone();
        line[key] = value;
        line.to_string()
    };
    let without = |key: &str| {
        let mut line = good.clone();
        line.as_object_mut().unwrap().remove(key);
        line.to_string()
    };
    let bad = [
        "{".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        with("version", json!(2)),
        with("version", json!("1")),
        with("version", json!(1.5)),
        without("version"),
        without("op"),
        without("gate"),
        without("timestamp"),
        without("resolvedBy"),
        with("gate", json!(7)),
        with("planDigest", json!(7)),
        with("planDigest", Value::Null),
        with("environment", json!([])),
        with("kind", json!("pending")),
    ];
    for text in bad {
        let file = format!("\n  {good}  \r\n\n{text}\n");
        let facts = Facts::read(&op(), &file, "");
        assert_eq!(facts.lines.len(), 1, "{text}");
        let [complaint] = &facts.complaints[..] else {
            panic!("{text}");
        };
        assert_eq!(complaint.number, 4, "{text}");
        assert!(facts.is_void(&facts.lines[0]), "{text}");
    }
}

#[test]
fn a_complaint_says_where_and_why() {
    let facts = Facts::read(&op(), "{", "{\"version\":1}");
    let told: Vec<_> = facts.complaints.iter().map(Complaint::to_string).collect();
    let expected = [
        "line 1 of `_gates/tf-apply.jsonl` cannot be read: it is not JSON",
        "line 1 of `_gates/tf-apply/applied.jsonl` cannot be read: it has no `op`",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_use_that_cannot_be_read_voids_the_approvals_before_it() {
    let (first, second) = (
        Fact::Approval(approval()),
        Fact::Approval(Approval {
            timestamp: at(61),
            ..approval()
        }),
    );
    let file = first.line() + &second.line();
    for broken in [
        "{",
        r#"{"version":1,"op":"o","gate":"g","timestamp":"t","kind":"appl1ed"}"#,
        r#"{"version":1,"op":"o","gate":"g","timestamp":"t","kind":"applied"}"#,
        r#"{"version":1,"op":"o","gate":"g","timestamp":"t","kind":"finished"}"#,
    ] {
        let facts = Facts::read(&op(), &file, broken);
        assert_eq!(facts.broken_uses(), 1, "{broken}");
        assert!(facts.lines.iter().all(|it| facts.is_void(it)), "{broken}");
        let known = facts.with_broken_uses_at(1);
        let void: Vec<_> = known.lines.iter().map(|it| known.is_void(it)).collect();
        assert_eq!(void, [true, false], "{broken}");
    }
}

#[test]
fn a_line_repeated_later_counts_where_it_first_stood() {
    let ask = Fact::Pending(pending()).line();
    let approval = Fact::Approval(approval()).line();
    let spaced = approval.replace("\":", "\" : ");
    for again in [&approval, &spaced] {
        let file = format!("{approval}{ask} {again}");
        let facts = Facts::read(&op(), &file, "");
        let numbers: Vec<_> = facts.lines.iter().map(|it| it.number).collect();
        assert_eq!(numbers, [1, 2], "{again}");
    }
}

#[test]
fn a_line_that_names_somebody_unreadably_is_not_bare() {
    for (key, value) in [
        ("pr", json!("12")),
        ("commit", json!("main")),
        ("pr", Value::Null),
    ] {
        let mut line: Value = serde_json::from_str(CHANT.lines().next().unwrap()).unwrap();
        line[key] = value;
        let facts = Facts::read(&op(), &line.to_string(), "");
        let nobody = Naming::Named {
            pr: None,
            commit: None,
        };
        assert_eq!(facts.lines[0].naming, nobody, "{key}");
    }
}

proptest! {
    #[test]
    fn no_text_panics_the_reader(gates in "\\PC{0,200}", uses in "\\PC{0,200}") {
        Facts::read(&op(), &gates, &uses);
    }

    #[test]
    fn unknown_fields_survive(key in "[a-z]{1,8}x", value in any::<i64>(), text in ".{0,20}") {
        let mut line: Value = serde_json::from_str(&Fact::Approval(approval()).line()).unwrap();
        line[&key] = json!({ "value": value, "text": text });
        let facts = Facts::read(&op(), &line.to_string(), "");
        prop_assert_eq!(Value::Object(facts.lines[0].raw.clone()), line);
    }
}
