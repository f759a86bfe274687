//! What is written to the ledger: a line, the file it belongs to, and the id by which it is written once.

use serde_json::json;

use jiff::Timestamp;

use crate::core::gate::facts::{self, Fact};
use crate::core::ids::Sha;

/// Where acceptances of a rewritten ledger stand; chant carries what it does not know, if it stands in a folder.
const ACCEPTANCES: &str = "_ledger/accepted.jsonl";

/// One line on its way to the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLine {
    pub path: String,
    /// None for a line that only another tool's form has; it is always written.
    pub id: Option<String>,
    /// With its end.
    pub line: String,
    /// The subject of a commit that writes it.
    pub subject: String,
}

impl From<&Fact> for NewLine {
    fn from(fact: &Fact) -> Self {
        Self {
            path: fact.path(),
            id: Some(fact.id().to_owned()),
            line: fact.line(),
            subject: fact.subject(),
        }
    }
}

/// Somebody looked at what became of the ledger and let it count.
#[derive(Clone, Copy, Debug)]
pub struct Acceptance<'a> {
    pub by: &'a str,
    /// The tip that was seen before.
    pub seen: &'a Sha,
    /// The tip that counts from now on; none when the branch was gone.
    pub tip: Option<&'a Sha>,
    pub at: Timestamp,
}

impl From<Acceptance<'_>> for NewLine {
    fn from(it: Acceptance) -> Self {
        let line = json!({
            "acceptedBy": it.by,
            "kind": "accepted",
            "seen": it.seen,
            "timestamp": facts::stamp(it.at),
            "tip": it.tip,
            "version": 1,
        });
        Self {
            path: ACCEPTANCES.to_owned(),
            id: None,
            line: format!("{line}\n"),
            subject: format!("Ledger accepted by {}", it.by),
        }
    }
}
