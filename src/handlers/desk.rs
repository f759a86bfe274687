//! What handlers gather from: a repository's forge, its mirror, and the rules at a commit.

use std::sync::Arc;

use anyhow::Context;

use crate::core::config::project::Project;
use crate::core::gate::{AtBase, Base};
use crate::core::ids::{Repo, Sha};
use crate::forge::Forge;
use crate::git::Mirror;
use crate::handlers::App;
use crate::handlers::estates::project_at;

/// A repository's forge and the mirror of its git history.
pub(super) struct Desk {
    pub(super) forge: Arc<dyn Forge>,
    pub(super) mirror: Mirror,
}

impl Desk {
    /// Opens a repository's desk; makes the mirror when there is none.
    pub(super) async fn open(app: &App, repo: &Repo) -> anyhow::Result<Self> {
        let forge = app.forge(repo)?;
        let remote = forge
            .remote(repo)
            .await
            .with_context(|| format!("cannot reach the git remote of {}", repo.name))?;
        let mirror = Mirror::open(&Mirror::folder(&app.mirrors, repo), Some(remote)).await?;
        Ok(Self { forge, mirror })
    }

    /// The rules at the base of a change, or why they cannot be read: then nothing may apply.
    pub(super) async fn rules(
        &self,
        base: &Base,
    ) -> anyhow::Result<Result<AtBase<Project>, String>> {
        let project = self.project(base.sha()).await?;
        Ok(project.map(|it| AtBase::read(base, it)))
    }

    /// The project file at a commit, the default where there is none, or every complaint about it.
    pub(super) async fn project(&self, commit: &Sha) -> anyhow::Result<Result<Project, String>> {
        project_at(&self.mirror, commit).await
    }
}
