//! The gate's table as data: every row under every policy, and what must hold whatever the ledger says.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::core::gate::Base;
use crate::core::gate::facts::Fact;
use crate::core::ids::{PullNumber, Sha};
use crate::core::plan::{Action, Change, Subject};

const POLICIES: [Policy; 3] = [Policy::Always, Policy::OnDestructive, Policy::Never];
const MODES: [Mode; 3] = [Mode::Ledger, Mode::PrReview, Mode::Sealed];

/// Whom a line names.
#[derive(Clone, Copy, Debug)]
enum Who {
    /// The rollout, by its pull request.
    Pull,
    /// The rollout, by its commit.
    Commit,
    /// The rollout, by the commit of one it took over.
    TakenOver,
    /// Another pull request's rollout.
    Other,
    /// Nobody: a line of another tool.
    Bare,
}

/// Which plans a line is about.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Exactly what the wave plans now.
    Now,
    /// The members of now, with another plan for `app`.
    Before,
    /// A set nobody here plans.
    Else,
    /// No digest at all.
    Nothing,
}

/// A line of the gate file.
#[derive(Clone, Copy, Debug)]
enum Row {
    Ask(Who, What),
    Expired(Who, What),
    Yes(Who, What),
    Broken,
}

/// A line of the use file; the number is the approval's place in the gate file, counted from 1.
#[derive(Clone, Copy, Debug)]
enum Use1 {
    Used(Who, usize),
    Ended(usize),
    Failed(usize, &'static [&'static str]),
}

use Row::{Ask, Broken, Expired, Yes};
use Use1::{Ended, Failed, Used as Spent};
use What::{Before, Else, Nothing as NoDigest, Now};
use Who::{Bare, Commit, Other, Pull, TakenOver};

fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).unwrap()
}

fn digest(digit: char) -> Digest {
    Digest::try_from(format!("jcs1-sha256:{}", digit.to_string().repeat(64))).unwrap()
}

fn root(name: &str) -> Root {
    Root::try_from(name).unwrap()
}

fn at_base<T>(value: T) -> AtBase<T> {
    AtBase::read(&Base(sha('b')), value)
}

fn plan(name: &str, plan: char, actions: &[Action]) -> Plan {
    let change = Change {
        address: "a.b".to_owned(),
        deposed: None,
        provider: "p".to_owned(),
        previous_address: None,
        actions: actions.to_vec(),
        importing: None,
        before: Value::Null,
        after: Value::Null,
    };
    let subject = Subject {
        root: root(name),
        mode: crate::core::plan::Mode::Normal,
        backend: Value::Null,
        workspace: "default".to_owned(),
        changes: if actions.is_empty() {
            Vec::new()
        } else {
            vec![change]
        },
        outputs: Vec::new(),
        source: Value::Null,
        key: None,
        told: None,
    };
    Plan {
        root: root(name),
        digest: digest(plan),
        sent_sha256: format!("sent-{name}-{plan}"),
        subject,
        remarks: Vec::new(),
    }
}

fn run(plan: Plan) -> Run {
    Run::Planned(Box::new(plan))
}

/// `app` is deleted, `db` updated, `web` left as it is.
fn destroying() -> Vec<Run> {
    vec![
        run(plan("app", '1', &[Action::Delete])),
        run(plan("db", '2', &[Action::Update])),
        run(plan("web", '3', &[])),
    ]
}

fn harmless() -> Vec<Run> {
    vec![
        run(plan("app", '1', &[Action::Update])),
        run(plan("db", '2', &[Action::Create])),
    ]
}

fn idle() -> Vec<Run> {
    vec![run(plan("app", '1', &[])), run(plan("db", '2', &[]))]
}

fn rollout() -> Names {
    Names {
        commit: sha('c'),
        taken_over: vec![sha('d')],
        pulls: vec![PullNumber(11), PullNumber(12)],
    }
}

fn member(name: &str, plan: char) -> Member {
    Member {
        member: root(name),
        plan_digest: digest(plan),
    }
}

fn members(what: What) -> Vec<Member> {
    match what {
        Now => vec![member("app", '1'), member("db", '2')],
        Before => vec![member("app", '9'), member("db", '2'), member("old", '8')],
        Else => vec![member("zoo", '7')],
        NoDigest => Vec::new(),
    }
}

fn time(minute: usize) -> String {
    format!("2026-11-30T{:02}:{:02}:00.000Z", minute / 60, minute % 60)
}

fn line(minute: usize, who: Who, what: What) -> Value {
    let mut line = json!({
        "version": 1, "op": "tf-apply", "gate": "wave-2", "timestamp": time(minute),
        "members": members(what),
    });
    if !matches!(what, NoDigest) {
        line["planDigest"] = json!(set_digest(&members(what)).unwrap());
    }
    match who {
        Pull => line["pr"] = json!(12),
        Commit => line["commit"] = json!(sha('c')),
        TakenOver => line["commit"] = json!(sha('d')),
        Other => {
            line["pr"] = json!(77);
            line["commit"] = json!(sha('e'));
        }
        Bare => {}
    }
    line
}

fn gate_line(minute: usize, row: Row) -> String {
    let ask = |who, what, expires_at: &str| {
        let mut line = line(minute, who, what);
        line["kind"] = json!("pending");
        line["expiresAt"] = json!(expires_at);
        line.to_string()
    };
    match row {
        Ask(who, what) => ask(who, what, "2026-12-02T00:00:00.000Z"),
        Expired(who, what) => ask(who, what, "2026-11-30T00:00:00.000Z"),
        Yes(who, what) => {
            let mut line = line(minute, who, what);
            line["resolvedBy"] = json!("github:ada");
            line.to_string()
        }
        Broken => format!("{{ broken at {minute}"),
    }
}

fn use_line(minute: usize, row: Use1, gates: &[Row]) -> String {
    let what = |at: usize| match gates[at - 1] {
        Ask(_, what) | Expired(_, what) | Yes(_, what) => what,
        Broken => NoDigest,
    };
    let end = |at: usize, result: &str, members: &[&str]| {
        let mut line = line(minute, Bare, what(at));
        line["kind"] = json!("finished");
        line["applied"] = json!(time(100 + at));
        line["result"] = json!(result);
        line["members"] = json!(members);
        line.to_string()
    };
    match row {
        Spent(who, at) => {
            let mut line = line(100 + at, who, what(at));
            line["kind"] = json!("applied");
            line["id"] = json!("use");
            line["approvedAt"] = json!(time(at));
            line["approvedBy"] = json!("github:ada");
            line.to_string()
        }
        Ended(at) => end(at, "applied", &["app", "db"]),
        Failed(at, members) => end(at, "failed", members),
    }
}

fn facts(gates: &[Row], uses: &[Use1]) -> Facts {
    let gate_lines: Vec<_> = gates
        .iter()
        .enumerate()
        .map(|(at, row)| gate_line(at + 1, *row))
        .collect();
    let use_lines: Vec<_> = uses
        .iter()
        .enumerate()
        .map(|(at, row)| use_line(200 + at, *row, gates))
        .collect();
    Facts::read(
        &Op::tf_apply(),
        &gate_lines.join("\n"),
        &use_lines.join("\n"),
    )
}

/// A question to the gate that can be asked under any rules.
struct Question {
    runs: Vec<Run>,
    members: Vec<Root>,
    facts: Facts,
    policy: Policy,
    mode: Mode,
}

impl Question {
    fn new(runs: Vec<Run>, facts: Facts) -> Self {
        Self {
            members: runs.iter().map(|it| it.root().clone()).collect(),
            runs,
            facts,
            policy: Policy::OnDestructive,
            mode: Mode::Ledger,
        }
    }

    fn under(mut self, policy: Policy, mode: Mode) -> Self {
        (self.policy, self.mode) = (policy, mode);
        self
    }

    fn decide(&self) -> Decision {
        decide(&Inputs {
            op: &Op::tf_apply(),
            gate: &Gate::try_from("wave-2").unwrap(),
            policy: &at_base(self.policy),
            mode: &at_base(self.mode),
            rollout: &rollout(),
            members: &self.members,
            runs: &self.runs,
            facts: &self.facts,
            writing: Writing {
                now: "2026-12-01T00:00:00Z".parse().unwrap(),
                id: "ask-1",
                url: None,
                run_id: None,
            },
        })
    }
}

/// A decision in a few words.
fn words(decision: &Decision) -> String {
    match decision {
        Decision::Nothing => "nothing".to_owned(),
        Decision::Apply {
            clearance, spend, ..
        } => {
            let roots: Vec<_> = clearance
                .members
                .iter()
                .map(|it| it.root.as_str())
                .collect();
            let spends = if spend.is_some() { ", spends" } else { "" };
            format!("apply {}{spends}", roots.join("+"))
        }
        Decision::Wait { why, pending, .. } => {
            let why = match why {
                Why::Deferred(_) => "deferred",
                Why::NotApproved | Why::Damaged(_) => "not approved",
                Why::Rewritten(_) => "rewritten",
                Why::UsedUp { .. } => "used up",
                Why::OtherUsed { .. } => "other used",
                Why::LeftMoved { .. } => "left moved",
                Why::Sealed => "sealed",
            };
            let asks = if pending.is_some() { ", asks" } else { "" };
            format!("wait: {why}{asks}")
        }
        Decision::Refuse { moved, .. } => {
            let moved: Vec<_> = moved.iter().map(|it| it.root.as_str()).collect();
            format!("refuse: {}", moved.join("+"))
        }
        Decision::Fail { .. } => "fail".to_owned(),
    }
}

#[test]
fn a_rewritten_ledger_counts_for_nothing_and_holds_only_what_asks_for_an_approval() {
    let table = [
        (destroying(), Policy::OnDestructive, "wait: rewritten"),
        (harmless(), Policy::Always, "wait: rewritten"),
        (harmless(), Policy::OnDestructive, "apply app+db"),
        (destroying(), Policy::Never, "apply app+db"),
        (idle(), Policy::Always, "nothing"),
    ];
    for (runs, policy, wanted) in table {
        let mut facts = facts(&[Ask(Pull, Now), Yes(Pull, Now)], &[]);
        facts.rewritten = Some(crate::core::gate::change::Rewrite::default());
        let decision = Question::new(runs, facts)
            .under(policy, Mode::Ledger)
            .decide();
        assert_eq!(words(&decision), wanted);
    }
}

#[test]
fn a_wave_that_waits_names_the_lines_that_cannot_be_read() {
    let facts = facts(&[Yes(Pull, Now), Broken, Ask(Pull, Now)], &[]);
    let Decision::Wait { why, digest, .. } = Question::new(destroying(), facts).decide() else {
        panic!("it does not wait");
    };
    assert!(digest.is_some());
    assert_eq!(
        why.to_string(),
        "Line 2 of `_gates/tf-apply.jsonl` cannot be read: it is not JSON. Approvals that stand before such a line do \
         not count; nobody has approved these plans since."
    );
}

const APPLIES: &str = "apply app+db, spends";
const ASKS: &str = "wait: not approved, asks";
const WAITS: &str = "wait: not approved";
const USED: &str = "wait: used up, asks";
const OTHER_USED: &str = "wait: other used, asks";
const REFUSES: &str = "refuse: app+old";

type Case = (&'static str, &'static [Row], &'static [Use1], &'static str);

const TABLE: &[Case] = &[
    ("an empty ledger", &[], &[], ASKS),
    // Which lines speak.
    (
        "approved in the open pull request",
        &[Ask(Pull, Now), Yes(Pull, Now)],
        &[],
        APPLIES,
    ),
    ("approved by its commit", &[Yes(Commit, Now)], &[], APPLIES),
    (
        "approved under a rollout it took over",
        &[Ask(TakenOver, Now), Yes(TakenOver, Now)],
        &[],
        APPLIES,
    ),
    (
        "approved before it was asked for",
        &[Yes(Pull, Now)],
        &[],
        APPLIES,
    ),
    (
        "asked again after the approval",
        &[Yes(Pull, Now), Ask(Pull, Now)],
        &[],
        WAITS,
    ),
    (
        "asked for other plans after the approval",
        &[Yes(Pull, Now), Ask(Pull, Else)],
        &[],
        ASKS,
    ),
    (
        "another rollout asks after the approval",
        &[Ask(Pull, Now), Yes(Pull, Now), Ask(Other, Else)],
        &[],
        APPLIES,
    ),
    (
        "another rollout asks after an early approval",
        &[Yes(Pull, Now), Ask(Other, Else)],
        &[],
        APPLIES,
    ),
    (
        "an approval that names another rollout",
        &[Yes(Other, Now)],
        &[],
        ASKS,
    ),
    (
        "it names another one after we asked",
        &[Ask(Pull, Now), Yes(Other, Now)],
        &[],
        WAITS,
    ),
    ("a bare approval", &[Yes(Bare, Now)], &[], APPLIES),
    (
        "a bare approval of what a bare request asked",
        &[Ask(Bare, Now), Yes(Bare, Now)],
        &[],
        APPLIES,
    ),
    (
        "a bare approval before the gate's newest request",
        &[Yes(Bare, Now), Ask(Other, Else)],
        &[],
        ASKS,
    ),
    (
        "a bare approval after our request",
        &[Ask(Pull, Now), Yes(Bare, Now)],
        &[],
        APPLIES,
    ),
    (
        "a bare approval before our request",
        &[Yes(Bare, Now), Ask(Pull, Now)],
        &[],
        WAITS,
    ),
    (
        "a bare approval of what another asked for",
        &[Ask(Other, Before), Ask(Pull, Now), Yes(Bare, Before)],
        &[],
        WAITS,
    ),
    (
        "a bare approval of what both asked for",
        &[Ask(Other, Now), Ask(Pull, Now), Yes(Bare, Now)],
        &[],
        APPLIES,
    ),
    (
        "a bare approval of what nobody asked for",
        &[Ask(Pull, Now), Yes(Bare, Before)],
        &[],
        "refuse: app+db",
    ),
    (
        "an approval without a digest",
        &[Ask(Pull, Now), Yes(Pull, NoDigest)],
        &[],
        WAITS,
    ),
    (
        "a newer approval without a digest",
        &[Yes(Pull, Now), Yes(Pull, NoDigest)],
        &[],
        APPLIES,
    ),
    // Damage.
    (
        "a broken line after the approval",
        &[Yes(Pull, Now), Broken],
        &[],
        ASKS,
    ),
    (
        "a broken line before the approval",
        &[Broken, Yes(Pull, Now)],
        &[],
        APPLIES,
    ),
    (
        "a broken line after a used approval",
        &[Yes(Pull, Now), Broken],
        &[Spent(Pull, 1)],
        ASKS,
    ),
    // One request a digest.
    ("our request stands", &[Ask(Commit, Now)], &[], WAITS),
    ("our request has expired", &[Expired(Pull, Now)], &[], ASKS),
    (
        "approved after the request expired",
        &[Expired(Pull, Now), Yes(Pull, Now)],
        &[],
        APPLIES,
    ),
    (
        "our request is not the gate's newest",
        &[Ask(Pull, Now), Ask(Other, Now)],
        &[],
        ASKS,
    ),
    (
        "the request is another rollout's",
        &[Ask(Other, Now)],
        &[],
        ASKS,
    ),
    // The newest approval decides.
    (
        "a newer approval of other plans",
        &[Ask(Pull, Before), Yes(Pull, Now), Yes(Pull, Before)],
        &[],
        REFUSES,
    ),
    (
        "a newer approval of these plans",
        &[Ask(Pull, Before), Yes(Pull, Before), Yes(Pull, Now)],
        &[],
        APPLIES,
    ),
    (
        "reverting does not wake an old approval",
        &[Ask(Pull, Now), Yes(Pull, Now), Ask(Pull, Before)],
        &[],
        ASKS,
    ),
    // Other plans, unused: refused. Used: waits.
    (
        "plans moved after the approval",
        &[Ask(Pull, Before), Yes(Pull, Before)],
        &[],
        REFUSES,
    ),
    (
        "the approved plans were applied",
        &[Ask(Pull, Before), Yes(Pull, Before)],
        &[Spent(Pull, 2), Ended(2)],
        OTHER_USED,
    ),
    (
        "the approved plans were applied by another",
        &[Ask(Pull, Before), Yes(Pull, Before)],
        &[Spent(Other, 2)],
        OTHER_USED,
    ),
    (
        "they were applied under an older approval",
        &[Yes(Pull, Before), Yes(Pull, Before)],
        &[Spent(Pull, 1), Ended(1)],
        OTHER_USED,
    ),
    // These plans, used.
    (
        "used to its end",
        &[Ask(Pull, Now), Yes(Pull, Now)],
        &[Spent(Pull, 2), Ended(2)],
        USED,
    ),
    (
        "used by another rollout",
        &[Yes(Bare, Now)],
        &[Spent(Other, 1)],
        USED,
    ),
    (
        "used by another tool",
        &[Yes(Bare, Now)],
        &[Spent(Bare, 1)],
        USED,
    ),
    (
        "used by us and by another",
        &[Yes(Pull, Now)],
        &[Spent(Pull, 1), Spent(Other, 1)],
        USED,
    ),
    (
        "approved again after it was used",
        &[Yes(Pull, Now), Yes(Pull, Now)],
        &[Spent(Pull, 1), Ended(1)],
        APPLIES,
    ),
    // A use that did not end well goes on.
    (
        "its use never ended",
        &[Ask(Pull, Now), Yes(Pull, Now)],
        &[Spent(Commit, 2)],
        "apply app+db",
    ),
    (
        "the use of a rollout it took over never ended",
        &[Yes(Pull, Now)],
        &[Spent(TakenOver, 1)],
        "apply app+db",
    ),
    (
        "its use failed before anything applied",
        &[Yes(Pull, Now)],
        &[Spent(Pull, 1), Failed(1, &[])],
        "apply app+db",
    ),
    (
        "a member applied and plans again",
        &[Yes(Pull, Now)],
        &[Spent(Pull, 1), Failed(1, &["app"])],
        "apply db",
    ),
    (
        "it failed twice, once a member",
        &[Yes(Pull, Now)],
        &[Spent(Pull, 1), Failed(1, &["app"]), Failed(1, &["db"])],
        "nothing",
    ),
    (
        "it failed and then went to its end",
        &[Yes(Pull, Now)],
        &[Spent(Pull, 1), Failed(1, &["app"]), Ended(1)],
        USED,
    ),
    (
        "what is left plans something else",
        &[Yes(Pull, Before)],
        &[Spent(Pull, 1), Failed(1, &["db"])],
        "wait: left moved, asks",
    ),
    (
        "what is left plans as approved",
        &[Yes(Pull, Before)],
        &[Spent(Pull, 1), Failed(1, &["app"])],
        "apply db",
    ),
    (
        "a newer approval ends a failed use",
        &[Yes(Pull, Before), Yes(Pull, Now)],
        &[Spent(Pull, 1), Failed(1, &[])],
        APPLIES,
    ),
];

#[test]
fn the_table_holds_under_every_policy() {
    for (name, gates, uses, expected) in TABLE {
        let facts = facts(gates, uses);
        for mode in [Mode::Ledger, Mode::PrReview] {
            for policy in POLICIES {
                let question = Question::new(destroying(), facts.clone()).under(policy, mode);
                let expected = match policy {
                    Policy::Always | Policy::OnDestructive => *expected,
                    Policy::Never => "apply app+db",
                };
                assert_eq!(
                    words(&question.decide()),
                    expected,
                    "{name} under {policy:?}"
                );
            }
        }
    }
}

#[test]
fn plans_that_destroy_nothing_wait_only_under_always() {
    for (name, gates, uses, expected) in TABLE {
        for policy in POLICIES {
            let question = Question::new(harmless(), facts(gates, uses));
            let expected = match policy {
                Policy::Always => *expected,
                Policy::OnDestructive | Policy::Never => "apply app+db",
            };
            let decision = question.under(policy, Mode::Ledger).decide();
            assert_eq!(words(&decision), expected, "{name} under {policy:?}");
        }
    }
}

#[test]
fn plans_that_change_nothing_never_wait() {
    for (name, gates, uses, _) in TABLE {
        for (policy, mode) in POLICIES.into_iter().zip(MODES) {
            let question = Question::new(idle(), facts(gates, uses)).under(policy, mode);
            assert_eq!(question.decide(), Decision::Nothing, "{name}");
        }
    }
}

#[test]
fn under_sealed_nothing_counts_yet() {
    for (name, gates, uses, _) in TABLE {
        let question = Question::new(destroying(), facts(gates, uses));
        let decision = question.under(Policy::Always, Mode::Sealed).decide();
        assert!(words(&decision).starts_with("wait: sealed"), "{name}");
    }
}

#[test]
fn an_output_that_changes_is_a_change() {
    let mut plan = plan("app", '1', &[]);
    plan.subject.outputs.push(crate::core::plan::OutputChange {
        name: "url".to_owned(),
        actions: vec![Action::Update],
        before: Value::Null,
        after: Value::Null,
    });
    let question = Question::new(vec![run(plan)], facts(&[], &[]));
    assert_eq!(
        words(&question.under(Policy::Always, Mode::Ledger).decide()),
        ASKS
    );
}

#[test]
fn a_run_without_a_digest_never_applies() {
    let failed = Run::Failed {
        root: root("old"),
        why: "no".to_owned(),
        detail: String::new(),
    };
    let deferred = Run::Deferred {
        root: root("new"),
        waits_for: vec![root("app")],
    };
    let approved = facts(&[Ask(Pull, Now), Yes(Pull, Now)], &[]);
    for policy in POLICIES {
        for (extra, expected) in [
            (vec![failed.clone()], "fail"),
            (vec![deferred.clone()], "wait: deferred"),
            (vec![failed.clone(), deferred.clone()], "fail"),
        ] {
            let mut runs = destroying();
            runs.extend(extra);
            let question = Question::new(runs, approved.clone()).under(policy, Mode::Ledger);
            assert_eq!(words(&question.decide()), expected, "{policy:?}");
        }
    }
}

#[test]
fn plans_that_are_not_the_waves_decide_nothing() {
    let approved = facts(&[Ask(Pull, Now), Yes(Pull, Now)], &[]);
    let question =
        || Question::new(destroying(), approved.clone()).under(Policy::Never, Mode::Ledger);
    let mut missing = question();
    missing.members.push(root("zoo"));
    let mut strange = question();
    strange.members.pop();
    let mut twice = question();
    twice.runs.push(run(plan("app", '9', &[Action::Create])));
    for question in [missing, strange, twice] {
        assert_eq!(words(&question.decide()), "fail");
    }
}

#[test]
fn what_is_cleared_is_what_was_sent() {
    let decision = Question::new(destroying(), facts(&[Yes(Pull, Now)], &[])).decide();
    let Decision::Apply { clearance, by, .. } = decision else {
        panic!("{decision:?}");
    };
    let sent: Vec<_> = clearance
        .members
        .iter()
        .map(|it| it.subject_sha256.as_str())
        .collect();
    assert_eq!(sent, ["sent-app-1", "sent-db-2"]);
    assert_eq!(clearance.set, set_digest(&members(Now)).unwrap());
    assert_eq!(clearance.use_id.as_deref(), Some("ask-1/use"));
    assert_eq!(by.as_deref(), Some("github:ada"));
}

#[test]
fn what_went_before_is_left_alone_under_the_old_use() {
    let uses = [Spent(Pull, 1), Failed(1, &["app"])];
    let decision = Question::new(destroying(), facts(&[Yes(Pull, Now)], &uses)).decide();
    let Decision::Apply { clearance, .. } = decision else {
        panic!("{decision:?}");
    };
    assert_eq!(clearance.left_alone, [root("app")]);
    assert_eq!(clearance.use_id.as_deref(), Some("use"));
}

#[test]
fn a_use_names_the_approval_and_all_that_applies_under_it() {
    let decision = Question::new(destroying(), facts(&[Yes(Bare, Now)], &[])).decide();
    let Decision::Apply {
        spend: Some(spend), ..
    } = decision
    else {
        panic!("{decision:?}");
    };
    assert_eq!(
        (spend.approved_at.as_str(), spend.members),
        (time(1).as_str(), members(Now))
    );
    assert_eq!((spend.commit, spend.pr), (sha('c'), Some(PullNumber(12))));
}

#[test]
fn asking_again_with_the_facts_written_goes_on() {
    let gates = [Yes(Pull, Now)];
    let first = Question::new(destroying(), facts(&gates, &[])).decide();
    let Decision::Apply {
        spend: Some(spend), ..
    } = first
    else {
        panic!("{first:?}");
    };
    let written = Facts::read(
        &Op::tf_apply(),
        &gate_line(1, gates[0]),
        &Fact::Use(spend).line(),
    );
    let again = Question::new(destroying(), written).decide();
    assert_eq!(words(&again), "apply app+db");
}

#[test]
fn a_request_written_is_the_request_that_stands() {
    let first = Question::new(destroying(), facts(&[], &[])).decide();
    let Decision::Wait {
        pending: Some(pending),
        ..
    } = first
    else {
        panic!("{first:?}");
    };
    let written = Facts::read(&Op::tf_apply(), &Fact::Pending(pending).line(), "");
    assert_eq!(words(&Question::new(destroying(), written).decide()), WAITS);
}

#[test]
fn a_refusal_names_each_member_that_moved_and_both_digests() {
    let gates = [Ask(Pull, Before), Yes(Pull, Before)];
    let decision = Question::new(destroying(), facts(&gates, &[])).decide();
    let Decision::Refuse { moved, pending, .. } = decision else {
        panic!("{decision:?}");
    };
    let moved_of = |name: &str, approved: Option<char>, now: Option<char>| Moved {
        root: root(name),
        approved: approved.map(digest),
        now: now.map(digest),
    };
    let expected = [
        moved_of("app", Some('9'), Some('1')),
        moved_of("old", Some('8'), None),
    ];
    assert_eq!(moved, expected);
    assert_eq!(pending.digest, set_digest(&members(Now)).unwrap());
}

#[test]
fn every_reason_to_wait_is_a_sentence() {
    let by = || "github:ada".to_owned();
    let moved = Moved {
        root: root("app"),
        approved: None,
        now: None,
    };
    let reasons = [
        (
            Why::Deferred(vec![root("app"), root("db")]),
            "`app`, `db` cannot be planned before what it reads has applied.",
        ),
        (Why::NotApproved, "Nobody has approved these plans yet."),
        (
            Why::UsedUp { by: by() },
            "The approval of these plans by github:ada was used already; one approval is one application.",
        ),
        (
            Why::OtherUsed {
                approved: digest('a'),
                by: by(),
            },
            "The newest approval (aaaaaaaaaaaa, by github:ada) is of other plans, which were applied.",
        ),
        (
            Why::LeftMoved {
                by: by(),
                moved: vec![moved],
            },
            "What is left of the wave that github:ada approved plans something else now: `app`.",
        ),
        (
            Why::Sealed,
            "Only sealed approvals count here, and this version cannot verify a seal yet, so none counts.",
        ),
    ];
    for (why, sentence) in reasons {
        assert_eq!(why.to_string(), sentence);
    }
}

fn any_who() -> impl Strategy<Value = Who> {
    prop::sample::select(vec![Pull, Commit, TakenOver, Other, Bare])
}

fn any_what() -> impl Strategy<Value = What> {
    prop::sample::select(vec![Now, Before, Else, NoDigest])
}

fn any_gates() -> impl Strategy<Value = Vec<Row>> {
    let row = prop_oneof![
        3 => (any_who(), any_what()).prop_map(|(who, what)| Ask(who, what)),
        1 => (any_who(), any_what()).prop_map(|(who, what)| Expired(who, what)),
        5 => (any_who(), any_what()).prop_map(|(who, what)| Yes(who, what)),
        1 => Just(Broken),
    ];
    prop::collection::vec(row, 1..9)
}

/// Uses of lines that exist.
fn any_ledger() -> impl Strategy<Value = (Vec<Row>, Vec<Use1>)> {
    any_gates().prop_flat_map(|gates| {
        let last = gates.len();
        let applied = prop::sample::select(vec![&[][..], &["app"], &["db"]]);
        let row = prop_oneof![
            (any_who(), 1..=last).prop_map(|(who, at)| Spent(who, at)),
            (1..=last).prop_map(Ended),
            (1..=last, applied).prop_map(|(at, members)| Failed(at, members)),
        ];
        (Just(gates), prop::collection::vec(row, 0..5))
    })
}

fn any_policy() -> impl Strategy<Value = Policy> {
    prop::sample::select(POLICIES.to_vec())
}

fn text_of(gates: &[Row]) -> Vec<String> {
    gates
        .iter()
        .enumerate()
        .map(|(at, row)| gate_line(at + 1, *row))
        .collect()
}

proptest! {
    #[test]
    fn an_approval_never_counts_for_another_digest((gates, uses) in any_ledger()) {
        let question = Question::new(destroying(), facts(&gates, &uses));
        if let Decision::Apply { spend: Some(spend), .. } = question.decide() {
            prop_assert!(spend.digest.is_same(&set_digest(&members(Now)).unwrap()));
        }
    }

    #[test]
    fn nothing_applies_without_an_approval_of_exactly_what_applies((gates, uses) in any_ledger()) {
        let question = Question::new(destroying(), facts(&gates, &uses));
        if let Decision::Apply { clearance, .. } = question.decide() {
            let approved = gates.iter().filter_map(|it| match it {
                Yes(Other, _) | Ask(..) | Expired(..) | Broken => None,
                Yes(_, what) => Some(members(*what)),
            });
            let all = members(Now);
            let applies: Vec<_> = all
                .iter()
                .filter(|it| clearance.members.iter().any(|cleared| cleared.root == it.member))
                .collect();
            let covers = |set: &Vec<Member>| applies.iter().all(|it| set.contains(it));
            prop_assert!(approved.into_iter().any(|set| covers(&set)));
        }
    }

    #[test]
    fn never_never_waits_and_nothing_never_waits((gates, uses) in any_ledger(), policy in any_policy()) {
        let facts = facts(&gates, &uses);
        let never = Question::new(destroying(), facts.clone()).under(Policy::Never, Mode::Ledger);
        let applies = matches!(never.decide(), Decision::Apply { .. });
        prop_assert!(applies);
        let idle = Question::new(idle(), facts).under(policy, Mode::Ledger);
        prop_assert_eq!(idle.decide(), Decision::Nothing);
    }

    #[test]
    fn facts_of_other_gates_play_no_part((gates, uses) in any_ledger(), others in any_gates(), at in 0usize..9) {
        let mine = facts(&gates, &uses);
        // Damage is placed by line, so compare ledgers without any.
        prop_assume!(mine.complaints.is_empty());
        let elsewhere = others.into_iter().filter(|it| !matches!(it, Broken));
        let mut lines = text_of(&gates);
        let at = at.min(lines.len());
        for line in text_of(&elsewhere.collect::<Vec<_>>()) {
            lines.insert(at, line.replace("\"wave-2\"", "\"wave-3\""));
        }
        let mut both = mine.clone();
        both.lines = Facts::read(&Op::tf_apply(), &lines.join("\n"), "").lines;
        let alone = Question::new(destroying(), mine).decide();
        prop_assert_eq!(Question::new(destroying(), both).decide(), alone);
    }

    #[test]
    fn only_the_order_of_lines_counts_and_no_clock((gates, uses) in any_ledger()) {
        let mine = facts(&gates, &uses);
        let mut skewed = mine.clone();
        // Every clock goes backwards: the later a line stands, the older it says it is.
        let skew = |text: &str| {
            let time: Timestamp = text.parse().unwrap();
            Timestamp::from_second(4_000_000_000 - time.as_second()).unwrap().to_string()
        };
        for line in &mut skewed.lines {
            line.timestamp = skew(&line.timestamp);
        }
        for line in &mut skewed.uses {
            line.timestamp = skew(&line.timestamp);
            line.approved_at = skew(&line.approved_at);
        }
        for line in &mut skewed.ends {
            line.applied = skew(&line.applied);
        }
        let now = words(&Question::new(destroying(), mine).decide());
        prop_assert_eq!(words(&Question::new(destroying(), skewed).decide()), now);
    }

    #[test]
    fn a_decision_does_not_depend_on_the_order_of_runs((gates, uses) in any_ledger(), by in 0usize..3) {
        let facts = facts(&gates, &uses);
        let mut runs = destroying();
        runs.rotate_left(by);
        let (one, other) = (Question::new(destroying(), facts.clone()), Question::new(runs, facts));
        let moved = |question: &Question| match question.decide() {
            Decision::Nothing => None,
            Decision::Apply { clearance, .. } => Some(clearance.set),
            Decision::Wait { digest, .. } => digest,
            Decision::Refuse { digest, .. } => Some(digest),
            Decision::Fail { why } => panic!("{why}"),
        };
        prop_assert_eq!(moved(&one), moved(&other));
    }
}
