//! What strangers send, over a corpus and seeded mutations of it: the functions that cargo-fuzz runs for longer.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "for cargo-fuzz it is a crate of its own")]
mod targets;

/// Mutations of each text of a corpus.
const MUTATIONS: u64 = 150;

/// Words that mean something to one of the readers.
const WORDS: [&str; 24] = [
    "\n",
    "\n====\n",
    "```",
    "> ",
    "<!--",
    "-->",
    "/approve",
    "/plan ",
    "wave-2",
    "`",
    "\u{200b}",
    "\u{feff}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "-1",
    "1e999",
    "\\u0000",
    "\u{1f680}",
];

/// A generator of numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `sides`; 0 when there is none.
    fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll() % sides.max(1) as u64).unwrap()
    }

    /// Changes some bytes in one of the ways that break readers.
    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        let rest = bytes.len() - at;
        let length = self.below(rest.min(40) + 1);
        match self.below(6) {
            0 => drop(bytes.drain(at..at + length)),
            1 => drop(bytes.splice(at..at, WORDS[self.below(WORDS.len())].bytes())),
            2 if rest > 0 => bytes[at] = u8::try_from(self.below(256)).unwrap(),
            3 => {
                let piece = bytes[at..at + length].to_vec();
                let times = 1 + self.below(8);
                drop(bytes.splice(at..at, piece.repeat(times)));
            }
            4 => {
                let from = self.below(other.len() + 1);
                let piece = &other[from..other.len().min(from + 60)];
                drop(bytes.splice(at..at + length, piece.iter().copied()));
            }
            _ => bytes.truncate(at),
        }
    }
}

/// Runs a target over the texts of some folders as they are, and over mutations of them.
fn check(target: fn(&[u8]), folders: &[&str]) {
    let corpus = texts(folders);
    let mut dice = Dice(0x7469_6465_6761_7465);
    for seed in &corpus {
        run(target, seed);
        for _ in 0..MUTATIONS {
            let mut bytes = seed.clone();
            for _ in 0..=dice.below(5) {
                let other = &corpus[dice.below(corpus.len())];
                dice.change(&mut bytes, other);
            }
            run(target, &bytes);
        }
    }
}

fn run(target: fn(&[u8]), bytes: &[u8]) {
    if catch_unwind(|| target(bytes)).is_err() {
        panic!("it broke on {:?}", String::from_utf8_lossy(bytes));
    }
}

/// The texts of some folders below `tests`.
fn texts(folders: &[&str]) -> Vec<Vec<u8>> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let entries = folders
        .iter()
        .flat_map(|it| fs::read_dir(tests.join(it)).unwrap());
    let mut paths: Vec<_> = entries.map(|it| it.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|it| fs::read(it).unwrap()).collect()
}

#[test]
fn no_comment_does_harm() {
    check(targets::comment, &["fuzz/corpus/comment"]);
}

#[test]
fn no_delivery_does_harm() {
    check(targets::webhook, &["fuzz/corpus/webhook"]);
}

#[test]
fn no_plan_does_harm() {
    check(targets::plan, &["fuzz/corpus/plan", "plans"]);
}

#[test]
fn no_ledger_does_harm() {
    check(targets::ledger, &["fuzz/corpus/ledger", "vectors"]);
}

#[test]
fn no_project_file_does_harm() {
    check(
        targets::project,
        &["fuzz/corpus/project", "config/valid", "config/invalid"],
    );
}

#[test]
fn no_terraform_text_does_harm() {
    check(targets::estate, &["fuzz/corpus/estate"]);
}

#[test]
fn nesting_without_end_does_no_harm() {
    let opened = [
        "[", "{", "(", "{\"a\":", "> ", "- ", "a {\n", "${", "\"${", "!", "-", "a:\n ", "<a>", "*",
        "[a](", "? a : ", "1+", "a?1:",
    ];
    for open in opened {
        let deep = open.repeat(40_000);
        for (target, before) in [
            (targets::comment as fn(&[u8]), "/plan "),
            (targets::webhook, "push\n"),
            (
                targets::plan,
                "{\"format_version\":\"1.2\",\"resource_changes\":",
            ),
            (targets::ledger, "{\"version\":1,\"x\":"),
            (targets::project, "roots: "),
            (targets::estate, "a/main.tf\nprovider \"a\" {\n  x = "),
        ] {
            run(target, format!("{before}{deep}").as_bytes());
            run(target, deep.as_bytes());
        }
    }
}
