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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::core::job::ClearedMember;
    use crate::core::plan::{Action, Mode, OutputChange, Subject};

    fn root(name: &str) -> Root {
        Root::try_from(name).unwrap()
    }

    /// A plan whose output becomes `value`; one with nothing to do has none.
    fn planned(name: &str, value: Option<&str>) -> Planned {
        let output = |value| OutputChange {
            name: "url".to_owned(),
            actions: vec![Action::Update],
            before: Value::Null,
            after: json!(value),
        };
        let subject = Subject {
            root: root(name),
            mode: Mode::Normal,
            backend: Value::Null,
            workspace: "default".to_owned(),
            changes: Vec::new(),
            outputs: value.map(output).into_iter().collect(),
            source: Value::Null,
            key: None,
            told: None,
        };
        Planned {
            root: root(name),
            result: PlanResult::Made(Draft {
                subject,
                remarks: Vec::new(),
            }),
        }
    }

    fn clearance(plans: &[Planned]) -> Clearance {
        let member = |it: &Planned| ClearedMember {
            root: it.root.clone(),
            subject_sha256: subject_sha256(&made(it).unwrap().subject),
        };
        Clearance {
            set: Digest::try_from(format!("sha256:{}", "0".repeat(64))).unwrap(),
            use_id: None,
            members: plans.iter().map(member).collect(),
            left_alone: Vec::new(),
        }
    }

    fn app() -> Planned {
        planned("app", Some("one"))
    }

    fn db() -> Planned {
        planned("db", Some("two"))
    }

    #[test]
    fn exactly_what_was_cleared_is_admitted() {
        let idle = planned("web", None);
        let cleared = admit(vec![db(), idle, app()], &clearance(&[app(), db()])).unwrap();
        assert_eq!(cleared.plans(), [db(), app()]);
    }

    #[test]
    fn a_member_left_alone_is_not_applied() {
        let mut clearance = clearance(&[app()]);
        clearance.left_alone.push(root("db"));
        let cleared = admit(vec![app(), db()], &clearance).unwrap();
        assert_eq!(cleared.plans(), [app()]);
    }

    #[test]
    fn anything_else_is_not_admitted() {
        let both = clearance(&[app(), db()]);
        let failed = Planned {
            root: root("web"),
            result: PlanResult::Failed {
                why: "no".to_owned(),
                detail: String::new(),
            },
        };
        let mut borrowed = app();
        borrowed.root = root("db");
        let moved = planned("db", Some("three"));
        let other = NotCleared::Other(root("db"));
        let table = [
            (vec![app()], NotCleared::Missing(root("db"))),
            (vec![app(), moved], other.clone()),
            (vec![app(), borrowed], other),
            (
                vec![app(), planned("db", None)],
                NotCleared::Other(root("db")),
            ),
            (vec![app(), db(), app()], NotCleared::Twice(root("app"))),
            (
                vec![app(), db(), planned("web", Some("x"))],
                NotCleared::NotAsked(root("web")),
            ),
            (
                vec![app(), db(), failed],
                NotCleared::Unplanned(root("web")),
            ),
        ];
        for (plans, error) in table {
            assert_eq!(admit(plans, &both), Err(error));
        }
        let none = clearance(&[]);
        assert_eq!(admit(vec![app()], &none), Err(NotCleared::Nothing));
        let twice = clearance(&[app(), app()]);
        let error = NotCleared::Twice(root("app"));
        assert_eq!(admit(vec![app()], &twice), Err(error));
    }
}
