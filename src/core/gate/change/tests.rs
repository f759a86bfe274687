//! From one tip to the next: what may happen to the gate files, and what is a rewrite.

use super::*;

const GATES: &str = "_gates/tf-apply.jsonl";
const USES: &str = "_gates/tf-apply/applied.jsonl";

const ASK: &str = r#"{"expiresAt":"2026-12-01T00:00:00.000Z","gate":"wave-1","kind":"pending","op":"tf-apply","timestamp":"2026-11-29T00:00:00.000Z","version":1}"#;

fn digest(digit: char) -> String {
    format!("jcs1-sha256:{}", digit.to_string().repeat(64))
}

fn yes(by: &str) -> String {
    format!(
        r#"{{"gate":"wave-1","op":"tf-apply","planDigest":"{}","resolvedBy":"{by}","timestamp":"2026-11-30T00:00:00.000Z","version":1}}"#,
        digest('a')
    )
}

/// The use of an approval made at that time, in another spelling of it.
fn spent(approved_at: &str) -> String {
    format!(
        r#"{{"approvedAt":"{approved_at}","gate":"wave-1","kind":"applied","op":"tf-apply","planDigest":"{}","timestamp":"2026-11-30T01:00:00.000Z","version":1}}"#,
        digest('a')
    )
}

fn files(gates: &[&str], uses: &[&str]) -> Files {
    let text = |lines: &[&str]| lines.iter().map(|it| format!("{it}\n")).collect();
    let files = [(GATES, gates), (USES, uses)];
    let there = files.into_iter().filter(|(_, lines)| !lines.is_empty());
    there
        .map(|(path, lines)| (path.to_owned(), text(lines)))
        .collect()
}

/// `grown`, `revoked <line>` or `rewritten <lines>`, each by its file and number.
fn told(change: &Change) -> String {
    let places = |all: &[Place]| {
        let place = |it: &Place| {
            format!(
                " {}:{}",
                if it.path == USES { "uses" } else { "gates" },
                it.number
            )
        };
        all.iter().map(place).collect::<String>()
    };
    match change {
        Change::Grown => "grown".to_owned(),
        Change::Revoked(all) => format!("revoked{}", places(all)),
        Change::Rewritten(it) => format!("rewritten{}", places(&it.lines)),
    }
}

/// Both gate files before and after, and what the change is.
type Row<'a> = (
    &'a [&'a str],
    &'a [&'a str],
    &'a [&'a str],
    &'a [&'a str],
    &'a str,
);

#[test]
fn the_gate_files_only_grow_but_for_unused_approvals() {
    let (ada, grace) = (&*yes("ada"), &*yes("grace"));
    let used = &*spent("2026-11-30T00:00:00Z");
    let table: [Row; 16] = [
        (&[], &[], &[], &[], "grown"),
        (&[], &[], &[ASK], &[], "grown"),
        (&[ASK], &[], &[ASK, ada], &[], "grown"),
        (&[ASK, ada], &[], &[ASK, ada], &[used], "grown"),
        // Taken back before its use.
        (&[ASK, ada], &[], &[ASK], &[], "revoked gates:2"),
        (&[ada, ASK], &[], &[ASK], &[], "revoked gates:1"),
        (&[ASK, ada], &[], &[ASK, ASK], &[], "revoked gates:2"),
        (&[ada], &[], &[], &[], "revoked gates:1"),
        // Taken away after its use, or while it was used.
        (&[ASK, ada], &[used], &[ASK], &[used], "rewritten gates:2"),
        (&[ASK, ada], &[], &[ASK], &[used], "rewritten gates:2"),
        // What says that a wave asked, or that an approval was used.
        (&[ASK, ada], &[], &[ada], &[], "rewritten gates:1"),
        (&[ASK, ada], &[used], &[ASK, ada], &[], "rewritten uses:1"),
        (
            &[ASK, ada],
            &[used],
            &[],
            &[],
            "rewritten gates:1 gates:2 uses:1",
        ),
        // Another name in an approval that others stand behind.
        (&[ada, ASK], &[], &[grace, ASK], &[], "rewritten gates:2"),
        // A line that cannot be read keeps the approvals before it void.
        (&[ada, "{"], &[], &[ada], &[], "rewritten gates:2"),
        // A use that cannot be read may be of the approval.
        (&[ASK, ada], &["{"], &[ASK], &["{"], "rewritten gates:2"),
    ];
    for (gates, uses, gates_now, uses_now, wanted) in table {
        let (before, after) = (files(gates, uses), files(gates_now, uses_now));
        let change = judge(History::Descends, &before, &after);
        assert_eq!(told(&change), wanted, "{before:#?} {after:#?}");
    }
}

#[test]
fn ends_of_lines_and_empty_lines_say_nothing() {
    let one = Files::from([(GATES.to_owned(), format!("{ASK}\n\n  {}", yes("ada")))]);
    let other = files(&[ASK, &yes("ada"), ASK], &[]);
    assert_eq!(judge(History::Descends, &one, &other), Change::Grown);
}

#[test]
fn another_history_is_a_rewrite_whatever_the_files_say() {
    let seen = Sha::try_from("a".repeat(40)).unwrap();
    let same = files(&[ASK], &[]);
    for history in [
        History::Forced { seen: seen.clone() },
        History::Gone { seen: seen.clone() },
        History::Lost { seen },
    ] {
        let change = judge(history, &same, &same);
        assert_eq!(told(&change), "rewritten");
    }
}

#[test]
fn a_rewrite_says_which_lines_and_what_to_do() {
    let used = spent("2026-11-30T00:00:00Z");
    let change = judge(
        History::Forced {
            seen: Sha::try_from("a".repeat(40)).unwrap(),
        },
        &files(&[ASK, &yes("ada")], &[&used]),
        &files(&[ASK, &yes("ada")], &[]),
    );
    let Change::Rewritten(rewrite) = change else {
        panic!("{change:?}");
    };
    let said = rewrite.to_string();
    assert_eq!(
        said,
        "The ledger was rewritten, and no approval counts until an administrator accepts it. The branch was set to \
         another history, without `aaaaaaaaaaaa`, where it stood before. Gone or altered: line 1 of \
         `_gates/tf-apply/applied.jsonl`. Run `tidegate ledger accept` on the server: it shows what changed, and \
         accepts it once somebody agrees."
    );
    assert!(Rewrite::is_why(&said));
}
