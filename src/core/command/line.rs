//! One line: is it for us, and what does it say?

use crate::core::command::argument;
use crate::core::command::argument::shown;
use crate::core::command::odd::{odd_in, plain};
use crate::core::command::{Command, VERBS, VerbRow};
use crate::core::config::distance;
use crate::core::refusal::Refusal;

/// The name that makes a line ours whatever follows.
const NAME: &str = "tidegate";

/// Verbs shorter than this have too many neighbours among ordinary words.
const SHORTEST_MISSPELT: usize = 4;

/// A line that is surely ours: what it says, or why it says nothing we can do. None for every other line.
pub(super) fn read(line: &str) -> Option<Result<Command, Refusal>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let first = plain(words.first()?);
    let name = first.strip_prefix('/').filter(|it| !it.starts_with('/'))?;
    if name.to_lowercase() == NAME {
        return Some(addressed(&words));
    }
    match row_of(&name.to_lowercase()) {
        Some(row) => Some(said(row, &words, 0)),
        None => misspelt(name).map(|meant| Err(unknown(&words, &format!("/{name}"), Some(meant)))),
    }
}

/// `/tidegate <verb> …`
fn addressed(words: &[&str]) -> Result<Command, Refusal> {
    let Some(second) = words.get(1) else {
        let hint = "`/tidegate help` lists what can be said.";
        return Err(Refusal::new(
            quote(words),
            "It does not say what to do.",
            hint,
        ));
    };
    let word = plain(second).to_lowercase();
    let verb = word.trim_start_matches('/');
    let meant = misspelt(verb).or_else(|| row_of(verb).map(|it| it.word));
    match row_of(&word) {
        Some(row) => said(row, words, 1),
        None => Err(unknown(words, &plain(second), meant)),
    }
}

/// A line whose verb is known, at `position`: everything must be as it looks, and the verb in lower case.
fn said(row: &VerbRow, words: &[&str], position: usize) -> Result<Command, Refusal> {
    if let Some(odd) = words.iter().find_map(|it| odd_in(it)) {
        let why = format!("It holds {odd}.");
        let hint = format!("Type it again with plain characters: `{}`.", usage(row));
        return Err(Refusal::new(quote(words), why, hint));
    }
    let head: Vec<String> = words[..=position]
        .iter()
        .map(|it| it.to_lowercase())
        .collect();
    if head != words[..=position] {
        let why = "Commands are written in lower case.";
        let hint = format!("Write `{}`.", head.join(" "));
        return Err(Refusal::new(quote(words), why, hint));
    }
    argument::read(row.verb, &words[position + 1..]).map_err(|why| {
        let hint = format!("The command is `{}`.", usage(row));
        Refusal::new(quote(words), why, hint)
    })
}

fn row_of(word: &str) -> Option<&'static VerbRow> {
    VERBS.iter().find(|it| it.word == word)
}

/// The verb, or our name, that a word is one slip away from.
fn misspelt(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let known = VERBS.iter().map(|it| it.word).chain([NAME]);
    let letters = word.chars().count();
    known
        .filter(|it| it.len() >= SHORTEST_MISSPELT && it.len().abs_diff(letters) <= 1)
        .find(|it| distance(&word, it) == 1)
}

fn unknown(words: &[&str], said: &str, meant: Option<&str>) -> Refusal {
    let why = format!("`{}` is not a command.", shown(said));
    let hint = match meant {
        Some(meant) => format!("Did you mean `/{meant}`?"),
        None => "`/tidegate help` lists the commands.".to_owned(),
    };
    Refusal::new(quote(words), why, hint)
}

/// How a verb is written.
fn usage(row: &VerbRow) -> String {
    format!("/{} {}", row.word, row.arguments)
        .trim_end()
        .to_owned()
}

/// The line as it stood, in one short piece.
fn quote(words: &[&str]) -> String {
    const LONGEST: usize = 80;
    let line = words.join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST).chain(['…']).collect()
}
