//! Which roots have no plan because what they read was never applied.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::ids::Root;
use crate::core::plan::{Action, Draft, PlanResult, Planned};
use crate::engine::terraform::failure::Failure;

/// Makes results of all tries. A root that failed because an upstream has no state waits for the roots it reads that
/// this same pass found to have none; when none is known, it failed.
pub(super) fn settle(
    tries: Vec<(Root, Result<Draft, Failure>)>,
    reads: &BTreeMap<Root, BTreeSet<Root>>,
) -> Vec<Planned> {
    let unapplied: BTreeSet<Root> = tries
        .iter()
        .filter(|(_, result)| match result {
            Ok(draft) => creates_all(draft),
            Err(failure) => failure.lacks_state(),
        })
        .map(|(root, _)| root.clone())
        .collect();
    tries
        .into_iter()
        .map(|(root, result)| {
            let result = match result {
                Ok(draft) => PlanResult::Made(draft),
                Err(failure) if failure.lacks_state() => {
                    let upstreams = reads.get(&root).into_iter().flatten();
                    let waits_for: Vec<Root> = upstreams
                        .filter(|it| unapplied.contains(it))
                        .cloned()
                        .collect();
                    if waits_for.is_empty() {
                        failure.into_result()
                    } else {
                        PlanResult::Deferred { waits_for }
                    }
                }
                Err(failure) => failure.into_result(),
            };
            Planned { root, result }
        })
        .collect()
}

/// Whether a plan is that of a root without a state: it creates something, and nothing else.
fn creates_all(draft: &Draft) -> bool {
    let changes = draft.subject.changes.iter().map(|it| &it.actions);
    let outputs = draft.subject.outputs.iter().map(|it| &it.actions);
    let mut all = changes.chain(outputs).peekable();
    all.peek().is_some() && all.all(|it| it.as_slice() == [Action::Create])
}
