//! What somebody who can push does to the ledger's branch with plain git, and what an administrator does about it.

use std::fs;

use crate::cli::{Ran, tidegate};
use crate::world::site::{REPO, token};
use crate::world::{ADA, World};

const BRANCH: &str = "chant/lifecycle";

impl World {
    /// Where the ledger's branch stands.
    pub(crate) async fn ledger_tip(&self) -> String {
        let all = ["+refs/heads/*:refs/remotes/forge/*"];
        self.site
            .git_as(ADA, REPO, &["fetch", "--quiet"], &all)
            .await;
        let tip = format!("refs/remotes/forge/{BRANCH}");
        self.site.git(&["rev-parse", &tip]).await
    }

    /// Pushes a commit on top of the ledger that makes of a file what somebody wants it to be.
    pub(crate) async fn push_to_ledger(
        &mut self,
        file: &str,
        write: impl FnOnce(String) -> String,
    ) {
        let tip = self.ledger_tip().await;
        self.site
            .git(&["checkout", "--quiet", "--force", "-B", "ledger", &tip])
            .await;
        let path = self.site.checkout().join(file);
        let text = write(fs::read_to_string(&path).unwrap_or_default());
        fs::write(&path, text).unwrap();
        self.site.commit("By hand").await;
        self.site.publish(ADA, REPO, BRANCH).await;
        self.settle().await;
    }

    /// Sets the ledger's branch to a commit, whatever stands there.
    pub(crate) async fn force_ledger(&mut self, commit: &str) {
        let refs = format!("+{commit}:refs/heads/{BRANCH}");
        self.site
            .git_as(ADA, REPO, &["push", "--quiet"], &[&refs])
            .await;
        self.settle().await;
    }

    /// Takes the ledger's branch away.
    pub(crate) async fn delete_ledger(&mut self) {
        let refs = format!(":refs/heads/{BRANCH}");
        self.site
            .git_as(ADA, REPO, &["push", "--quiet"], &[&refs])
            .await;
        self.settle().await;
    }

    /// Runs `tidegate ledger accept` on the server's machine; what follows from it may be under way.
    pub(crate) async fn accept_the_ledger(&self, arguments: &[&str]) -> Ran {
        let arguments = [&["ledger", "accept", REPO], arguments].concat();
        let mut command = tidegate(&self.place.home, &arguments);
        // The forge answers it from this thread.
        let output = tokio::task::spawn_blocking(move || command.output());
        let ran = Ran::from(output.await.unwrap().unwrap());
        for secret in [token("tide"), token(ADA)] {
            assert!(!ran.stdout.contains(&secret) && !ran.stderr.contains(&secret));
        }
        ran
    }

    /// The commit on `main`.
    pub(crate) async fn main(&self) -> String {
        self.ledger_tip().await;
        self.site
            .git(&["rev-parse", "refs/remotes/forge/main"])
            .await
    }

    /// The page of the newest rollout, as a browser gets it.
    pub(crate) async fn page_of_the_newest_rollout(&self) -> String {
        let newest = self.rollouts().await.pop().unwrap();
        let url = format!("http://{}/rollouts/{}", self.place.pages, newest.id);
        reqwest::get(url).await.unwrap().text().await.unwrap()
    }
}
