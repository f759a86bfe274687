//! The blast radius: who reads what changes.

use crate::core::estate::radius::{Downstream, Radius};
use crate::core::note::fit::{Parts, Rank};
use crate::core::note::text::{code, count, names};

/// The most changed roots that the sentence names.
const MOST_NAMES: usize = 10;

/// Adds the radius; nothing when no root reads what changes.
pub(super) fn add(parts: &mut Parts, radius: &Radius) {
    if radius.downstream.is_empty() {
        return;
    }
    let changed = radius.changed.len();
    let downstream = radius.downstream.len();
    let (verb, reads) = (
        if changed == 1 { "changes" } else { "change" },
        if downstream == 1 { "reads" } else { "read" },
    );
    let sentence = format!(
        "\n**Blast radius:** {} {verb} ({}), and {} downstream {reads} their state:\n\n",
        count(changed, "root"),
        names(&radius.changed, MOST_NAMES),
        count(downstream, "root"),
    );
    parts.add(Rank::Frame, sentence);
    for reader in &radius.downstream {
        parts.add(Rank::Reader, line(reader));
    }
}

fn line(reader: &Downstream) -> String {
    let planned = if reader.planned {
        ""
    } else {
        "; not planned in this run"
    };
    format!(
        "- {} (wave {}) reads {}{planned}\n",
        code(&reader.root),
        reader.wave,
        names(&reader.reads, MOST_NAMES)
    )
}
