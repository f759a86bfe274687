//! The notes as people read them, one golden file a case; open them on a forge to see what people see.

mod samples;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};

use super::*;
use crate::core::effect::StatusState;
use crate::core::ids::{Gate, RepoId};
use crate::core::job::{Applied, Moved};
use crate::core::note::fit::chars;
use crate::core::plan::Plan;
use crate::core::refusal::Refusal;
use crate::core::rollout::{Unplanned, WaveState};
use samples::*;

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
    let why = "tidegate.yml:3:5: waves.canery: unknown key; did you mean `canary`?".to_owned();
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

#[test]
fn statuses_say_it_in_one_line() {
    use crate::core::effect::StatusState::{Failure, Pending, Success};
    let mut failed = open_case();
    failed.without_plan("database", ("x", ""));
    let mut fork = Case::new(Planning::Not { why: String::new() });
    fork.memory.details.head_repo = None;
    let cases: [(&str, Case, (StatusState, &str), (StatusState, &str)); 7] = [
        (
            "open",
            open_case(),
            (
                Success,
                "4 roots in 3 waves: replaces 1, updates 2, creates 1, changes 1 output, 1 unchanged",
            ),
            (
                Success,
                "applies after the merge; wave-1 will wait for an approval",
            ),
        ),
        (
            "failed",
            failed,
            (Failure, "1 of 4 roots could not be planned: database"),
            (
                Success,
                "applies after the merge; wave-1 will wait for an approval",
            ),
        ),
        (
            "nothing",
            Case::planned(survey(&[], &[]), Vec::new()),
            (Success, "this change reaches no root"),
            (Success, "nothing to apply"),
        ),
        (
            "running",
            Case::new(Planning::Running { head: sha('3') }),
            (Pending, "planning"),
            (Success, "applies after the merge"),
        ),
        (
            "fork",
            fork,
            (Failure, "not planned: the commits are in a fork"),
            (Success, "applies after the merge"),
        ),
        (
            "waits",
            Case::rolled_out(vec![
                wave(1, vec![network()], applied("x")),
                wave(2, vec![network()], waits()),
            ]),
            (Pending, "planning"),
            (Pending, "wave-2 waits: /approve wave-2"),
        ),
        (
            "done",
            Case::rolled_out(vec![
                wave(1, vec![network()], applied("x")),
                wave(2, vec![], WaveState::Nothing),
            ]),
            (Pending, "planning"),
            (Success, "applied: 1 wave, 1 had nothing to do"),
        ),
    ];
    for (name, case, plan, apply) in cases {
        let status = status::of_plan(&case.input());
        assert_eq!((status.state, status.description.as_str()), plan, "{name}");
        let status = status::of_apply(&case.input());
        assert_eq!((status.state, status.description.as_str()), apply, "{name}");
    }
}

#[test]
fn what_is_finished_is_never_pending() {
    let ends = [
        WaveState::Nothing,
        applied("x"),
        WaveState::Failed { why: String::new() },
        WaveState::Lost { why: String::new() },
        WaveState::Refused {
            digest: None,
            moved: Vec::new(),
        },
        WaveState::Cancelled,
        WaveState::StoodDown,
    ];
    for state in ends {
        let case = Case::rolled_out(vec![
            wave(1, vec![network()], state.clone()),
            wave(2, Vec::new(), WaveState::NotStarted),
        ]);
        let stopped = !matches!(state, WaveState::Nothing | WaveState::Applied { .. });
        let status = status::of_apply(&case.input()).state;
        assert_eq!(status != StatusState::Pending, stopped, "{state:?}");
        let case = Case::rolled_out(vec![wave(1, vec![network()], state.clone())]);
        assert_ne!(
            status::of_apply(&case.input()).state,
            StatusState::Pending,
            "{state:?}"
        );
    }
}

/// What holds for every note: it fits, folds and fences and tables are closed, and nobody is mentioned.
fn check_shape(text: &str, max_chars: usize) -> Result<(), String> {
    if chars(text) > max_chars {
        return Err(format!("{} characters of {max_chars}", chars(text)));
    }
    if !text.starts_with(MARKER) {
        return Err("no marker".to_owned());
    }
    let mut html = String::new();
    let mut inside_code = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Html(it) | Event::InlineHtml(it) => html.push_str(&it),
            Event::Start(Tag::CodeBlock(_)) => inside_code = true,
            Event::End(TagEnd::CodeBlock) => inside_code = false,
            Event::Start(Tag::Image { .. }) => return Err("an image".to_owned()),
            Event::Start(Tag::Link { dest_url, .. }) if *dest_url != *PAGE => {
                return Err(format!("a link to {dest_url}"));
            }
            Event::Start(Tag::Heading { .. }) if text.matches("\n### ").count() != 1 => {
                return Err("a heading of somebody else's".to_owned());
            }
            Event::Text(it) if !inside_code => is_quiet(&it)?,
            _ => {}
        }
    }
    tables_are_whole(text)?;
    let html = html.replace(MARKER, "");
    let tags: Vec<&str> = html
        .split('<')
        .skip(1)
        .filter_map(|it| it.split(['>', ' ']).next())
        .collect();
    let ours = [
        "details", "/details", "summary", "/summary", "code", "/code",
    ];
    if let Some(other) = tags.iter().find(|it| !ours.contains(it)) {
        return Err(format!("an element of somebody else's: {other}"));
    }
    for element in ["details", "summary", "code"] {
        let count = |name: &str| tags.iter().filter(|it| **it == name).count();
        if count(element) != count(&format!("/{element}")) {
            return Err(format!("{element} is not closed"));
        }
    }
    Ok(())
}

/// Every line of a table has as many cells as its head: the wave table five, that of what moved three.
fn tables_are_whole(text: &str) -> Result<(), String> {
    let mut fence = None;
    for line in text.lines() {
        let marks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if marks == open && line.len() == marks => fence = None,
            None if marks >= 3 => fence = Some(marks),
            None if line.starts_with('|') => {
                let bars = line.replace("\\|", "").matches('|').count();
                if bars != 6 && bars != 4 {
                    return Err(format!("a broken line of a table: {line}"));
                }
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

fn is_quiet(text: &str) -> Result<(), String> {
    let mentions = text.match_indices(['@', '#']);
    for (at, sign) in mentions {
        let next = text[at + 1..].chars().next();
        if next.is_some_and(char::is_alphanumeric) {
            return Err(format!("{sign} followed by {next:?} in {text:?}"));
        }
    }
    if text.contains("://") {
        return Err(format!("an address in {text:?}"));
    }
    Ok(())
}

fn nasty() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "\\PC{0,12}",
        Just("```\n".to_owned()),
        Just("~~~\n".to_owned()),
        Just("</details>\n\n".to_owned()),
        Just("<!-- ".to_owned()),
        Just("@acme/admins ".to_owned()),
        Just("#12 https://evil.example www.evil.example".to_owned()),
        Just("\n# heading\n".to_owned()),
        Just("\n| a | b |\n|---|---|\n".to_owned()),
        Just("\u{1b}[31m\0\r\n\t".to_owned()),
        Just("🚀".repeat(50)),
        Just("` `` ".to_owned()),
        Just("![x](http://x) [x]: /y".to_owned()),
    ];
    proptest::collection::vec(word, 0..6).prop_map(|it| it.concat())
}

fn nasty_root() -> impl Strategy<Value = String> {
    "[a-z`|<>@#\\[\\]*_~&! é]{1,12}".prop_filter("a root", |it| {
        crate::core::ids::Root::try_from(it.as_str()).is_ok()
    })
}

fn nasty_case() -> impl Strategy<Value = Case> {
    let roots = proptest::collection::btree_map(nasty_root(), (nasty(), nasty(), 0..5_u8), 1..12);
    (roots, nasty(), 2_500..20_000_usize, 1..4_usize).prop_map(|(roots, text, max_chars, width)| {
        let names: Vec<&str> = roots.keys().map(String::as_str).collect();
        let waves: Vec<&[&str]> = names.chunks(width).collect();
        let plans = roots.iter().map(|(name, (key, value, kind))| {
            let (before, after) = (
                json!({ key: [value, {"$number": "1"}] }),
                json!({ key: value, "x": {"$hmac": value} }),
            );
            let changes = match kind {
                0 => Vec::new(),
                1 => vec![create(key, after)],
                2 => vec![update(key, before, after)],
                3 => vec![replace(key, before, after), destroy(value, json!(null))],
                _ => vec![destroy(key, before)],
            };
            plan(name, changes)
                .remarked(Some(key), value)
                .remarked(None, key)
                .with_output(key, json!(value), json!(null))
        });
        let mut case = Case::planned(
            survey(&waves, &[(names[names.len() - 1], &names[..1])]),
            plans.collect(),
        );
        case.without_plan(names[0], (&text, &text));
        case.radius.changed = names.iter().map(|it| root(it)).collect();
        case.radius.downstream = names.iter().map(|it| downstream(it, 3, &names)).collect();
        case.approved.insert(WaveNumber(2), vec![text]);
        case.max_chars = max_chars;
        case
    })
}

fn nasty_wave_state() -> impl Strategy<Value = WaveState> {
    (nasty(), 0..11_u8, nasty_root()).prop_map(|(text, kind, name)| {
        let digest = digest(&text);
        match kind {
            0 => WaveState::NotStarted,
            1 => WaveState::Planning,
            2 => WaveState::Waiting {
                digest: Some(digest),
                why: text,
            },
            3 => WaveState::Applying {
                digest,
                by: Some(text),
            },
            4 => WaveState::Applied {
                digest,
                by: Some(text),
            },
            5 => WaveState::Nothing,
            6 => WaveState::Refused {
                digest: None,
                moved: vec![Moved {
                    root: root(&name),
                    approved: Some(digest.clone()),
                    now: None,
                }],
            },
            7 => WaveState::Failed { why: text },
            8 => WaveState::Lost { why: text },
            9 => WaveState::Cancelled,
            _ => WaveState::StoodDown,
        }
    })
}

proptest! {
    #[test]
    fn every_plan_note_keeps_its_shape(case in nasty_case()) {
        let note = case.note();
        prop_assert_eq!(check_shape(&note.text, case.max_chars), Ok(()), "{}", note.text);
        prop_assert!(status::of_plan(&case.input()).description.chars().count() <= 140);
    }

    #[test]
    fn every_rollout_note_keeps_its_shape(states in proptest::collection::vec((nasty_wave_state(), nasty_root(), nasty()), 1..8)) {
        let waves = (1..).zip(states).map(|(number, (state, name, text))| {
            let mut wave = wave(number, vec![plan(&name, vec![destroy(&text, json!({"a": text}))])], state);
            wave.unplanned.push(Unplanned { root: root(&name), why: text.clone(), detail: text.clone() });
            wave.applied.push(Applied { root: root(&name), error: Some(text.clone()) });
            wave
        });
        let mut case = Case::rolled_out(waves.collect());
        case.max_chars = 6_000;
        let note = case.note();
        prop_assert_eq!(check_shape(&note.text, case.max_chars), Ok(()), "{}", note.text);
        prop_assert!(status::of_apply(&case.input()).description.chars().count() <= 140);
    }
}
