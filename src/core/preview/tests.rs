//! A preview as people read it.

use super::*;

fn root(name: &str) -> Root {
    Root::try_from(name).unwrap()
}

fn sha(digit: &str) -> Sha {
    Sha::try_from(digit.repeat(40)).unwrap()
}

/// One root with a plan that has no digest, and something that could move a terminal's cursor in each text.
fn unnamed() -> Preview {
    let end = End::Planned {
        digest: None,
        empty: false,
        destructive: false,
        totals: Totals::default(),
        diff: "~ net.a\n    name: \"a\" -> \"\u{1b}[2J\"".to_owned(),
        remarks: vec!["net.a: it moves\r its state".to_owned()],
    };
    let run = Run {
        root: root("network"),
        end,
    };
    Preview {
        commit: sha("a"),
        base: sha("b"),
        key: None,
        totals: Totals::default(),
        waves: vec![Wave {
            number: WaveNumber(1),
            digest: None,
            totals: Totals::default(),
            runs: vec![run],
        }],
        radius: Radius::default(),
        taken_away: vec![root("attic")],
        warnings: vec!["`app` reads what cannot be told.".to_owned()],
    }
}

#[test]
fn changes_remarks_and_warnings_are_told_and_missing_digests_explained() {
    let wanted = "\
aaaaaaaaaaaa reaches 1 root in 1 wave, compared with bbbbbbbbbbbb: nothing to change

wave 1: nothing to change
  network: nothing to change
    ~ net.a
        name: \"a\" -> \"\u{fffd}[2J\"
    note: net.a: it moves\u{fffd} its state

attic is taken away: nothing of it is destroyed, and its state stays behind

warnings about who reads whom:
  `app` reads what cannot be told.
";
    assert_eq!(text(&unnamed()), format!("{wanted}{NO_KEY}\n"));
}

#[test]
fn with_a_key_nothing_is_to_be_explained() {
    let preview = Preview {
        key: Some("k1".to_owned()),
        ..unnamed()
    };
    assert!(!text(&preview).contains("TIDEGATE_KEY"));
}
