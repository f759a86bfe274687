//! The text of `/help`, made from the table of verbs.

use crate::core::command::{Spelling, VERBS, VerbRow};
use crate::core::config::project::ApprovalRules;
use crate::core::gate::{Mode, Policy};

/// What a repository allows, as its base commit says.
#[derive(Clone, Debug)]
pub struct Allowed {
    pub gate: Policy,
    pub approval: ApprovalRules,
    pub spelling: Spelling,
}

/// The help as Markdown: what this version carries, who may, and what is still to come.
pub fn help(allowed: &Allowed) -> String {
    let spelling = allowed.spelling;
    let rows = VERBS.iter().filter(|it| it.is_built);
    let rows: String = rows.map(|it| line_of(it, spelling)).collect();
    let later: Vec<String> = VERBS
        .iter()
        .filter(|it| !it.is_built)
        .map(|it| format!("`{}{}`", spelling.start(), it.word))
        .collect();
    format!(
        "A command is a line of its own in a new comment, and a comment may hold several.\n\n\
         | write | and tidegate |\n|---|---|\n{rows}\n\
         {who}\n\n{gate} {mode}\n\nNot in this version yet: {later}.\n",
        who = who(&allowed.approval),
        gate = gate(allowed.gate),
        mode = mode(allowed.approval.mode),
        later = later.join(", "),
    )
}

fn line_of(row: &VerbRow, spelling: Spelling) -> String {
    let usage = format!("{}{} {}", spelling.start(), row.word, row.arguments);
    format!("| `{}` | {} |\n", usage.trim_end(), row.does)
}

fn who(approval: &ApprovalRules) -> &'static str {
    if approval.author {
        "Whoever may write to this repository may say these; authors may approve their own change."
    } else {
        "Whoever may write to this repository may say these, but nobody approves their own change."
    }
}

fn gate(policy: Policy) -> &'static str {
    match policy {
        Policy::Always => "A wave waits for an approval when its plans change anything.",
        Policy::OnDestructive => {
            "A wave waits for an approval when its plans destroy or replace something."
        }
        Policy::Never => "No wave waits for an approval.",
    }
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Ledger => "An approval counts once it is on the ledger, as `/approve` puts it there.",
        Mode::PrReview => {
            "An approval counts once it is on the ledger, as `/approve` puts it there; \
             reviews do not count in this version yet."
        }
        Mode::Sealed => {
            "Only sealed approvals count here, and this version cannot check seals yet: \
             what waits stays waiting."
        }
    }
}
