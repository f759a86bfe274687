//! What is a command, what is a refusal, and what is silence.

use proptest::prelude::*;

use super::*;
use crate::core::command::word::wave;

fn said(body: &str) -> Vec<String> {
    read(body)
        .into_iter()
        .map(|it| it.map_or_else(|no| format!("no: {no}"), |yes| yes.to_string()))
        .collect()
}

fn refusal(body: &str) -> Refusal {
    let mut read = read(body);
    assert_eq!(read.len(), 1, "{body:?}: {read:?}");
    read.remove(0).expect_err(body)
}

#[test]
fn every_verb_has_one_row() {
    for row in VERBS {
        assert_eq!(row.verb.row().word, row.word);
        assert_eq!(VERBS.iter().filter(|it| it.word == row.word).count(), 1);
    }
}

#[test]
fn each_form_is_read() {
    for line in [
        "/plan",
        "/plan network prod/app",
        "/plan .",
        "/plan Prod/App",
        "/plan a.b a+b",
        "/plan ünïcode проект",
        "/apply",
        "/apply wave-2",
        "/approve",
        "/approve wave-2",
        "/approve wave-2 1f0c2ab9d41e",
        "/approve 1f0c2ab9",
        "/approve env",
        "/approve env 1f0c2ab9",
        "/unapprove",
        "/unapprove wave-999",
        "/lock",
        "/lock freeze until Monday",
        "/unlock",
        "/env up",
        "/env down",
        "/env extend 24h",
        "/cancel",
        "/help",
    ] {
        assert_eq!(said(line), [line]);
        let prefixed = line.replacen('/', "/tidegate ", 1);
        assert_eq!(said(&prefixed), [line], "{prefixed}");
        let command = read(line).remove(0).unwrap();
        assert_eq!(command.line(Spelling::Prefixed), prefixed);
    }
}

#[test]
fn a_command_is_a_whole_line() {
    for (body, wanted) in [
        ("/plan prod/app\r\nplease\r\n", "/plan prod/app"),
        ("/plan prod/app\rplease", "/plan prod/app"),
        ("/plan prod/app\u{2028}", "/plan prod/app"),
        ("/plan prod/app\u{2028}please", "/plan prod/app"),
        ("  /plan   prod/app  ", "/plan prod/app"),
        ("/plan\u{a0}prod/app\u{a0}", "/plan prod/app"),
        ("\u{a0}/plan", "/plan"),
        ("/plan\tprod/app", "/plan prod/app"),
        ("/apply\nthanks", "/apply"),
        ("thanks!\n/apply", "/apply"),
        (
            "/approve wave-1 jcs1-sha256:1f0c2ab9\n",
            "/approve wave-1 1f0c2ab9",
        ),
        ("/plan a a b", "/plan a b"),
        ("/apply\n---\nAda, on the move", "/apply"),
        ("/apply\n-- \nAda", "/apply"),
    ] {
        assert_eq!(said(body), [wanted], "{body:?}");
    }
}

#[test]
fn hidden_trailers_do_not_matter() {
    for body in [
        "/plan\n<!-- reply-id: 99 -->",
        "<!-- reply-id: 99 -->\n/plan",
        "<!--\nreply-id: 99\n-->\n/plan",
        "/plan <!-- reply-id: 99 -->",
        "/plan\n\n<!-- /apply -->\n",
        "<!-- <pre> -->\n/plan",
        "<!-- > -->\n\n/plan\n",
    ] {
        assert_eq!(said(body), ["/plan"], "{body:?}");
    }
}

#[test]
fn what_is_quoted_or_shown_as_code_is_silence() {
    for body in [
        "> /apply\nwhy did you run this?",
        "> please\n/apply",
        "> > /apply",
        "- > /apply",
        ">>>\n/apply\n>>>",
        "```\n/apply\n```",
        "```sh\n/apply\n```\n",
        "~~~\n/apply\n~~~",
        "```\n/apply",
        "````\n```\n/apply\n````",
        "- x\n  ```\n  /apply\n  ```",
        "`/apply`",
        "`a\n/apply`",
        "    /apply",
        "\t/apply",
        "text\n    /apply",
        "    code\u{2028}/apply",
        "<!-- /apply -->",
        "<!--\n/apply\n-->",
        "<!--\n/apply",
        "x <!--\n/apply\n--> y",
        "<pre>\n/apply\n</pre>",
        "<pre>\n\n/apply\n\n</pre>",
        "<blockquote>\n\n/apply\n\n</blockquote>",
        "x <code>\n/apply\n</code>",
        "[x]:\n/apply",
        "\\/apply",
    ] {
        assert_eq!(said(body), [""; 0], "{body:?}");
    }
}

#[test]
fn text_after_a_quote_is_read_again() {
    for body in [
        "> /apply\n\n/plan",
        "```\n/apply\n```\n/plan",
        "<blockquote>\n\n/apply\n\n</blockquote>\n\n/plan",
        ">>>\n/apply\n>>>\n/plan",
    ] {
        assert_eq!(said(body), ["/plan"], "{body:?}");
    }
}

#[test]
fn prose_is_silence() {
    for body in [
        "",
        "running late, atlantic coast trip",
        "please /apply this",
        "run /plan",
        "/applyall",
        "/apply-now",
        "/fixfoo",
        "/etc/hosts is wrong",
        "/dev/null",
        "/plan/app",
        "/lgtm",
        "/retest",
        "/end",
        "/",
        "//apply",
        "@tidegate apply",
        "tidegate apply",
        "/tidegate-staging apply",
        "plan",
        "- /apply",
        "# /apply",
    ] {
        assert_eq!(said(body), [""; 0], "{body:?}");
    }
}

#[test]
fn a_near_miss_gets_one_refusal() {
    for (body, meant) in [
        ("/aprove wave-2", "`/approve`"),
        ("/apporve wave-2", "`/approve`"),
        ("/aply", "`/apply`"),
        ("/plan:", "`/plan`"),
        ("/Aply", "`/apply`"),
        ("/аply", "`/apply`"),
        ("/tidegat plan", "`/tidegate`"),
        ("/tidegate aply", "`/apply`"),
        ("/tidegate /apply", "`/apply`"),
        ("/tidegate frobnicate", "`/tidegate help`"),
        ("/tidegate", "`/tidegate help`"),
    ] {
        let refusal = refusal(body);
        assert!(refusal.hint.contains(meant), "{body:?}: {refusal}");
    }
}

#[test]
fn capitals_are_refused_with_the_right_spelling() {
    assert!(refusal("/APPLY").hint.contains("`/apply`"));
    assert!(
        refusal("/TideGate Apply wave-1")
            .hint
            .contains("`/tidegate apply`")
    );
}

#[test]
fn a_character_that_is_not_what_it_looks_like_is_named() {
    for (body, named) in [
        ("/apply –wave 1", "`–` (U+2013)"),
        ("/apply wave—1", "`—` (U+2014)"),
        ("/lock “freeze”", "`“` (U+201C)"),
        ("/lock it’s frozen", "`’` (U+2019)"),
        ("/аpply", "`а` (U+0430)"),
        ("/рlаn", "`р` (U+0440)"),
        ("/apply wаve-1", "`а` (U+0430)"),
        ("/plan nеtwork", "`е` (U+0435)"),
        ("/app\u{200b}ly", "U+200B"),
        ("\u{200b}/apply", "U+200B"),
        ("\u{feff}/apply", "U+FEFF"),
        ("/plan a\u{202e}b", "U+202E"),
        ("／apply", "`／` (U+FF0F)"),
        ("/tidegate\u{200d} apply", "U+200D"),
        ("/approve wave-1 1f0c2ab9\u{200b}", "U+200B"),
    ] {
        let refusal = refusal(body);
        assert!(refusal.why.contains(named), "{body:?}: {refusal}");
    }
}

#[test]
fn what_is_not_wholly_understood_is_refused() {
    for body in [
        "/apply wave-0",
        "/apply wave-01",
        "/apply wave-1000",
        "/apply 1",
        "/apply please",
        "/apply wave-1 wave-2",
        "/apply app",
        "/approve wave-1 wave-2",
        "/approve wave-1 1f0c",
        "/approve wave-1 1F0C2AB9",
        "/approve wave-1 1f0c2ab9 please",
        "/unapprove env",
        "/plan ../other",
        "/plan /etc",
        "/plan a/../b",
        "/plan network/",
        "/plan -- -var x=1",
        "/plan -d network",
        "/plan `network`",
        "/plan \"network\"",
        "/plan c:\\x",
        "/plan .git/hooks",
        "/plan a\0b",
        "/unlock now",
        "/env",
        "/env sideways",
        "/env extend",
        "/env extend 91d",
        "/cancel everything",
        "/help me",
    ] {
        let refusal = refusal(body);
        assert!(
            !refusal.why.is_empty() && !refusal.hint.is_empty(),
            "{body}"
        );
    }
}

#[test]
fn several_commands_are_read_in_order() {
    let body = "/approve wave-1 1f0c2ab9\nand then\n/apply wave-1\n\n/aply";
    let said = said(body);
    assert_eq!(said[..2], ["/approve wave-1 1f0c2ab9", "/apply wave-1"]);
    assert!(said[2].starts_with("no: /aply"));
    assert_eq!(said.len(), 3);
}

#[test]
fn a_comment_with_too_many_commands_runs_none() {
    assert_eq!(read(&"/plan x\n".repeat(10)).len(), 10);
    let refusal = refusal(&"/plan x\n".repeat(5000));
    assert!(refusal.why.contains("5000 commands"), "{refusal}");
}

#[test]
fn a_strange_word_stays_in_its_code_marks() {
    for body in [
        "/tidegate x`@acme/admins`",
        "/apply x`@acme/admins`",
        "/approve x`@acme/admins`",
        "/plan -`@acme/admins`",
    ] {
        let why = refusal(body).why;
        assert_eq!(why.matches('`').count() % 2, 0, "{why}");
        assert!(!why.contains("`@"), "{why}");
    }
}

#[test]
fn a_long_line_is_quoted_in_part() {
    assert_eq!(
        refusal(&format!("/apply {}", "x".repeat(9000)))
            .what
            .chars()
            .count(),
        81
    );
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    for row in VERBS {
        let line = match row.verb {
            Verb::Env => "/env up".to_owned(),
            Verb::Plan
            | Verb::Apply
            | Verb::Approve
            | Verb::Unapprove
            | Verb::Lock
            | Verb::Unlock
            | Verb::Cancel
            | Verb::Help => format!("/{}", row.word),
        };
        let command = read(&line).remove(0).unwrap();
        let refusal = command.refused_as_unbuilt();
        assert_eq!(refusal.is_none(), row.is_built, "{line}");
    }
}

#[test]
fn what_help_shows_can_be_said() {
    use crate::core::config::project::ApprovalRules;
    use crate::core::gate::Policy;
    for spelling in [Spelling::Bare, Spelling::Prefixed] {
        let allowed = Allowed {
            gate: Policy::default(),
            approval: ApprovalRules::default(),
            spelling,
        };
        let help = help(&allowed);
        assert!(read(&help).is_empty(), "help is not a command itself");
        for row in VERBS {
            let start = format!("`{}{}", spelling.start(), row.word);
            assert!(help.contains(&start), "{start}");
        }
    }
}

/// Every way to write a usage: with and without what stands in brackets, and each of what `or` parts.
fn written(usage: &str) -> Vec<String> {
    if let Some((before, rest)) = usage.split_once('[') {
        let (inside, after) = rest.split_once(']').unwrap();
        let choices = inside
            .split(" or ")
            .map(|it| format!("{before}{it}{after}"));
        let without = format!("{}{after}", before.trim_end());
        return choices
            .chain([without])
            .flat_map(|it| written(&it))
            .collect();
    }
    let filled = usage
        .replace("<n>", "2")
        .replace("root…", "network prod/app");
    vec![filled.replace("digest", "1f0c2ab9")]
}

#[test]
fn every_way_that_help_shows_is_read() {
    use crate::core::config::project::ApprovalRules;
    use crate::core::gate::Policy;
    for spelling in [Spelling::Bare, Spelling::Prefixed] {
        let help = help(&Allowed {
            gate: Policy::default(),
            approval: ApprovalRules::default(),
            spelling,
        });
        let usages = help
            .lines()
            .filter_map(|it| it.strip_prefix("| `")?.split_once('`'));
        let ways: Vec<_> = usages.flat_map(|(usage, _)| written(usage)).collect();
        assert!(ways.len() > 10, "{ways:?}");
        for way in ways {
            let read = read(&way);
            assert!(matches!(read.as_slice(), [Ok(_)]), "{way}: {read:?}");
        }
    }
}

fn some_root() -> impl Strategy<Value = Root> {
    "[a-zA-Z0-9_.+]{1,8}(/[a-zA-Z0-9_.+é-]{1,8}){0,2}"
        .prop_filter_map("a root", |it| Root::try_from(it).ok())
}

fn some_wave() -> impl Strategy<Value = WaveNumber> {
    (1..=999_u32).prop_map(WaveNumber)
}

fn some_digest() -> impl Strategy<Value = Option<DigestPrefix>> {
    proptest::option::of("[0-9a-f]{8,64}".prop_map(|it| DigestPrefix::read(&it).unwrap()))
}

fn some_command() -> impl Strategy<Value = Command> {
    let wave = || proptest::option::of(some_wave());
    let target = prop_oneof![some_wave().prop_map(Target::Wave), Just(Target::Env)];
    let reason = proptest::option::of("[a-z]{1,9}( [a-z]{1,9}){0,3}");
    prop_oneof![
        proptest::collection::btree_set(some_root(), 0..4).prop_map(|it| Command::Plan {
            roots: it.into_iter().collect()
        }),
        wave().prop_map(|wave| Command::Apply { wave }),
        wave().prop_map(|wave| Command::Unapprove { wave }),
        (proptest::option::of(target), some_digest())
            .prop_map(|(target, digest)| Command::Approve { target, digest }),
        reason.prop_map(|reason| Command::Lock { reason }),
        "[1-9][0-9]?[mhd]".prop_filter_map("a time", |it| {
            Ttl::read(&it).map(EnvCommand::Extend).map(Command::Env)
        }),
        Just(Command::Env(EnvCommand::Up)),
        Just(Command::Unlock),
        Just(Command::Cancel),
        Just(Command::Help),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(command in some_command()) {
        prop_assert_eq!(read(&command.to_string()), vec![Ok(command.clone())]);
        prop_assert_eq!(read(&command.line(Spelling::Prefixed)), vec![Ok(command)]);
    }

    #[test]
    fn what_is_read_prints_as_itself(words in "/(plan|apply|approve|lock|env|help)( [^\\n]{0,12}){0,3}") {
        for command in read(&words).into_iter().flatten() {
            prop_assert_eq!(read(&command.to_string()), vec![Ok(command)]);
        }
    }

    #[test]
    fn nothing_panics(body in "\\PC*|([/`~>< \\t\\r\\n-]|apply|plan|<!--|-->|```|<pre>|[а-я]|\u{200b}|\u{2028}){0,40}") {
        let _ = read(&body);
    }

    #[test]
    fn quoted_and_fenced_text_is_not_a_command(body in "([a-z /\\n]|/apply|/plan){0,30}") {
        let quoted: String = body.lines().map(|it| format!("> {it}\n")).collect();
        prop_assert_eq!(read(&quoted), vec![]);
        prop_assert_eq!(read(&format!("````\n{body}\n````\n")), vec![]);
        prop_assert_eq!(read(&format!("<!--\n{body}\n-->\n")), vec![]);
    }

    #[test]
    fn only_a_whole_wave_is_a_wave(word in "wave-[0-9]{0,5}") {
        let number = word[5..].parse::<u32>().ok();
        let is_plain = number.is_some_and(|it| (1..=999).contains(&it) && it.to_string() == word[5..]);
        prop_assert_eq!(wave(&word).is_some(), is_plain);
    }
}
