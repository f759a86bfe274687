//! A repository: who owns it, who may do what in it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::core::ids::{RepoId, UserId};
use crate::core::person::Role;

/// A repository; its commits are in the bare repository of the same number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Repo {
    pub(crate) id: RepoId,
    pub(crate) owner: UserId,
    pub(crate) name: String,
    pub(crate) is_public: bool,
    pub(crate) default_branch: String,
    pub(crate) collaborators: BTreeMap<UserId, Role>,
    #[serde(default)]
    pub(crate) teams: Vec<Team>,
    /// What it was forked from.
    pub(crate) parent: Option<RepoId>,
    /// The newest pull request's number.
    pub(crate) last_number: u64,
    pub(crate) created_at: Timestamp,
    pub(crate) pushed_at: Timestamp,
}

impl Repo {
    /// What somebody may do here. Everybody may read what is public.
    pub(crate) fn role(&self, user: UserId) -> Role {
        let given = self.collaborators.get(&user).copied();
        let owned = (self.owner == user).then_some(Role::Admin);
        let open = self.is_public.then_some(Role::Read);
        let teams = self.teams.iter().filter(|it| it.members.contains(&user));
        let by_team = teams.map(|it| it.role).max();
        [given, by_team, owned, open]
            .into_iter()
            .flatten()
            .max()
            .unwrap_or(Role::None)
    }
}

/// Some members of the organization that owns a repository, and what they may do in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Team {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) members: Vec<UserId>,
}
