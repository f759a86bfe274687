//! State in a forge's words, and the words that forges share.

use jiff::Timestamp;
use serde_json::Value;

use crate::core::ids::UserId;
use crate::core::person::Role;
use crate::sandbox::model::hook::Hook;
use crate::sandbox::model::pull::{Comment, Pull, Reaction, Review, Status};
use crate::sandbox::model::repo::Repo;

/// A forge's way of saying "no commit".
pub(crate) const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// State in a forge's words: one function for each object that every forge's API has.
pub(crate) trait Words {
    /// Somebody, as they see themselves.
    fn myself(&self, id: UserId) -> Value;
    /// Somebody, as others see them.
    fn user(&self, id: UserId) -> Value;
    /// A repository with what the caller may do in it.
    fn repo(&self, repo: &Repo, caller: UserId) -> Value;
    /// A repository as lists show it.
    fn listed_repo(&self, repo: &Repo, caller: UserId) -> Value;
    fn hook(&self, hook: &Hook) -> Value;
    fn pull(&self, pull: &Pull) -> Value;
    /// A pull request as lists show it.
    fn listed_pull(&self, pull: &Pull) -> Value;
    fn comment(&self, comment: &Comment) -> Value;
    fn reaction(&self, reaction: &Reaction) -> Value;
    fn review(&self, pull: &Pull, review: &Review) -> Value;
    fn status(&self, status: &Status) -> Value;
    /// The newest status of each context, and what they come to.
    fn statuses(&self, repo: &Repo, sha: &str, newest: &[&Status]) -> Value;
}

/// Forges tell seconds, no parts of them.
pub(crate) fn time(at: Timestamp) -> Value {
    Value::from(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A role's name.
pub(crate) fn role_name(role: Role) -> &'static str {
    match role {
        Role::None => "none",
        Role::Read => "read",
        Role::Write => "write",
        Role::Admin => "admin",
    }
}

/// Puts the fields of one object into another.
pub(crate) fn add(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}
