//! How a fact becomes a line: sorted keys, the fields chant and terragucci read, and ours beside them.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::core::gate::facts::{Approval, Fact, Finished, Pending, Use};

impl Fact {
    /// The fact as one line of its file, with the line's end: a shell that appends cannot glue two records.
    pub fn line(&self) -> String {
        let mut fields = match self {
            Self::Pending(it) => pending(it),
            Self::Approval(it) => approval(it),
            Self::Use(it) => used(it),
            Self::Finished(it) => finished(it),
        };
        fields["version"] = json!(1);
        fields["id"] = json!(self.id());
        fields["op"] = json!(self.op());
        fields["gate"] = json!(self.gate());
        let text = serde_json_canonicalizer::to_string(&without_null(fields))
            .expect("a value with a JSON form has a canonical one");
        text + "\n"
    }
}

/// A time as it stands on the ledger: always with milliseconds, so that comparing texts compares times.
pub fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

fn pending(it: &Pending) -> Value {
    json!({
        "kind": "pending",
        "timestamp": stamp(it.timestamp),
        "expiresAt": stamp(it.expires_at),
        "planDigest": it.digest,
        "members": it.members,
        "commit": it.commit,
        "pr": it.pr,
        "description": it.description,
        "origin": "cli",
        "url": it.url,
    })
}

fn approval(it: &Approval) -> Value {
    json!({
        "kind": "resolution",
        "timestamp": stamp(it.timestamp),
        "planDigest": it.digest,
        "resolvedBy": it.resolved_by,
        "approver": { "kind": "human" },
        "relayedBy": "tidegate",
        "origin": "cli",
        "via": "comment",
        "user": it.user,
        "commit": it.commit,
        "pr": it.pr,
        "url": it.url,
    })
}

fn used(it: &Use) -> Value {
    json!({
        "kind": "applied",
        "timestamp": stamp(it.timestamp),
        "planDigest": it.digest,
        "approvedAt": it.approved_at,
        "approvedBy": it.approved_by,
        "members": it.members,
        "commit": it.commit,
        "pr": it.pr,
        "runId": it.run_id,
    })
}

fn finished(it: &Finished) -> Value {
    json!({
        "kind": "finished",
        "timestamp": stamp(it.timestamp),
        "planDigest": it.digest,
        "applied": it.applied,
        "result": if it.failed { "failed" } else { "applied" },
        "members": it.members,
    })
}

/// Leaves out what is not known: readers take a null for a broken value.
fn without_null(fields: Value) -> Map<String, Value> {
    let Value::Object(fields) = fields else {
        return Map::new();
    };
    fields.into_iter().filter(|(_, it)| !it.is_null()).collect()
}
