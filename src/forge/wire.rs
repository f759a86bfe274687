//! JSON that forges share, only the fields we use, read so that a null, a missing or an odd value never loses the rest.

use anyhow::anyhow;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::core::ids::{Actor, Branch, ForgeHost, Login, Repo, RepoId, RepoName, Sha, UserId};
use crate::forge::ForgeError;

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

/// An answer that lacks what we cannot do without.
pub(super) fn incomplete(path: &str) -> ForgeError {
    ForgeError::Other(anyhow!("{path} answered without what we need of it"))
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
    Actor::nobody()
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
    pub(super) merged_at: Maybe<Moment>,
    pub(super) merge_commit_sha: Maybe<Sha>,
    pub(super) updated_at: Maybe<Moment>,
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
    /// The app a person or a bot wrote it with; GitHub alone tells.
    pub(super) performed_via_github_app: Maybe<serde_json::Map<String, Value>>,
    pub(super) issue_url: Maybe<String>,
    /// There when it is about a pull request; Forgejo alone tells.
    pub(super) pull_request_url: Maybe<String>,
}

/// A line beside a commit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) context: Maybe<String>,
    state: Maybe<String>,
    /// Forgejo's name for its state.
    status: Maybe<String>,
    pub(super) description: Maybe<String>,
    pub(super) target_url: Maybe<String>,
    pub(super) creator: Maybe<User>,
}

impl Status {
    /// Its state, by whichever name the forge gives it.
    pub(super) fn state(&self) -> &Maybe<String> {
        match self.state.0 {
            Some(_) => &self.state,
            None => &self.status,
        }
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
}
