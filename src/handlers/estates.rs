//! What a commit says its roots and rules are, read once for each tree.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::core::config::project::{self, Project};
use crate::core::estate::{Estate, is_estate_file};
use crate::core::ids::Sha;
use crate::git::Repository;

/// How many trees are remembered.
const MOST: usize = 16;

/// A commit's project file, and the roots that its files make under it.
#[derive(Debug)]
pub struct Read {
    pub project: Project,
    pub estate: Arc<Estate>,
}

/// What was read of the newest trees. Equal trees are equal files, so the name of a known one is all that git is asked.
#[derive(Clone, Default)]
pub struct Estates(Arc<Mutex<Trees>>);

/// What was read by the tree it was read from, the newest first.
type Trees = VecDeque<(Sha, Arc<Read>)>;

impl Estates {
    /// The rules and roots of a commit; or why they cannot be told, in a sentence.
    pub async fn read(
        &self,
        repository: &Repository,
        commit: &Sha,
    ) -> anyhow::Result<Result<Arc<Read>, String>> {
        let tree = repository.tree_of(commit).await?;
        if let Some(known) = self.known(&tree) {
            return Ok(Ok(known));
        }
        let project = match project_at(repository, commit).await? {
            Ok(project) => project,
            Err(why) => return Ok(Err(why)),
        };
        let files = repository.texts(commit, is_estate_file).await?;
        let estate = match Estate::read(&files, &project) {
            Ok(estate) => estate,
            Err(errors) => return Ok(Err(all(&errors, " "))),
        };
        let read = Arc::new(Read {
            project,
            estate: Arc::new(estate),
        });
        self.remember(tree, &read);
        Ok(Ok(read))
    }

    fn known(&self, tree: &Sha) -> Option<Arc<Read>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(it, _)| it == tree);
        found.map(|(_, read)| Arc::clone(read))
    }

    fn remember(&self, tree: Sha, read: &Arc<Read>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.truncate(MOST - 1);
        known.push_front((tree, Arc::clone(read)));
    }
}

/// The project file at a commit, the default where there is none, or every complaint about it.
pub(super) async fn project_at(
    repository: &Repository,
    commit: &Sha,
) -> anyhow::Result<Result<Project, String>> {
    let Some(bytes) = repository.show(commit, project::FILE).await? else {
        return Ok(Ok(Project::default()));
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(Err(format!(
            "{} at {} is not UTF-8",
            project::FILE,
            commit.short()
        )));
    };
    Ok(project::read(project::FILE, &text).map_err(|complaints| all(&complaints, "; ")))
}

fn all(mistakes: &[impl ToString], between: &str) -> String {
    let all: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
    all.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{Identity, Mirror, NewCommit};

    /// A commit of one root, or of nothing that can be read.
    async fn commit(mirror: &Mirror, message: &str, project: &str) -> Sha {
        let root = "provider \"aws\" {}\n";
        let files = [("app/main.tf", root), (project::FILE, project)];
        let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
        let by = Identity {
            name: "Ada",
            email: "ada@example.org",
        };
        let new = NewCommit {
            parent: None,
            files: &files,
            message,
            by,
        };
        mirror.write_commit(new).await.unwrap()
    }

    #[tokio::test]
    async fn a_tree_is_read_once_whatever_commits_have_it() {
        let home = tempfile::tempdir().unwrap();
        let mirror = Mirror::open(&home.path().join("x.git"), None)
            .await
            .unwrap();
        let estates = Estates::default();
        let read = async |message: &str, project: &str| {
            let commit = commit(&mirror, message, project).await;
            estates.read(&mirror, &commit).await.unwrap().unwrap()
        };
        let first = read("one", "parallelism: 2\n").await;
        let changed = read("two", "parallelism: 3\n").await;
        let again = read("three", "parallelism: 2\n").await;
        assert_eq!(
            (first.project.parallelism, changed.project.parallelism),
            (2, 3)
        );
        assert!(Arc::ptr_eq(&first, &again), "read again");
    }

    #[tokio::test]
    async fn what_cannot_be_told_is_said_each_time() {
        let home = tempfile::tempdir().unwrap();
        let mirror = Mirror::open(&home.path().join("x.git"), None)
            .await
            .unwrap();
        let commit = commit(&mirror, "one", "parallelism: many\n").await;
        let estates = Estates::default();
        for _ in 0..2 {
            let why = estates.read(&mirror, &commit).await.unwrap().unwrap_err();
            assert!(why.contains("parallelism"), "{why}");
        }
    }
}
