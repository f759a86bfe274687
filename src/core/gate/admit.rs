//! The last check before anything applies: what was cleared against the plans in hand.

use std::collections::BTreeMap;

use crate::core::ids::{Digest, Root};
use crate::core::job::Clearance;
use crate::core::plan::digest::subject_sha256;
use crate::core::plan::{Draft, PlanResult, Planned};

/// Plans that passed their gate. Only [`admit`] makes one, and nothing applies without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cleared {
    plans: Vec<Planned>,
    set: Digest,
}

impl Cleared {
    /// The plans to apply, exactly as they were decided on.
    pub fn plans(&self) -> &[Planned] {
        &self.plans
    }

    /// The set digest they were cleared under.
    pub fn set(&self) -> &Digest {
        &self.set
    }
}

/// Why plans in hand are not the ones that were cleared. Nothing applies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCleared {
    #[error("the gate cleared no plan")]
    Nothing,
    #[error("the gate cleared {0}, but there is no plan of it here")]
    Missing(Root),
    #[error("the plan of {0} is not the one the gate cleared")]
    Other(Root),
    #[error("{0} plans a change that the gate did not clear")]
    NotAsked(Root),
    #[error("{0} has no plan, so the wave cannot apply")]
    Unplanned(Root),
    #[error("{0} is there twice")]
    Twice(Root),
}

/// Clears the plans a process holds, if they are exactly the ones the gate cleared.
pub fn admit(plans: Vec<Planned>, clearance: &Clearance) -> Result<Cleared, NotCleared> {
    let mut cleared = BTreeMap::new();
    for member in &clearance.members {
        let sha256 = member.subject_sha256.as_str();
        if cleared.insert(member.root.clone(), sha256).is_some() {
            return Err(NotCleared::Twice(member.root.clone()));
        }
    }
    if cleared.is_empty() {
        return Err(NotCleared::Nothing);
    }
    let mut admitted = Vec::new();
    for planned in plans {
        let draft = made(&planned)?;
        match cleared.remove(&planned.root) {
            Some(sha256) if subject_sha256(&draft.subject) == sha256 => admitted.push(planned),
            Some(_) => return Err(NotCleared::Other(planned.root)),
            None if admitted.iter().any(|it| it.root == planned.root) => {
                return Err(NotCleared::Twice(planned.root));
            }
            None if changes(draft) && !clearance.left_alone.contains(&planned.root) => {
                return Err(NotCleared::NotAsked(planned.root));
            }
            None => {}
        }
    }
    if let Some((missing, _)) = cleared.pop_first() {
        return Err(NotCleared::Missing(missing));
    }
    Ok(Cleared {
        plans: admitted,
        set: clearance.set.clone(),
    })
}

fn made(planned: &Planned) -> Result<&Draft, NotCleared> {
    match &planned.result {
        PlanResult::Made(draft) if draft.subject.root == planned.root => Ok(draft),
        PlanResult::Made(_) => Err(NotCleared::Other(planned.root.clone())),
        PlanResult::Failed { .. } | PlanResult::Deferred { .. } => {
            Err(NotCleared::Unplanned(planned.root.clone()))
        }
    }
}

fn changes(draft: &Draft) -> bool {
    !draft.subject.is_empty()
}
