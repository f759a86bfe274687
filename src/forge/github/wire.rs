//! GitHub's JSON, only the fields we use, read so that a null, a missing or an odd value never loses the rest.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::core::ids::{Actor, Branch, ForgeHost, Login, Repo, RepoId, RepoName, Sha, UserId};
use crate::core::person::{Review, Role, Verdict};

/// A field that may be missing, null, or of a type we do not know: then it holds nothing.
#[derive(Clone, Debug)]
pub(super) struct Maybe<T>(pub(super) Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        Ok(Self(serde_json::from_value(value).ok()))
    }
}

/// A number, also when it was written as text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(pub(super) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let number = value
            .as_u64()
            .or_else(|| value.as_str().and_then(|it| it.parse().ok()));
        number
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("not a number"))
    }
}

/// A point in time, also when it was written as seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(pub(super) Timestamp);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let time = match (value.as_i64(), value.as_str()) {
            (Some(seconds), _) => Timestamp::from_second(seconds).ok(),
            (None, Some(text)) => text.parse().ok(),
            (None, None) => None,
        };
        time.map(Self)
            .ok_or_else(|| serde::de::Error::custom("not a point in time"))
    }
}

/// An account.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct User {
    pub(super) id: Maybe<Number>,
    login: Maybe<Login>,
    r#type: Maybe<String>,
}

impl User {
    /// The account in our words; none without a number and a login.
    pub(super) fn actor(&self) -> Option<Actor> {
        let login = self.login.0.clone()?;
        let is_bot = self.r#type.0.as_deref() == Some("Bot") || login.as_str().ends_with("[bot]");
        Some(Actor {
            id: UserId(self.id.0?.0),
            login,
            is_bot,
        })
    }
}

/// Stands for an account that is gone. Nobody has its number, so it matches nobody.
pub(super) fn ghost() -> Actor {
    Actor {
        id: UserId(0),
        login: Login::try_from("ghost").expect("it is a login"),
        is_bot: false,
    }
}

/// A repository.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Repository {
    id: Maybe<Number>,
    full_name: Maybe<RepoName>,
}

impl Repository {
    /// Its number.
    pub(super) fn id(&self) -> Option<RepoId> {
        self.id.0.map(|it| RepoId(it.0))
    }

    /// The repository in our words; none without a number and a name.
    pub(super) fn repo(&self, host: &ForgeHost) -> Option<Repo> {
        Some(Repo {
            forge: host.clone(),
            id: self.id()?,
            name: self.full_name.0.clone()?,
        })
    }
}

/// A pull request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pull {
    pub(super) number: Maybe<Number>,
    pub(super) title: Maybe<String>,
    pub(super) html_url: Maybe<String>,
    pub(super) state: Maybe<String>,
    pub(super) draft: Maybe<bool>,
    pub(super) merged: Maybe<bool>,
    pub(super) merge_commit_sha: Maybe<Sha>,
    pub(super) user: Maybe<User>,
    pub(super) head: Maybe<Side>,
    pub(super) base: Maybe<Side>,
}

/// One side of a pull request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Side {
    pub(super) r#ref: Maybe<Branch>,
    pub(super) sha: Maybe<Sha>,
    /// Null when the fork is gone.
    pub(super) repo: Maybe<Repository>,
}

/// A comment on a pull request's conversation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Comment {
    pub(super) id: Maybe<Number>,
    pub(super) body: Maybe<String>,
    pub(super) html_url: Maybe<String>,
    pub(super) created_at: Maybe<Moment>,
    pub(super) updated_at: Maybe<Moment>,
    pub(super) user: Maybe<User>,
    /// The app a person or a bot wrote it with.
    pub(super) performed_via_github_app: Maybe<App>,
}

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

/// A line beside a commit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) context: Maybe<String>,
    pub(super) state: Maybe<String>,
    pub(super) description: Maybe<String>,
    pub(super) target_url: Maybe<String>,
    pub(super) creator: Maybe<User>,
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
    use serde_json::json;

    #[test]
    fn an_odd_value_is_lost_alone() {
        let pull: Pull = serde_json::from_value(json!({
            "number": "12", "title": 7, "draft": null, "merge_commit_sha": "main",
            "head": {"sha": "a".repeat(40), "repo": null}, "user": {"id": 1, "login": "ada", "type": 3},
        }))
        .unwrap();
        assert_eq!(pull.number.0.unwrap().0, 12);
        assert!(
            pull.title.0.is_none() && pull.draft.0.is_none() && pull.merge_commit_sha.0.is_none()
        );
        assert!(pull.head.0.unwrap().sha.0.is_some());
        assert_eq!(pull.user.0.unwrap().actor().unwrap().login.as_str(), "ada");
    }

    #[test]
    fn a_time_is_read_as_text_and_as_seconds() {
        for value in [json!("2026-11-30T20:15:00Z"), json!(1_796_069_700)] {
            let moment: Moment = serde_json::from_value(value).unwrap();
            assert_eq!(moment.0.to_string(), "2026-11-30T20:15:00Z");
        }
    }

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
