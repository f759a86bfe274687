//! What the plans of all waves do: failures and destroys in the open, the rest folded root by root.

use crate::core::note::diff;
use crate::core::note::fit::{Parts, Rank};
use crate::core::note::text::{capped, code, count, fence, fold, html, prose, tool_lines};
use crate::core::note::wave::{WaveView, doing, is_always_open};
use crate::core::plan::totals::ChangeKind;
use crate::core::plan::{Change, Mode, Plan, Remark};

/// The most of a tool's own words that is shown, in characters; the reason stands at their beginning.
const LONGEST_TOOL_TEXT: usize = 6_000;

/// Adds every root without a plan and every apply that failed, the reason first; the tool's own words are folded.
pub(super) fn add_failures(parts: &mut Parts, waves: &[WaveView]) {
    let unplanned: Vec<_> = waves.iter().flat_map(|it| &it.unplanned).collect();
    if !unplanned.is_empty() {
        let title = format!("\n**Not planned: {}**\n", count(unplanned.len(), "root"));
        parts.add(Rank::Frame, title);
    }
    for root in unplanned {
        let line = format!("\n{}: {}\n", code(&root.root), prose(&root.why));
        parts.add(Rank::Failure, line);
        if !root.detail.trim().is_empty() {
            let title = format!("What the tool said of <code>{}</code>", html(&root.root));
            let text = fence(
                "text",
                &tool_lines(&capped(&root.detail, LONGEST_TOOL_TEXT)),
            );
            parts.add(Rank::ToolText, fold(&title, &text));
        }
    }
    add_failed_applies(parts, waves);
}

fn add_failed_applies(parts: &mut Parts, waves: &[WaveView]) {
    let applied = waves.iter().flat_map(|it| it.applied);
    let mut failed: Vec<_> = applied
        .filter_map(|it| Some((&it.root, it.error.as_ref()?)))
        .collect();
    failed.sort();
    if failed.is_empty() {
        return;
    }
    let title = format!("\n**Not applied: {}**\n\n", count(failed.len(), "root"));
    parts.add(Rank::Frame, title);
    for (root, error) in failed {
        parts.add(
            Rank::Failure,
            format!("- {}: {}\n", code(root), prose(error)),
        );
    }
}

/// Adds everything that is destroyed, replaced or forgotten, with the reason.
pub(super) fn add_destroys(parts: &mut Parts, waves: &[WaveView]) {
    let plans = || waves.iter().flat_map(|it| &it.plans);
    let changes: Vec<(&Plan, &Change)> = plans()
        .flat_map(|plan| plan.subject.changes.iter().map(move |it| (*plan, it)))
        .filter(|(_, change)| is_always_open(change.kind()))
        .collect();
    let told: Vec<&Plan> = plans()
        .filter(|it| it.subject.told.is_some() && it.is_destructive())
        .copied()
        .collect();
    let number = changes.len() + told.len();
    if number == 0 {
        return;
    }
    let forgets = changes
        .iter()
        .any(|(_, it)| it.kind() == ChangeKind::Forget);
    let title = if forgets {
        "Destroyed, replaced or forgotten"
    } else {
        "Destroyed or replaced"
    };
    parts.add(Rank::Frame, format!("\n**{title}: {number}**\n\n"));
    for plan in told {
        let root = code(&plan.root);
        let line = format!("- **destroy or replace** in {root}: its plan command says no more\n");
        parts.add(Rank::Destroy, line);
    }
    for (plan, change) in changes {
        let line = format!(
            "- **{}** {} in {}{}\n",
            prose(&diff::doing(change)),
            code(&change.address),
            code(&plan.root),
            reason(plan, change)
        );
        parts.add(Rank::Destroy, line);
    }
}

fn reason(plan: &Plan, change: &Change) -> String {
    let about = |it: &&Remark| it.address.as_ref() == Some(&change.address);
    let mut reasons: Vec<String> = plan
        .remarks
        .iter()
        .filter(about)
        .map(|it| prose(&it.text))
        .collect();
    if plan.subject.mode == Mode::Destroy {
        reasons.push("the whole root is destroyed".to_owned());
    }
    if reasons.is_empty() {
        String::new()
    } else {
        format!(": {}", reasons.join("; "))
    }
}

/// Adds what tools remarked of a plan as a whole, such as a check that fails.
pub(super) fn add_remarks(parts: &mut Parts, waves: &[WaveView]) {
    for plan in waves.iter().flat_map(|it| &it.plans) {
        for remark in plan.remarks.iter().filter(|it| it.address.is_none()) {
            let line = format!("\n{}: {}\n", code(&plan.root), prose(&remark.text));
            parts.add(Rank::Failure, line);
        }
    }
}

/// Adds each root's changes, folded.
pub(super) fn add_diffs(parts: &mut Parts, waves: &[WaveView]) {
    for wave in waves {
        for plan in &wave.plans {
            add_diff(parts, wave, plan, "");
        }
        for plan in &wave.asked {
            add_diff(parts, wave, plan, ", as it was when it asked");
        }
    }
}

fn add_diff(parts: &mut Parts, wave: &WaveView, plan: &Plan, when: &str) {
    let Some(doing) = doing(&plan.totals()) else {
        return;
    };
    if plan.subject.told.is_some() {
        return add_told(parts, plan, &format!("wave {}{when}", wave.number));
    }
    let root = html(&plan.root);
    let title = format!("<code>{root}</code> (wave {}{when}): {doing}", wave.number);
    let diff = fence("diff", &diff::lines(&plan.subject));
    parts.add(Rank::Diff, fold(&title, &diff));
}

/// Adds what is known of a run of the project's own commands: there is no diff.
fn add_told(parts: &mut Parts, plan: &Plan, place: &str) {
    let does = if plan.is_destructive() {
        "destroys or replaces"
    } else {
        "changes something"
    };
    let (root, digest) = (code(&plan.root), code(plan.digest.short()));
    let line = format!("\n{root} ({place}) {does}, says its plan command: {digest}\n");
    parts.add(Rank::Diff, line);
}
