//! The notes as people read them, one golden file a case; open them on a forge to see what people see.

mod samples;
mod shape;
mod statuses;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::core::estate::address::StateAddress;
use crate::core::ids::{Gate, RepoId};
use crate::core::job::{Applied, Moved};
use crate::core::note::fit::chars;
use crate::core::plan::Plan;
use crate::core::plan::op::Told;
use crate::core::refusal::Refusal;
use crate::core::rollout::WaveState;
use samples::*;
use shape::check_shape;

/// Compares a text with `tests/notes/<name>.md`; `TIDEGATE_BLESS=1` writes it instead.
fn check_golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/notes/{name}.md"));
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        fs::write(&file, text).unwrap();
    }
    let wanted = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        text == wanted,
        "{} differs; the note is now:\n{text}",
        file.display()
    );
}

/// Checks a note against its golden file, and against what holds for every note.
fn check_note(name: &str, case: &Case) -> Note {
    let note = case.note();
    check_golden(name, &note.text);
    check_shape(&note.text, case.max_chars).unwrap();
    note
}

fn network() -> Plan {
    plan(
        "network",
        vec![
            replace(
                "terraform_data.subnet[\"a\"]",
                json!({"input": {"cidr": "10.1.0.0/24", "zone": "a"}, "triggers_replace": ["v1"], "id": "7c1e"}),
                json!({"input": {"cidr": "10.2.0.0/24", "zone": "a"}, "triggers_replace": ["v2"], "id": {"$unknown": true}}),
            ),
            update(
                "terraform_data.vpc",
                json!({"input": {"cidr": "10.1.0.0/16", "env": "dev", "secret": {"$hmac": "aa"}}, "output": {"cidr": "10.1.0.0/16"}}),
                json!({"input": {"cidr": "10.2.0.0/16", "env": "dev", "secret": {"$hmac": "bb"}}, "output": {"$unknown": true}}),
            ),
        ],
    )
    .remarked(
        Some("terraform_data.subnet[\"a\"]"),
        "`triggers_replace` forces a replacement",
    )
    .with_output("cidr", json!("10.1.0.0/16"), json!("10.2.0.0/16"))
}

fn database() -> Plan {
    plan(
        "database",
        vec![update(
            "terraform_data.instance[\"orders\"]",
            json!({"input": {"allow": ["10.1.0.0/24"], "size": {"$number": "3"}}}),
            json!({"input": {"allow": ["10.1.0.0/24", "10.2.0.0/24"], "size": {"$number": "5"}}}),
        )],
    )
}

fn app() -> Plan {
    plan(
        "app",
        vec![create(
            "terraform_data.deploy",
            json!({"input": "release-2", "id": {"$unknown": true}}),
        )],
    )
}

fn unchanged(name: &str) -> Plan {
    plan(name, Vec::new())
}

fn three_waves() -> crate::core::estate::Survey {
    survey(
        &[&["network", "identity"], &["database"], &["app"]],
        &[("database", &["network"]), ("app", &["database"])],
    )
}

fn open_case() -> Case {
    let mut case = Case::planned(
        three_waves(),
        vec![app(), database(), unchanged("identity"), network()],
    );
    case.radius = Radius {
        changed: vec![root("app"), root("database"), root("network")],
        downstream: vec![
            downstream("edge", 4, &["app"]),
            crate::core::estate::radius::Downstream {
                planned: false,
                depth: 2,
                ..downstream("monitoring", 4, &["edge", "app"])
            },
        ],
    };
    case
}

#[test]
fn a_plan_without_destroys() {
    let mut case = Case::planned(
        three_waves(),
        vec![
            unchanged("network"),
            unchanged("identity"),
            database(),
            app(),
        ],
    );
    case.sets.insert(WaveNumber(1), None);
    let note = check_note("plan-clean", &case);
    assert_eq!(note.asks, []);
}

#[test]
fn a_plan_of_no_change() {
    let plans = ["network", "identity", "database", "app"].map(unchanged);
    check_note(
        "plan-unchanged",
        &Case::planned(three_waves(), plans.into()),
    );
}

#[test]
fn a_plan_that_replaces_asks_and_shows_its_radius() {
    let note = check_note("plan-replaces", &open_case());
    let asks: Vec<(&str, bool)> = note
        .asks
        .iter()
        .map(|it| (it.gate.as_str(), it.digest == digest("set 1")))
        .collect();
    assert_eq!(asks, [("wave-1", true)]);
}

#[test]
fn a_plan_under_a_gate_that_always_asks() {
    let mut case = open_case();
    case.allowed.gate = crate::core::gate::Policy::Always;
    case.allowed.approval.author = true;
    case.allowed.spelling = crate::core::command::Spelling::Prefixed;
    case.approved
        .insert(WaveNumber(1), vec!["github:grace".to_owned()]);
    let note = check_note("plan-always", &case);
    let gates: Vec<&str> = note.asks.iter().map(|it| it.gate.as_str()).collect();
    assert_eq!(gates, ["wave-2", "wave-3"]);
}

#[test]
fn a_merge_into_another_branch_asks_for_nothing_and_says_so() {
    let case = open_case().elsewhere();
    let note = check_note("plan-elsewhere", &case);
    assert_eq!(note.asks, []);
    let status = status::of_apply(&case.input());
    assert_eq!(
        status.description,
        "nothing: next is not the default branch"
    );
}

#[test]
fn a_root_that_fails_is_in_the_open() {
    let mut case = open_case();
    let detail = "╷\n│ Error: Unsupported argument\n│\n│   on main.tf line 7, in resource \"terraform_data\" \"instance\":\n│    7:   imput = 3\n│\n│ An argument named \"imput\" is not expected here. Did you mean \"input\"?\n╵\n";
    case.without_plan(
        "database",
        ("Unsupported argument: on main.tf line 7", detail),
    );
    case.without_plan("app", ("waits for `database`, which has never applied", ""));
    case.sets.insert(WaveNumber(2), None);
    case.sets.insert(WaveNumber(3), None);
    check_note("plan-failed-root", &case);
}

#[test]
fn a_plan_that_destroys_a_whole_root() {
    let mut gone = plan(
        "storage",
        vec![
            destroy(
                "aws_s3_bucket.logs",
                json!({"bucket": "acme-logs", "force_destroy": false}),
            ),
            destroy("aws_s3_bucket.media", json!({"bucket": "acme-media"})),
        ],
    );
    gone.subject.mode = crate::core::plan::Mode::Destroy;
    check_note(
        "plan-destroys",
        &Case::planned(survey(&[&["storage"]], &[]), vec![gone]),
    );
}

#[test]
fn runs_of_own_commands_say_what_their_commands_said() {
    let plans = vec![
        told(
            "network",
            Told {
                digest: digest("one"),
                destructive: true,
                empty: false,
            },
        ),
        told(
            "identity",
            Told {
                digest: digest("two"),
                destructive: true,
                empty: true,
            },
        ),
        told(
            "database",
            Told {
                digest: digest("three"),
                destructive: false,
                empty: false,
            },
        ),
        told(
            "app",
            Told {
                digest: digest("four"),
                destructive: false,
                empty: true,
            },
        ),
    ];
    check_note("plan-own-commands", &Case::planned(three_waves(), plans));
}

#[test]
fn a_fork_is_never_planned() {
    let mut case = Case::new(Planning::Not {
        why: "the head is in a fork".to_owned(),
    });
    case.memory.details.head_repo = Some(RepoId(8));
    check_note("fork", &case);
}

#[test]
fn nothing_reached_is_one_calm_sentence() {
    check_note(
        "nothing-reached",
        &Case::planned(survey(&[], &[]), Vec::new()),
    );
}

#[test]
fn a_root_that_is_taken_away_stands_in_the_open() {
    let state = |key: &str| StateAddress {
        backend: "s3".to_owned(),
        account: None,
        bucket: Some("acme".to_owned()),
        key: key.to_owned(),
    };
    let mut case = Case::planned(survey(&[], &[]), Vec::new());
    case.take_away(&[("edge", Some(state("edge"))), ("old/dns", None)]);
    check_note("taken-away", &case);
    let status = status::of_plan(&case.input());
    let said = "this change takes 2 roots away and destroys nothing of it";
    assert_eq!(status.description, said);

    let mut case = open_case();
    case.take_away(&[("edge", Some(state("@acme`</details>")))]);
    let note = case.note().text;
    check_shape(&note, case.max_chars).unwrap();
    assert!(note.contains("**Takes 1 root away"), "{note}");
    let status = status::of_plan(&case.input()).description;
    assert!(
        status.ends_with("; takes 1 root away and destroys nothing of it"),
        "{status}"
    );
}

#[test]
fn planning_has_a_note_too() {
    check_note("planning", &Case::new(Planning::Running { head: sha('3') }));
}

#[test]
fn planning_that_failed_says_how_to_try_again() {
    let why = "The job was lost: its lease ran out.".to_owned();
    check_note(
        "planning-failed",
        &Case::new(Planning::Failed {
            head: sha('3'),
            why,
        }),
    );
}

#[test]
fn rules_that_cannot_be_read_are_shown() {
    let why = "The rules at the base commit cannot be read, so nothing applies until they can:\n\
        tidegate.yml:1:1: gaet: unknown key; did you mean `gate`?\n\
        tidegate.yml:3:3: waves.canery: unknown key; did you mean `canary`?";
    let why = why.to_owned();
    check_note("not-planned", &Case::new(Planning::Not { why }));
}

fn applied(by: &str) -> WaveState {
    WaveState::Applied {
        digest: digest("set 1"),
        by: Some(by.to_owned()),
    }
}

fn waits() -> WaveState {
    WaveState::Waiting {
        digest: Some(digest("set 2")),
        why: "Its plans replace something, and the gate is `on-destructive`.".to_owned(),
    }
}

#[test]
fn a_wave_that_waits_says_why_and_how() {
    let waves = vec![
        wave(
            1,
            vec![database(), unchanged("identity")],
            WaveState::Applied {
                digest: digest("set 1"),
                by: None,
            },
        ),
        wave(2, vec![network()], waits()),
        wave(3, Vec::new(), WaveState::NotStarted),
    ];
    let mut case = Case::rolled_out(waves);
    case.rollout.as_mut().unwrap().waves[2].members = vec![root("app")];
    let note = check_note("rollout-waits", &case);
    assert_eq!(note.asks.len(), 1);
    assert_eq!(note.asks[0].gate, Gate::try_from("wave-2").unwrap());
}

#[test]
fn a_rollout_that_is_through_says_who_approved() {
    let waves = vec![
        wave(1, vec![network()], applied("github:grace")),
        wave(
            2,
            vec![database()],
            WaveState::Applied {
                digest: digest("set 2"),
                by: None,
            },
        ),
        wave(3, vec![unchanged("app")], WaveState::Nothing),
    ];
    let note = check_note("rollout-applied", &Case::rolled_out(waves));
    assert_eq!(note.asks, []);
}

#[test]
fn a_refused_wave_names_what_moved() {
    let moved = vec![
        Moved {
            root: root("network"),
            approved: Some(digest("old")),
            now: Some(network().digest),
        },
        Moved {
            root: root("dns"),
            approved: Some(digest("dns")),
            now: None,
        },
        Moved {
            root: root("identity"),
            approved: None,
            now: Some(digest("new")),
        },
    ];
    let state = WaveState::Refused {
        digest: Some(digest("set 2")),
        moved,
    };
    let mut refused = wave(2, vec![network()], state);
    refused.asked_plans = vec![plan(
        "network",
        vec![update(
            "terraform_data.vpc",
            json!({"input": 1}),
            json!({"input": 2}),
        )],
    )];
    check_note("rollout-refused", &Case::rolled_out(vec![refused]));
}

#[test]
fn a_lost_wave_says_how_to_run_it_again() {
    let lost = WaveState::Lost {
        why: "Its runner has not been heard of for 60 seconds.".to_owned(),
    };
    check_note(
        "rollout-lost",
        &Case::rolled_out(vec![wave(2, vec![network()], lost)]),
    );
}

#[test]
fn a_failed_wave_names_what_did_not_apply() {
    let failed = WaveState::Failed {
        why: "1 of 2 roots did not apply.".to_owned(),
    };
    let mut failed = wave(2, vec![database(), network()], failed);
    failed.applied = vec![
        Applied {
            root: root("network"),
            error: Some("Error: creating subnet: the range 10.2.0.0/24 is taken".to_owned()),
        },
        Applied {
            root: root("database"),
            error: None,
        },
    ];
    check_note("rollout-failed", &Case::rolled_out(vec![failed]));
}

#[test]
fn three_hundred_roots_fit() {
    let names: Vec<String> = (0..300)
        .map(|it| format!("envs/prod/tenant-{it:03}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let plans = names.iter().map(|name| {
        let tags = |version: u32| -> Value { json!({"tags": {"team": "payments", "version": version.to_string(), "text": "x".repeat(150)}}) };
        let mut changes: Vec<_> = (0..4).map(|it| update(&format!("aws_sqs_queue.jobs[{it}]"), tags(1), tags(2))).collect();
        if name.ends_with("00") {
            changes.push(destroy("aws_sqs_queue.old", tags(1)));
        }
        plan(name, changes)
    });
    let plans = plans.collect();
    let case = Case::planned(survey(&[&names[..1], &names[1..]], &[]), plans);
    let note = check_note("plan-300-roots", &case);
    assert!(chars(&note.text) > 60_000, "no more is cut than must be");
    assert_eq!(note.text.matches("aws_sqs_queue.old` in").count(), 3);
}

#[test]
fn hostile_text_stays_text() {
    let evil = "</details><img src=x> @acme/admins ```\n````\n# All checks passed\u{1b}[31m\0 | ![x](https://evil.example) #1";
    let root = "a`b|c<img>@acme";
    let mut hostile = plan(
        root,
        vec![
            replace(
                &format!("x.y[\"{evil}\"]"),
                json!({ evil: "a" }),
                json!({ evil: evil }),
            ),
            update(
                "x.z",
                json!({"policy": "p".repeat(300_000)}),
                json!({"policy": evil}),
            ),
        ],
    )
    .remarked(Some(&format!("x.y[\"{evil}\"]")), evil)
    .remarked(None, evil);
    hostile.subject.changes[0].deposed = Some(evil.to_owned());
    let mut case = Case::planned(
        survey(&[&[root, "other"], &["third"]], &[("third", &[root])]),
        vec![hostile],
    );
    case.without_plan("other", (evil, &format!("{evil}\r\n~~~~\n{evil}")));
    case.without_plan("third", (evil, ""));
    case.radius = Radius {
        changed: vec![samples::root(root)],
        downstream: vec![downstream(root, 2, &[root])],
    };
    case.approved.insert(WaveNumber(1), vec![evil.to_owned()]);
    check_note("hostile", &case);
}

#[test]
fn refusals_are_answered() {
    let refusals: Vec<Refusal> =
        crate::core::command::read("/aprove wave-2\n/apply –wave 1\n/plan `x` @acme/admins")
            .into_iter()
            .filter_map(Result::err)
            .collect();
    check_golden("reply-refused", &reply::refused(&refusals));
}

#[test]
fn help_is_made_from_the_table() {
    check_golden("help", &crate::core::command::help(&open_case().allowed));
}
