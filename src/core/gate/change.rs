//! What became of the ledger from one tip to the next: it grew, an unused approval was taken back, or it was rewritten.
//!
//! Everything the gate concludes rests on files that only grow: an approval counts once because its use cannot be
//! taken away. Whoever may push to the branch can take it away all the same, so each tip is compared with the last one
//! that was seen.

use std::collections::BTreeMap;
use std::fmt;

use crate::core::gate::approval::is_use_of;
use crate::core::gate::facts::use_path;
use crate::core::gate::lines::{Facts, Line, LineKind, lines};
use crate::core::ids::{Op, Sha};

/// The gate files of the ledger at one tip, by path.
pub type Files = BTreeMap<String, String>;

/// What became of the ledger since a tip that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Lines were added, or none.
    Grown,
    /// Approvals that nobody had used were removed; lines may have been added too.
    Revoked(Vec<Place>),
    /// Nothing the ledger says can be relied on before somebody looked at it.
    Rewritten(Rewrite),
}

/// How a ledger was rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    pub history: History,
    /// Lines that are gone or say something else, as they stood before.
    pub lines: Vec<Place>,
}

/// How the tip stands to the last one that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// It came on top of it.
    #[default]
    Descends,
    /// It did not: somebody forced the branch.
    Forced { seen: Sha },
    /// There is no branch any more.
    Gone { seen: Sha },
    /// The tip that was seen cannot be had any more, so nothing can be compared.
    Lost { seen: Sha },
}

/// A line of the ledger as it stood before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: String,
    /// Counted from 1.
    pub number: usize,
    pub text: String,
}

/// What a wave that waits for a rewritten ledger says first.
const SAID_FIRST: &str =
    "The ledger was rewritten, and no approval counts until an administrator accepts it.";

/// How many changed lines are named in a sentence.
const NAMED: usize = 5;

impl Rewrite {
    /// Whether `why` is what a wave says that waits because of a rewritten ledger.
    pub fn is_why(why: &str) -> bool {
        why.starts_with(SAID_FIRST)
    }
}

impl fmt::Display for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SAID_FIRST} {}", self.history)?;
        if let Some(named) = named(&self.lines) {
            write!(f, " Gone or altered: {named}.")?;
        }
        f.write_str(
            " Run `tidegate ledger accept` on the server: it shows what changed, and accepts it once somebody agrees.",
        )
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Descends => f.write_str("A newer commit changed what stood there."),
            Self::Forced { seen } => write!(
                f,
                "The branch was set to another history, without `{}`, where it stood before.",
                seen.short()
            ),
            Self::Gone { seen } => write!(
                f,
                "The branch is gone; it stood at `{}` before.",
                seen.short()
            ),
            Self::Lost { seen } => write!(
                f,
                "The branch was set to another history, and `{}`, where it stood before, cannot be fetched any more.",
                seen.short()
            ),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of `{}`", self.number, self.path)
    }
}

/// Whether what stands at a path enters this comparison: pending facts, approvals, uses and their ends.
pub fn is_gate_file(path: &str) -> bool {
    path.starts_with("_gates/") && path.ends_with(".jsonl")
}

/// Judges what became of the gate files, `history` apart: every line must still stand in its order, but for approvals
/// that nobody used.
pub fn judge(history: History, before: &Files, after: &Files) -> Change {
    let (mut revoked, mut gone) = (Vec::new(), Vec::new());
    for (path, text) in before {
        let now = after.get(path).map_or("", String::as_str);
        for place in removed(path, text, now) {
            if is_unused_approval(&place, before, after) {
                revoked.push(place);
            } else {
                gone.push(place);
            }
        }
    }
    if !gone.is_empty() || history != History::Descends {
        let lines = gone;
        return Change::Rewritten(Rewrite { history, lines });
    }
    if revoked.is_empty() {
        Change::Grown
    } else {
        Change::Revoked(revoked)
    }
}

/// The lines of a file that do not stand in the newer one, in their order.
fn removed(path: &str, before: &str, after: &str) -> Vec<Place> {
    let mut now = lines(after).map(|(_, text)| text).peekable();
    let gone = lines(before).filter(|(_, text)| now.next_if_eq(text).is_none());
    let place = |(number, text): (usize, &str)| Place {
        path: path.to_owned(),
        number,
        text: text.to_owned(),
    };
    gone.map(place).collect()
}

/// Whether a line was an approval that no use names, neither before nor after.
fn is_unused_approval(place: &Place, before: &Files, after: &Files) -> bool {
    let Some(op) = op_of(&place.path) else {
        return false;
    };
    let read = |gates: &str, files: &Files| {
        let uses = files.get(&use_path(&op)).map_or("", String::as_str);
        Facts::read(&op, gates, uses)
    };
    let (was, is) = (read(&place.text, before), read("", after));
    let is_used = |line: &Line| {
        let uses = was.uses.iter().chain(&is.uses);
        uses.into_iter().any(|it| is_use_of(it, line))
    };
    let [line] = was.lines.as_slice() else {
        return false;
    };
    // A use that cannot be read may be of this approval.
    let is_readable = was.broken_uses() == 0 && is.broken_uses() == 0;
    matches!(line.kind, LineKind::Approval { .. }) && is_readable && !is_used(line)
}

/// The op whose pending facts and approvals stand in a file; none for a file of uses.
fn op_of(path: &str) -> Option<Op> {
    let name = path.strip_prefix("_gates/")?.strip_suffix(".jsonl")?;
    Op::try_from(name).ok()
}

/// The first of these places, as they stand in a sentence.
fn named(places: &[Place]) -> Option<String> {
    let first: Vec<_> = places.iter().take(NAMED).map(ToString::to_string).collect();
    let more = places.len().saturating_sub(NAMED);
    let named = first.join(", ");
    match (named.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(named),
        (false, more) => Some(format!("{named}, and {more} more")),
    }
}

#[cfg(test)]
mod tests;
