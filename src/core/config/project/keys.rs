//! The keys of the project file.

use crate::core::config::commands;
use crate::core::config::keys::{Keys, Known, Shape, names};
use crate::core::config::project::{MODES, POLICIES};

/// Globs, one by one.
const GLOBS: Shape = Shape::List(&Shape::Text);

pub(in crate::core::config) const KEYS: Keys = Keys {
    read: &[
        Known::new(
            "roots",
            GLOBS,
            "found by what they hold",
            "globs of directories that are roots; `*` stays within one part, `**` does not",
        ),
        Known::new(
            "waves",
            Shape::Section(&WAVES),
            "none",
            "the order of roots beside what they read",
        ),
        Known::new(
            "gate",
            Shape::Words(|| names(&POLICIES)),
            "`on-destructive`",
            "when a wave waits: `always`, `on-destructive`, `never`",
        ),
        Known::new(
            "approval",
            Shape::Any(&[Shape::Words(|| names(&MODES)), Shape::Section(&APPROVAL)]),
            "`ledger`",
            "which approvals count: `ledger`, `pr-review`, `sealed`; or a map that says more",
        ),
        Known::new(
            "parallelism",
            Shape::Whole(1, 64),
            "4",
            "roots planned or applied at once (1 to 64)",
        ),
        Known::new(
            "commands",
            Shape::Section(&commands::KEYS),
            "Terraform or OpenTofu",
            "plan and apply roots with any other command, see below",
        ),
    ],
    later: &[
        "apply",
        "locks",
        "ephemeral",
        "reports",
        "terragrunt",
        "synth",
        "op_waves",
    ],
};

pub(super) const WAVES: Keys = Keys {
    read: &[
        Known::new("canary", GLOBS, "none", "globs of roots that go first"),
        Known::new(
            "after",
            Shape::Entries(&Shape::Some(&Shape::Text)),
            "none",
            "root or glob → roots or globs that go before it, where no state is read",
        ),
    ],
    later: &["jobs"],
};

pub(super) const APPROVAL: Keys = Keys {
    read: &[
        Known::new(
            "mode",
            Shape::Words(|| names(&MODES)),
            "`ledger`",
            "which approvals count",
        ),
        Known::new(
            "author",
            Shape::Flag,
            "`false`",
            "whether authors may approve their own change",
        ),
    ],
    later: &["quorum"],
};
