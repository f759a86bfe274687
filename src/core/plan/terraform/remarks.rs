//! What people should know of a plan that its digest does not cover: why something is replaced, which checks fail.

use crate::core::plan::Remark;
use crate::core::plan::terraform::secrets::Secrets;
use crate::core::plan::terraform::tree::Reader;
use crate::core::plan::terraform::wire::{CheckJson, PlanJson, ResourceChange, Step};

/// Collects the remarks of a plan, in the order Terraform lists what they are about.
pub(super) fn of(plan: &PlanJson, reader: &Reader, secrets: &Secrets) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for entry in plan.resource_changes.iter().flatten() {
        let reason = entry.action_reason.as_deref().and_then(reason);
        let texts = reason.map(str::to_owned).into_iter().chain(forces(entry));
        // A path may lead through an element of a set, and name it by its value.
        let shown = texts.filter(|it| !secrets.are_in(it));
        remarks.extend(shown.map(|text| Remark {
            address: Some(reader.text(&entry.address)),
            text: reader.text(&text),
        }));
    }
    for check in plan.checks.iter().flatten() {
        remarks.extend(failures(check, secrets).map(|text| Remark {
            address: None,
            text: reader.text(&text),
        }));
    }
    remarks
}

/// Terraform's reason as a clause. What only repeats the action itself, or that a data source is read, is nothing.
fn reason(word: &str) -> Option<&'static str> {
    Some(match word {
        "replace_because_tainted" => "replaced because it is tainted",
        "replace_by_request" => "replaced because it was asked for",
        "replace_by_triggers" => "replaced because of `replace_triggered_by`",
        "delete_because_no_resource_config" => "no longer in the configuration",
        "delete_because_no_module" => "its module is no longer in the configuration",
        "delete_because_wrong_repetition" => "its address no longer fits `count` or `for_each`",
        "delete_because_count_index" => "its index is past `count`",
        "delete_because_each_key" => "its key is no longer in `for_each`",
        "delete_because_no_move_target" => "moved to an address that is not in the configuration",
        _ => return None,
    })
}

/// Which attributes force a replacement.
fn forces(entry: &ResourceChange) -> impl Iterator<Item = String> {
    entry
        .change
        .replace_paths
        .iter()
        .flatten()
        .map(|path| format!("`{}` forces a replacement", attribute(path)))
}

fn attribute(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Name(name) if text.is_empty() => text += name,
            Step::Name(name) => text = format!("{text}.{name}"),
            Step::Index(index) => text = format!("{text}[{index}]"),
            Step::Other(_) => text += "[…]",
        }
    }
    text
}

fn failures<'a>(check: &'a CheckJson, secrets: &'a Secrets) -> impl Iterator<Item = String> + 'a {
    let fails = matches!(check.status.as_str(), "fail" | "error");
    let instances = check.instances.iter().flatten().filter(move |_| fails);
    let problems = instances.flat_map(|it| it.problems.iter().flatten());
    problems.map(|it| {
        let name = &check.address.to_display;
        if secrets.are_in(name) {
            "a check fails, with a name that holds a secret".to_owned()
        } else if secrets.are_in(&it.message) {
            format!("{name} fails, with a message that holds a secret")
        } else {
            format!("{name} fails: {}", it.message)
        }
    })
}
