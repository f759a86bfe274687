//! Values that must not be shown: marked in a draft, keyed when sealed.
//!
//! A job puts the SHA-256 of a sensitive value in its place. That alone could be guessed back from a public digest,
//! so the server replaces it by an HMAC under a key no job holds. A draft comes from a job, and a job runs code of
//! the change it plans: nothing in a draft is taken for what it claims to be before it was checked here.

use serde_json::{Map, Value, json};

use crate::core::ids::Root;
use crate::core::key::DerivedKey;
use crate::core::plan::digest::{PLAN_KIND, canonical, digest, subject_sha256};
use crate::core::plan::{Draft, Plan, PlanResult, Planned, Subject};

/// Why a draft cannot be sealed: the job that sent it is wrong or lies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDraft {
    #[error("the plan of {root} holds a mark that no draft may hold: {mark}")]
    Mark { root: Root, mark: String },
    #[error("the plan of {root} says that it was sealed already")]
    AlreadySealed { root: Root },
    #[error("the plan of {root} holds more than its own command said of it")]
    ToldMore { root: Root },
    #[error("the plan that was sent for {root} is one of {of}")]
    OtherRoot { root: Root, of: Root },
}

/// A run as the gate sees it: its sealed plan, or why it has none.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    Planned(Box<Plan>),
    Failed {
        root: Root,
        why: String,
        detail: String,
    },
    /// It reads roots that have never applied.
    Deferred {
        root: Root,
        waits_for: Vec<Root>,
    },
}

impl Run {
    /// The run's root.
    pub fn root(&self) -> &Root {
        match self {
            Self::Planned(plan) => &plan.root,
            Self::Failed { root, .. } | Self::Deferred { root, .. } => root,
        }
    }
}

impl Planned {
    /// Seals what a job planned; an error means that nothing the job said may be used.
    pub fn seal(self, key: &DerivedKey) -> Result<Run, BadDraft> {
        let root = self.root;
        match self.result {
            PlanResult::Made(draft) if draft.subject.root != root => Err(BadDraft::OtherRoot {
                root,
                of: draft.subject.root,
            }),
            PlanResult::Made(draft) => Plan::seal(draft, key).map(|it| Run::Planned(Box::new(it))),
            PlanResult::Failed { why, detail } => Ok(Run::Failed { root, why, detail }),
            PlanResult::Deferred { waits_for } => Ok(Run::Deferred { root, waits_for }),
        }
    }
}

impl Plan {
    /// Seals a draft under the installation's key and digests it. A run of the project's own commands has the digest
    /// that its command says, and nothing to seal.
    pub fn seal(draft: Draft, key: &DerivedKey) -> Result<Self, BadDraft> {
        let sent_sha256 = subject_sha256(&draft.subject);
        let mut subject = draft.subject;
        if subject.key.is_some() {
            return Err(BadDraft::AlreadySealed { root: subject.root });
        }
        if let Some(told) = &subject.told {
            let digest = told.digest.clone();
            if subject != Subject::told(subject.root.clone(), told.clone()) {
                return Err(BadDraft::ToldMore { root: subject.root });
            }
            return Ok(Self {
                root: subject.root.clone(),
                digest,
                sent_sha256,
                subject,
                remarks: draft.remarks,
            });
        }
        seal_subject(&mut subject, key).map_err(|mark| BadDraft::Mark {
            root: subject.root.clone(),
            mark: mark.0,
        })?;
        subject.key = Some(key.id().to_owned());
        Ok(Self {
            root: subject.root.clone(),
            digest: digest(PLAN_KIND, &json!(subject)),
            sent_sha256,
            subject,
            remarks: draft.remarks,
        })
    }
}

/// A mark that is none of a draft's.
struct BadMark(String);

fn seal_subject(subject: &mut Subject, key: &DerivedKey) -> Result<(), BadMark> {
    let sealer = |place: Value| Sealer {
        key,
        place,
        path: Vec::new(),
    };
    sealer(json!(["backend"])).seal(&mut subject.backend)?;
    sealer(json!(["source"])).seal(&mut subject.source)?;
    for change in &mut subject.changes {
        // Both sides of a change share a place, so that an unchanged secret looks unchanged.
        let mut sealer = sealer(json!(["change", change.address, change.deposed]));
        sealer.seal(&mut change.before)?;
        sealer.seal(&mut change.after)?;
        if let Some(importing) = &mut change.importing {
            sealer.seal(importing)?;
        }
    }
    for output in &mut subject.outputs {
        let mut sealer = sealer(json!(["output", output.name]));
        sealer.seal(&mut output.before)?;
        sealer.seal(&mut output.after)?;
    }
    Ok(())
}

/// Seals the marks of one value. Place and path enter each HMAC, so that equal secrets do not look equal.
struct Sealer<'a> {
    key: &'a DerivedKey,
    place: Value,
    path: Vec<Value>,
}

impl Sealer<'_> {
    fn seal(&mut self, value: &mut Value) -> Result<(), BadMark> {
        match value {
            Value::Array(list) => {
                for (at, item) in list.iter_mut().enumerate() {
                    self.inside(json!(at), item)?;
                }
            }
            Value::Object(map) => match Mark::of(map)? {
                Some(Mark::Sensitive(sha256)) => *value = json!({ "$hmac": self.mac(&sha256) }),
                Some(Mark::Other) => {}
                None => {
                    for (key, item) in map.iter_mut() {
                        self.inside(json!(key), item)?;
                    }
                }
            },
            // Numbers come as marks; a bare one could be rounded on its way.
            Value::Number(number) => return Err(BadMark(number.to_string())),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
        Ok(())
    }

    fn inside(&mut self, step: Value, value: &mut Value) -> Result<(), BadMark> {
        self.path.push(step);
        let sealed = self.seal(value);
        self.path.pop();
        sealed
    }

    fn mac(&self, sha256: &str) -> String {
        self.key
            .mac_hex(&canonical(&json!([self.place, self.path, sha256])))
    }
}

/// A mark that a draft may hold.
enum Mark {
    Sensitive(String),
    /// The unknown, or a number: it stays as it is.
    Other,
}

impl Mark {
    /// Reads an object as a mark. One that is none has no key with a single `$`.
    fn of(map: &Map<String, Value>) -> Result<Option<Self>, BadMark> {
        let Some(name) = map
            .keys()
            .find(|key| key.starts_with('$') && !key.starts_with("$$"))
        else {
            return Ok(None);
        };
        let mark = match (name.as_str(), &map[name]) {
            _ if map.len() != 1 => None,
            ("$sensitive", Value::String(sha256)) if is_sha256(sha256) => {
                Some(Self::Sensitive(sha256.clone()))
            }
            ("$unknown", Value::Bool(true)) => Some(Self::Other),
            ("$number", Value::String(token)) if is_number(token) => Some(Self::Other),
            _ => None,
        };
        mark.map(Some)
            .ok_or_else(|| BadMark(name.chars().take(40).collect()))
    }
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a text is one JSON number and nothing else.
fn is_number(token: &str) -> bool {
    token.starts_with(|it: char| it == '-' || it.is_ascii_digit())
        && token.ends_with(|it: char| it.is_ascii_digit())
        && serde_json::from_str::<&serde_json::value::RawValue>(token).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::key::MasterKey;
    use crate::core::plan::op::Told;
    use crate::core::plan::{Action, Change, Mode};

    fn key(byte: u8) -> DerivedKey {
        MasterKey::new([byte; 32]).for_digests()
    }

    fn secret(digit: char) -> Value {
        json!({ "$sensitive": digit.to_string().repeat(64) })
    }

    fn draft(before: Value, after: Value) -> Draft {
        let root = Root::try_from("app").unwrap();
        let change = Change {
            address: "db.main".to_owned(),
            deposed: None,
            provider: "p".to_owned(),
            previous_address: None,
            actions: vec![Action::Update],
            importing: None,
            before,
            after,
        };
        let subject = Subject {
            root,
            mode: Mode::Normal,
            backend: json!({ "type": "local" }),
            workspace: "default".to_owned(),
            changes: vec![change],
            outputs: Vec::new(),
            source: Value::Null,
            key: None,
            told: None,
        };
        Draft {
            subject,
            remarks: Vec::new(),
        }
    }

    fn sealed(after: Value) -> Plan {
        Plan::seal(draft(json!({}), after), &key(1)).unwrap()
    }

    #[test]
    fn no_sensitive_mark_is_left_in_a_sealed_plan() {
        let plan = sealed(json!({ "password": secret('a'), "list": [secret('b')] }));
        let text = serde_json::to_string(&plan.subject).unwrap();
        assert!(
            !text.contains("$sensitive") && !text.contains("aaaa"),
            "{text}"
        );
        assert_eq!(text.matches("$hmac").count(), 2);
    }

    #[test]
    fn an_unchanged_secret_looks_unchanged_and_equal_secrets_do_not_look_equal() {
        let side = json!({ "one": secret('a'), "two": secret('a') });
        let plan = Plan::seal(draft(side.clone(), side), &key(1)).unwrap();
        let change = &plan.subject.changes[0];
        assert_eq!(change.before, change.after);
        assert_ne!(change.after["one"], change.after["two"]);
    }

    #[test]
    fn a_digest_moves_with_a_secret_and_with_the_key() {
        let plan = sealed(json!({ "password": secret('a') }));
        let other = sealed(json!({ "password": secret('b') }));
        let rotated = Plan::seal(
            draft(json!({}), json!({ "password": secret('a') })),
            &key(2),
        );
        assert_ne!(plan.digest, other.digest);
        assert_ne!(plan.digest, rotated.unwrap().digest);
        assert_eq!(
            plan.digest,
            sealed(json!({ "password": secret('a') })).digest
        );
    }

    #[test]
    fn what_was_sent_is_remembered_as_it_was_sent() {
        let draft = draft(json!({}), json!({ "password": secret('a') }));
        let sent = subject_sha256(&draft.subject);
        assert_eq!(Plan::seal(draft, &key(1)).unwrap().sent_sha256, sent);
    }

    #[test]
    fn a_draft_with_a_mark_it_may_not_hold_is_refused() {
        let marks = [
            json!({ "$hmac": "a".repeat(64) }),
            json!({ "$sensitive": "A".repeat(64) }),
            json!({ "$sensitive": "a".repeat(63) }),
            json!({ "$sensitive": 1 }),
            json!({ "$sensitive": "a".repeat(64), "note": "x" }),
            json!({ "$unknown": false }),
            json!({ "$number": "1 " }),
            json!({ "$number": "\"x\"" }),
            json!({ "$number": "1e" }),
            json!({ "$": 1 }),
            json!(7),
        ];
        for mark in marks {
            let sealed = Plan::seal(draft(json!({}), json!({ "x": [mark.clone()] })), &key(1));
            assert!(matches!(sealed, Err(BadDraft::Mark { .. })), "{mark}");
        }
    }

    #[test]
    fn a_users_own_dollar_keys_are_no_marks() {
        let user = json!({ "$$hmac": "x", "$$sensitive": { "$$": "y" } });
        assert_eq!(sealed(user.clone()).subject.changes[0].after, user);
    }

    #[test]
    fn a_draft_that_says_it_is_sealed_is_refused() {
        let mut draft = draft(json!({}), json!({}));
        draft.subject.key = Some(key(1).id().to_owned());
        let sealed = Plan::seal(draft, &key(1));
        assert!(matches!(sealed, Err(BadDraft::AlreadySealed { .. })));
    }

    #[test]
    fn a_plan_of_another_root_than_it_was_sent_for_is_refused() {
        let planned = Planned {
            root: Root::try_from("network").unwrap(),
            result: PlanResult::Made(draft(json!({}), json!({}))),
        };
        assert!(matches!(
            planned.seal(&key(1)),
            Err(BadDraft::OtherRoot { .. })
        ));
    }

    #[test]
    fn a_secret_in_the_backend_or_the_source_is_sealed_too() {
        let mut draft = draft(json!({}), json!({}));
        draft.subject.source = secret('c');
        draft.subject.backend = json!({ "token": secret('c') });
        let plan = Plan::seal(draft, &key(1)).unwrap();
        let hmacs = (
            &plan.subject.source["$hmac"],
            &plan.subject.backend["token"]["$hmac"],
        );
        assert!(hmacs.0.is_string() && hmacs.1.is_string());
        assert_ne!(hmacs.0, hmacs.1);
    }

    fn told() -> Draft {
        let (empty, destructive) = (false, true);
        let digest = digest("migrate", &json!({ "to": "7" }));
        let told = Told {
            digest,
            destructive,
            empty,
        };
        Draft {
            subject: Subject::told(Root::try_from("app").unwrap(), told),
            remarks: Vec::new(),
        }
    }

    #[test]
    fn a_run_of_own_commands_has_the_digest_that_its_command_says() {
        let plan = Plan::seal(told(), &key(1)).unwrap();
        assert_eq!(
            Some(&plan.digest),
            told().subject.told.as_ref().map(|it| &it.digest)
        );
        assert_eq!(plan.sent_sha256, subject_sha256(&told().subject));
        assert!(plan.is_destructive() && !plan.is_empty());
    }

    #[test]
    fn a_run_of_own_commands_that_shows_changes_beside_is_refused() {
        let mut draft = draft(json!({}), json!({}));
        draft.subject.told = told().subject.told;
        let sealed = Plan::seal(draft, &key(1));
        assert!(matches!(sealed, Err(BadDraft::ToldMore { .. })));
    }
}
