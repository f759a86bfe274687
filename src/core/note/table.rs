//! The wave table: number, roots, what they do, digest, state.

use crate::core::note::fit::{Parts, Rank};
use crate::core::note::text::{cell, count};
use crate::core::note::wave::{WaveView, doing};

/// The most roots that a cell names.
const MOST_NAMES: usize = 8;

/// Adds the table, a line a wave.
pub(super) fn add(parts: &mut Parts, waves: &[WaveView]) {
    parts.add(
        Rank::Frame,
        "\n| wave | roots | what it does | digest | state |\n|---:|---|---|---|---|\n",
    );
    for wave in waves {
        parts.add(Rank::Wave, line(wave));
    }
}

fn line(wave: &WaveView) -> String {
    let doing = match doing(&wave.totals()) {
        Some(doing) => doing,
        None if wave.plans.is_empty() => "–".to_owned(),
        None => "nothing".to_owned(),
    };
    let digest = wave
        .digest
        .map_or_else(|| "–".to_owned(), |it| cell(it.short()));
    format!(
        "| {} | {} | {doing} | {digest} | {} |\n",
        wave.number,
        roots(wave),
        wave.state
    )
}

/// The roots that do something by name, the others by number; all by name as long as none was planned.
fn roots(wave: &WaveView) -> String {
    let unchanged = wave.unchanged();
    let is_unchanged = |root| {
        wave.plans
            .iter()
            .any(|it| &it.root == root && it.is_empty())
    };
    let named: Vec<String> = wave
        .members
        .iter()
        .filter(|it| !is_unchanged(**it))
        .map(cell)
        .collect();
    let mut words: Vec<String> = named.iter().take(MOST_NAMES).cloned().collect();
    if named.len() > MOST_NAMES {
        words.push(format!("{} more", named.len() - MOST_NAMES));
    }
    match (unchanged, words.is_empty()) {
        (0, _) => {}
        (_, true) => words.push(count(unchanged, "root")),
        (_, false) => words.push(format!("{unchanged} unchanged")),
    }
    words.join(", ")
}
