//! How the files of the ledger are read: line by line, the unreadable counted and placed, nothing dropped.
//!
//! A line is read by chant's rule: `version` 1 and the texts it cannot do without, whatever else it holds. What a
//! line says beyond that is kept in [`Line::raw`].

use std::collections::HashSet;
use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::core::gate::change::Rewrite;
use crate::core::gate::facts::{Finished, Member, gate_path, use_path};
use crate::core::ids::{Digest, Gate, Op, PullNumber, Root, Sha};
use crate::core::job::Report;
use crate::core::outcome::Outcome;

/// All facts of one op, each kind in the order of its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Pending facts and approvals; a line that repeats an earlier one is left out.
    pub lines: Vec<Line>,
    pub uses: Vec<UseLine>,
    pub ends: Vec<EndLine>,
    /// Lines that cannot be read, for people.
    pub complaints: Vec<Complaint>,
    /// Approvals up to this line of the gate file are void: a line that cannot be read stands there, or came later.
    void_up_to: usize,
    /// How the ledger was rewritten since it was last seen: then no approval counts, whatever its lines say.
    pub rewritten: Option<Rewrite>,
}

/// One pending fact or approval.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Where it stands in its file, counted from 1.
    pub number: usize,
    pub gate: String,
    pub timestamp: String,
    /// None when the line has no digest of a form we know.
    pub digest: Option<Digest>,
    pub naming: Naming,
    pub kind: LineKind,
    /// All it says, also what we do not know.
    pub raw: Map<String, Value>,
}

/// Which of the two a line is.
#[derive(Clone, Debug, PartialEq)]
pub enum LineKind {
    Pending {
        expires_at: Option<Timestamp>,
        members: Vec<Member>,
    },
    Approval {
        by: String,
    },
}

/// Which rollout a line names. A line of another tool may be bare: it names none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Naming {
    Bare,
    Named {
        pr: Option<PullNumber>,
        commit: Option<Sha>,
    },
}

/// One use of an approval.
#[derive(Clone, Debug, PartialEq)]
pub struct UseLine {
    /// Absent on lines of other tools.
    pub id: Option<String>,
    pub gate: String,
    pub timestamp: String,
    pub digest: Option<Digest>,
    pub approved_at: String,
    pub approved_by: Option<String>,
    pub members: Vec<Member>,
    pub naming: Naming,
}

/// How one use ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EndLine {
    pub gate: String,
    pub digest: Option<Digest>,
    /// The timestamp of the use it closes.
    pub applied: String,
    pub failed: bool,
    pub members: Vec<Root>,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub path: String,
    /// Counted from 1.
    pub number: usize,
    pub why: &'static str,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, number, why } = self;
        write!(f, "line {number} of `{path}` cannot be read: {why}")
    }
}

impl Facts {
    /// Reads an op's two files as they stand on the ledger. A use that cannot be read voids every approval there is;
    /// who knows when it was written says so with [`Facts::with_broken_uses_at`].
    pub fn read(op: &Op, gate_file: &str, use_file: &str) -> Self {
        let mut facts = Self::default();
        let mut seen = HashSet::new();
        for (number, text) in lines(gate_file) {
            match object(text).and_then(|raw| line(number, raw)) {
                Ok(line) => {
                    if seen.insert(Value::Object(line.raw.clone()).to_string()) {
                        facts.lines.push(line);
                    }
                }
                Err(why) => {
                    facts.void_up_to = number;
                    facts.complain(gate_path(op), number, why);
                }
            }
        }
        for (number, text) in lines(use_file) {
            match object(text).and_then(|raw| facts.add_use(&raw)) {
                Ok(()) => {}
                Err(why) => {
                    facts.void_up_to = usize::MAX;
                    facts.complain(use_path(op), number, why);
                }
            }
        }
        facts
    }

    /// Says how many lines the gate file had when the newest unreadable use was written: approvals after them count.
    #[must_use]
    pub fn with_broken_uses_at(mut self, gate_lines: usize) -> Self {
        let newest_broken = self.complaints.iter().filter(|it| !it.is_of_uses());
        let newest_broken = newest_broken.map(|it| it.number).max().unwrap_or(0);
        self.void_up_to = newest_broken.max(gate_lines);
        self
    }

    /// How many lines of uses cannot be read.
    pub fn broken_uses(&self) -> usize {
        self.complaints.iter().filter(|it| it.is_of_uses()).count()
    }

    /// Whether an unreadable line makes this one worthless.
    pub fn is_void(&self, line: &Line) -> bool {
        line.number <= self.void_up_to
    }

    /// The use with this id.
    pub fn use_with_id(&self, id: &str) -> Option<&UseLine> {
        self.uses.iter().find(|it| it.id.as_deref() == Some(id))
    }

    fn complain(&mut self, path: String, number: usize, why: &'static str) {
        self.complaints.push(Complaint { path, number, why });
    }

    fn add_use(&mut self, raw: &Map<String, Value>) -> Result<(), &'static str> {
        let (gate, timestamp) = common(raw)?;
        let digest = digest(raw)?;
        match raw.get("kind").and_then(Value::as_str) {
            Some("applied") => self.uses.push(UseLine {
                id: text(raw, "id").map(str::to_owned),
                gate,
                timestamp,
                digest,
                approved_at: needed(raw, "approvedAt", "it has no `approvedAt`")?,
                approved_by: text(raw, "approvedBy").map(str::to_owned),
                members: members(raw),
                naming: naming(raw),
            }),
            Some("finished") => self.ends.push(EndLine {
                gate,
                digest,
                applied: needed(raw, "applied", "it does not say which use it ends")?,
                failed: text(raw, "result") != Some("applied"),
                members: roots(raw),
            }),
            Some(_) | None => return Err("its `kind` is neither `applied` nor `finished`"),
        }
        Ok(())
    }
}

impl UseLine {
    /// The fact that ends this use, by what its job reports; none for a use in a form only another tool writes. A
    /// job that was lost reports nothing, and its use stays unfinished.
    pub fn finished(&self, op: &Op, id: &str, report: &Report, now: Timestamp) -> Option<Finished> {
        let (done, failed): (Vec<_>, Vec<_>) =
            report.applied.iter().partition(|it| it.error.is_none());
        Some(Finished {
            id: id.to_owned(),
            op: op.clone(),
            gate: Gate::try_from(self.gate.as_str()).ok()?,
            timestamp: now,
            digest: self.digest.clone()?,
            applied: self.timestamp.clone(),
            failed: report.outcome != Outcome::Done || !failed.is_empty(),
            members: done.into_iter().map(|it| it.root.clone()).collect(),
        })
    }
}

impl Complaint {
    /// Whether a text begins with what a complaint says.
    pub fn starts(text: &str) -> bool {
        let said = text
            .strip_prefix("Line ")
            .and_then(|it| it.split_once(": "));
        said.is_some_and(|(place, _)| place.ends_with("` cannot be read"))
    }

    fn is_of_uses(&self) -> bool {
        self.path.ends_with("/applied.jsonl")
    }
}

impl Line {
    /// Whether it is about this gate.
    pub fn is_of(&self, gate: &Gate) -> bool {
        self.gate == gate.as_str()
    }
}

/// The lines that hold something, and where they stand.
pub(super) fn lines(file: &str) -> impl Iterator<Item = (usize, &str)> {
    let trimmed = file.lines().map(str::trim);
    let numbered = trimmed.enumerate().map(|(at, text)| (at + 1, text));
    numbered.filter(|(_, text)| !text.is_empty())
}

fn object(text: &str) -> Result<Map<String, Value>, &'static str> {
    match serde_json::from_str(text) {
        Ok(Value::Object(raw)) => Ok(raw),
        Ok(_) => Err("it is not a JSON object"),
        Err(_) => Err("it is not JSON"),
    }
}

fn line(number: usize, raw: Map<String, Value>) -> Result<Line, &'static str> {
    let (gate, timestamp) = common(&raw)?;
    if raw.get("environment").is_some_and(|it| !it.is_string()) {
        return Err("its `environment` is not a text");
    }
    let kind = if text(&raw, "kind") == Some("pending") {
        let expires_at = needed(&raw, "expiresAt", "it has no `expiresAt`")?;
        LineKind::Pending {
            expires_at: expires_at.parse().ok(),
            members: members(&raw),
        }
    } else {
        let by = needed(&raw, "resolvedBy", "it has no `resolvedBy`")?;
        LineKind::Approval { by }
    };
    Ok(Line {
        number,
        gate,
        timestamp,
        digest: digest(&raw)?,
        naming: naming(&raw),
        kind,
        raw,
    })
}

/// What every line must say.
fn common(raw: &Map<String, Value>) -> Result<(String, String), &'static str> {
    if raw.get("version") != Some(&Value::from(1)) {
        return Err("its `version` is not 1");
    }
    needed(raw, "op", "it has no `op`")?;
    let gate = needed(raw, "gate", "it has no `gate`")?;
    Ok((gate, needed(raw, "timestamp", "it has no `timestamp`")?))
}

fn text<'a>(raw: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    raw.get(key).and_then(Value::as_str)
}

fn needed(raw: &Map<String, Value>, key: &str, why: &'static str) -> Result<String, &'static str> {
    text(raw, key).map(str::to_owned).ok_or(why)
}

/// A digest of a form we know; another text names no plan of ours. Anything but a text is damage.
fn digest(raw: &Map<String, Value>) -> Result<Option<Digest>, &'static str> {
    match raw.get("planDigest") {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Digest::try_from(text.as_str()).ok()),
        Some(_) => Err("its `planDigest` is not a text"),
    }
}

/// Whom a line names. One that names somebody in a form we cannot read is not bare: it speaks to nobody.
fn naming(raw: &Map<String, Value>) -> Naming {
    if !raw.contains_key("pr") && !raw.contains_key("commit") {
        return Naming::Bare;
    }
    Naming::Named {
        pr: raw.get("pr").and_then(Value::as_u64).map(PullNumber),
        commit: text(raw, "commit").and_then(|it| Sha::try_from(it).ok()),
    }
}

/// Members whose name and digest can be read; other tools may name others.
fn members(raw: &Map<String, Value>) -> Vec<Member> {
    let list = raw.get("members").and_then(Value::as_array);
    let list = list.into_iter().flatten().cloned();
    list.filter_map(|it| serde_json::from_value(it).ok())
        .collect()
}

fn roots(raw: &Map<String, Value>) -> Vec<Root> {
    let list = raw.get("members").and_then(Value::as_array);
    let list = list.into_iter().flatten().filter_map(Value::as_str);
    list.filter_map(|it| Root::try_from(it).ok()).collect()
}

#[cfg(test)]
mod tests;
