//! Forgejo's own JSON: what of it no other forge writes the same way.

use serde::Deserialize;

use crate::core::ids::Sha;
use crate::core::person::{Review, Role, Verdict};
use crate::forge::wire::{Maybe, Moment, Number, User};

/// A review.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReviewAnswer {
    user: Maybe<User>,
    state: Maybe<String>,
    commit_id: Maybe<Sha>,
    submitted_at: Maybe<Moment>,
    /// Whether it counts for the forge: by the branch's rule, or because its author may write. Only the newest of each
    /// author is.
    official: Maybe<bool>,
    /// Whether what it is about changed since.
    stale: Maybe<bool>,
    dismissed: Maybe<bool>,
}

impl ReviewAnswer {
    /// The review in our words; none when nobody gave it. An approval that does not count is a comment, and so is a
    /// state that we do not know.
    pub(super) fn review(&self) -> Option<Review> {
        Some(Review {
            actor: self.user.0.as_ref()?.actor()?,
            verdict: self.verdict()?,
            commit: self.commit_id.0.clone(),
            at: self.submitted_at.0?.0,
        })
    }

    fn verdict(&self) -> Option<Verdict> {
        let counts = self.official.0 == Some(true) && self.stale.0 != Some(true);
        match self.state.0.as_deref() {
            Some("PENDING" | "REQUEST_REVIEW") => None,
            _ if self.dismissed.0 == Some(true) => Some(Verdict::Dismissed),
            Some("APPROVED") if counts => Some(Verdict::Approved),
            Some("REQUEST_CHANGES") => Some(Verdict::ChangesRequested),
            Some(_) | None => Some(Verdict::Commented),
        }
    }
}

/// What an account may do in a repository.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Permission {
    permission: Maybe<String>,
    pub(super) user: Maybe<User>,
}

impl Permission {
    /// The role of that name.
    pub(super) fn role(&self) -> Role {
        role(&self.permission)
    }
}

/// A team of an organization, and what its members may do in the repository it was asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Team {
    pub(super) id: Maybe<Number>,
    permission: Maybe<String>,
}

impl Team {
    /// What its members may do.
    pub(super) fn role(&self) -> Role {
        role(&self.permission)
    }
}

/// A repository's owner.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Owned {
    pub(super) owner: Maybe<User>,
}

fn role(name: &Maybe<String>) -> Role {
    match name.0.as_deref() {
        Some("owner" | "admin") => Role::Admin,
        Some("write") => Role::Write,
        Some("read") => Role::Read,
        Some(_) | None => Role::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_review_counts_only_while_it_is_official_and_neither_stale_nor_dismissed() {
        use Verdict::{Approved, ChangesRequested, Commented, Dismissed};
        let cases = [
            (
                json!({"state": "APPROVED", "official": true, "stale": false, "dismissed": false}),
                Some(Approved),
            ),
            (
                json!({"state": "APPROVED", "official": true}),
                Some(Approved),
            ),
            (
                json!({"state": "APPROVED", "official": false}),
                Some(Commented),
            ),
            (json!({"state": "APPROVED"}), Some(Commented)),
            (
                json!({"state": "APPROVED", "official": true, "stale": true}),
                Some(Commented),
            ),
            (
                json!({"state": "APPROVED", "official": true, "dismissed": true}),
                Some(Dismissed),
            ),
            (
                json!({"state": "REQUEST_CHANGES", "official": true}),
                Some(ChangesRequested),
            ),
            (
                json!({"state": "REQUEST_CHANGES", "stale": true}),
                Some(ChangesRequested),
            ),
            (
                json!({"state": "REQUEST_CHANGES", "dismissed": true}),
                Some(Dismissed),
            ),
            (
                json!({"state": "COMMENT", "official": true}),
                Some(Commented),
            ),
            (
                json!({"state": "BLESSED", "official": true}),
                Some(Commented),
            ),
            (json!({"state": "", "official": true}), Some(Commented)),
            (json!({"state": "PENDING", "official": true}), None),
            (json!({"state": "REQUEST_REVIEW", "official": true}), None),
        ];
        for (mut answer, expected) in cases {
            answer["user"] = json!({"id": 1, "login": "ada"});
            answer["submitted_at"] = json!("2026-11-30T20:15:00Z");
            let read: ReviewAnswer = serde_json::from_value(answer.clone()).unwrap();
            assert_eq!(read.review().map(|it| it.verdict), expected, "{answer}");
        }
    }

    #[test]
    fn a_review_of_a_team_or_of_somebody_gone_is_nobodys() {
        for user in [
            json!(null),
            json!({"id": -1, "login": "Ghost"}),
            json!({"login": "ada"}),
        ] {
            let answer = json!({"state": "APPROVED", "official": true, "user": user, "team": {"id": 3},
                "submitted_at": "2026-11-30T20:15:00Z"});
            let read: ReviewAnswer = serde_json::from_value(answer).unwrap();
            assert_eq!(read.review(), None, "{user}");
        }
    }

    #[test]
    fn a_role_nobody_told_us_of_is_none() {
        let names = ["owner", "admin", "write", "read", "none", "king"];
        let roles = names.map(|it| {
            let read: Permission = serde_json::from_value(json!({ "permission": it })).unwrap();
            read.role()
        });
        use Role::{Admin, None, Read, Write};
        assert_eq!(roles, [Admin, Admin, Write, Read, None, None]);
    }
}
