//! What handlers gather from: a repository's forge, its mirror, and the rules and roots at a commit.

use std::sync::Arc;

use anyhow::Context;

use crate::core::config::project::Project;
use crate::core::gate::{AtBase, Base};
use crate::core::ids::{Branch, Repo, Sha};
use crate::forge::Forge;
use crate::git::{Heads, Mirror};
use crate::handlers::App;
use crate::handlers::estates::{Estates, Read, project_at};

/// A repository's forge, the mirror of its git history, and what was read of its trees.
pub(super) struct Desk {
    pub(super) forge: Arc<dyn Forge>,
    pub(super) mirror: Mirror,
    estates: Estates,
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
        Ok(Self {
            forge,
            mirror,
            estates: app.estates.clone(),
        })
    }

    /// Where a branch of the remote is, fetched when it is not here yet, and which branch is the default: a merge may be
    /// asked about before its push has come in.
    pub(super) async fn heads(&self, branch: &Branch) -> anyhow::Result<Heads> {
        let heads = self.mirror.heads(branch).await?;
        if let Some(tip) = &heads.tip
            && !self.mirror.has(tip).await?
        {
            let name = format!("refs/heads/{branch}");
            self.mirror.fetch(&[&kept(&name)]).await?;
        }
        Ok(heads)
    }

    /// The rules and roots of a commit; or why they cannot be told, in a sentence.
    pub(super) async fn read(&self, commit: &Sha) -> anyhow::Result<Result<Arc<Read>, String>> {
        self.estates.read(&self.mirror, commit).await
    }

    /// The rules at the base of a change, or why they cannot be read: then nothing may apply.
    pub(super) async fn rules(
        &self,
        base: &Base,
    ) -> anyhow::Result<Result<AtBase<Project>, String>> {
        let project = project_at(&self.mirror, base.sha()).await?;
        Ok(project.map(|it| AtBase::read(base, it)))
    }
}

/// Keeps a remote ref under its own name in the mirror.
pub(super) fn kept(name: &str) -> String {
    format!("+{name}:{name}")
}
