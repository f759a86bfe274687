//! GitHub's own JSON: what of it no other forge writes the same way.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::core::ids::Sha;
use crate::core::person::{Review, Role, Verdict};
use crate::forge::wire::{Maybe, Moment, Number, User};

/// An app: ourselves, or one that had a hand in something.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct App {
    pub(super) slug: Maybe<String>,
    pub(super) permissions: Maybe<BTreeMap<String, String>>,
    pub(super) events: Maybe<Vec<String>>,
}

/// An app on an account.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Installation {
    id: Maybe<Number>,
    pub(super) account: Maybe<User>,
    pub(super) permissions: Maybe<BTreeMap<String, String>>,
    /// There while an owner has it suspended.
    pub(super) suspended_at: Maybe<Moment>,
}

impl Installation {
    /// Its number; none while it is suspended.
    pub(super) fn active_id(&self) -> Option<u64> {
        let id = self.id.0.map(|it| it.0);
        id.filter(|_| self.suspended_at.0.is_none())
    }
}

/// A token that was made for an installation.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct InstallationToken {
    pub(super) token: Maybe<String>,
    pub(super) expires_at: Maybe<Moment>,
}

/// A review.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReviewAnswer {
    user: Maybe<User>,
    state: Maybe<String>,
    commit_id: Maybe<Sha>,
    submitted_at: Maybe<Moment>,
}

impl ReviewAnswer {
    /// The review in our words; none when nobody submitted it. A state we do not know counts as a comment.
    pub(super) fn review(&self) -> Option<Review> {
        let verdict = match self.state.0.as_deref() {
            Some("PENDING") => return None,
            Some("APPROVED") => Verdict::Approved,
            Some("CHANGES_REQUESTED") => Verdict::ChangesRequested,
            Some("DISMISSED") => Verdict::Dismissed,
            Some(_) | None => Verdict::Commented,
        };
        Some(Review {
            actor: self.user.0.as_ref()?.actor()?,
            verdict,
            commit: self.commit_id.0.clone(),
            at: self.submitted_at.0?.0,
        })
    }
}

/// What an account may do in a repository.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Permission {
    permission: Maybe<String>,
    role_name: Maybe<String>,
    pub(super) user: Maybe<User>,
}

impl Permission {
    /// The role by its name, or for a role an organization named itself by the permission it rests on.
    pub(super) fn role(&self) -> Role {
        let known = |name: &Maybe<String>| match name.0.as_deref()? {
            "admin" => Some(Role::Admin),
            "maintain" | "write" => Some(Role::Write),
            "triage" | "read" => Some(Role::Read),
            "none" => Some(Role::None),
            _ => None,
        };
        known(&self.role_name)
            .or_else(|| known(&self.permission))
            .unwrap_or(Role::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_role_is_read_by_its_name_and_else_by_its_permission() {
        let cases = [
            ("admin", "admin", Role::Admin),
            ("write", "maintain", Role::Write),
            ("read", "triage", Role::Read),
            ("write", "release captain", Role::Write),
            ("none", "none", Role::None),
            ("owner of all", "king", Role::None),
        ];
        for (permission, role_name, expected) in cases {
            let answer = json!({"permission": permission, "role_name": role_name});
            let read: Permission = serde_json::from_value(answer).unwrap();
            assert_eq!(read.role(), expected, "{permission} {role_name}");
        }
    }

    #[test]
    fn a_review_nobody_can_be_named_for_is_not_one() {
        let of = |state: &str, user: Value| {
            let answer = json!({"state": state, "user": user, "commit_id": null,
                "submitted_at": "2026-11-30T20:15:00Z"});
            let read: ReviewAnswer = serde_json::from_value(answer).unwrap();
            read.review().map(|it| it.verdict)
        };
        let ada = json!({"id": 1, "login": "ada"});
        assert_eq!(of("APPROVED", ada.clone()), Some(Verdict::Approved));
        assert_eq!(of("APPROVED", Value::Null), None);
        assert_eq!(of("PENDING", ada.clone()), None);
        assert_eq!(of("BLESSED", ada), Some(Verdict::Commented));
    }
}
