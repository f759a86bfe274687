//! Forking a repository.

use std::collections::BTreeMap;

use crate::core::ids::RepoId;
use crate::core::person::Role;
use crate::sandbox::acts::{Act, Denied};
use crate::sandbox::model::Document;
use crate::sandbox::model::repo::Repo;

impl Act<'_> {
    /// Forks a repository to the actor's own name; one that is there is answered again.
    pub(crate) async fn fork(&self, parent: RepoId) -> Result<RepoId, Denied> {
        let fork = self
            .sandbox
            .desk
            .change(|document| self.add_fork(document, parent))
            .await?;
        let _lock = self.sandbox.lock(fork).await;
        self.sandbox.shelf.ensure(fork, Some(parent)).await?;
        Ok(fork)
    }

    fn add_fork(&self, document: &mut Document, parent: RepoId) -> Result<RepoId, Denied> {
        self.require(document, parent, Role::Read)?;
        let original = document.repo(parent).clone();
        let owner = document.account(self.actor).login.to_string();
        if let Some(there) = document.repo_by_name(&owner, &original.name) {
            if there.parent == Some(parent) {
                return Ok(there.id);
            }
            let text = "a repository of this name is there and is not a fork of this one";
            return Err(Denied::Invalid(text.to_owned()));
        }
        let id = document.next_repo();
        document.repos.push(Repo {
            id,
            owner: self.actor,
            collaborators: BTreeMap::new(),
            teams: Vec::new(),
            parent: Some(parent),
            last_number: 0,
            created_at: self.now,
            pushed_at: self.now,
            ..original
        });
        Ok(id)
    }
}
