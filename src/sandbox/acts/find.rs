//! Finding the pull requests of a commit.

use crate::core::ids::{RepoId, Sha};
use crate::sandbox::acts::{Act, Denied};
use crate::sandbox::model::pull::Pull;

impl Act<'_> {
    /// The pull requests whose merge made a commit or that hold it; once it is in the default branch, merged ones only.
    pub(crate) async fn pulls_with(&self, repo: RepoId, sha: &Sha) -> Result<Vec<Pull>, Denied> {
        let shelf = &self.sandbox.shelf;
        let (pulls, branch) = {
            let document = self.sandbox.desk.read().await;
            let pulls: Vec<Pull> = document.pulls_of(repo).cloned().collect();
            (pulls, document.repo(repo).default_branch.clone())
        };
        let is_in_default = match shelf.tip(repo, &branch).await? {
            Some(tip) => shelf.is_ancestor(repo, sha, &tip).await?,
            None => false,
        };
        let mut found = Vec::new();
        for pull in pulls {
            let is_its_merge = pull.merge.as_ref().is_some_and(|it| it.commit == *sha);
            let may_count = pull.merge.is_some() || !is_in_default;
            if is_its_merge || (may_count && self.holds(&pull, sha).await?) {
                found.push(pull);
            }
        }
        Ok(found)
    }

    async fn holds(&self, pull: &Pull, sha: &Sha) -> Result<bool, Denied> {
        let (shelf, repo) = (&self.sandbox.shelf, pull.key.repo);
        let is_in_head = shelf.is_ancestor(repo, sha, &pull.head.sha).await?;
        Ok(is_in_head && !shelf.is_ancestor(repo, sha, &pull.base.sha).await?)
    }
}
