//! The git room against real repositories on this machine.

mod hostile;

use std::path::{Path, PathBuf};

use secrecy::SecretString;
use tempfile::TempDir;

use super::*;
use crate::core::ids::{Branch, Sha};
use crate::core::remote::Remote;

const ADA: Identity<'_> = Identity {
    name: "Ada",
    email: "ada@example.org",
};

/// A remote in a folder, and a mirror of it.
struct World {
    home: TempDir,
    mirror: Mirror,
}

impl World {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Mirror::open(&home.path().join("origin.git"), None)
            .await
            .unwrap();
        let mirror = Self::mirror_at(&home.path().join("mirrors/one.git"), home.path()).await;
        Self { home, mirror }
    }

    async fn mirror_at(dir: &Path, home: &Path) -> Mirror {
        Mirror::open(dir, Some(remote(home))).await.unwrap()
    }

    fn remote(&self) -> Remote {
        remote(self.home.path())
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a commit and pushes it.
    async fn land(&self, parent: Option<&Sha>, files: &[(&str, &str)]) -> Sha {
        let commit = write(&self.mirror, parent, files).await;
        let push = self.mirror.push_child(&main(), &commit, parent).await;
        assert_eq!(push.unwrap(), Push::Landed);
        commit
    }
}

fn remote(home: &Path) -> Remote {
    Remote {
        url: home.join("origin.git").display().to_string(),
        authorization: None,
    }
}

fn main() -> Branch {
    Branch::try_from("main").unwrap()
}

async fn write(mirror: &Mirror, parent: Option<&Sha>, files: &[(&str, &str)]) -> Sha {
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    let new = NewCommit {
        parent,
        files: &files,
        message: "Change files",
        by: ADA,
    };
    mirror.write_commit(new).await.unwrap()
}

#[tokio::test]
async fn a_commit_keeps_the_other_files_of_its_parent() {
    let world = World::new().await;
    let first = world.land(None, &[("a/x.tf", "1"), ("b.tf", "2")]).await;
    let second = world.land(Some(&first), &[("a/x.tf", "3")]).await;
    let texts = world.mirror.texts(&second, |_| true).await.unwrap();
    let texts: Vec<_> = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    assert_eq!(texts, [("a/x.tf", "3"), ("b.tf", "2")]);
}

#[tokio::test]
async fn a_branch_that_is_not_there_is_no_tip_and_no_error() {
    let world = World::new().await;
    assert_eq!(world.mirror.remote_tip(&main()).await.unwrap(), None);
}

#[tokio::test]
async fn a_remote_that_is_not_there_is_an_error_that_names_it() {
    let world = World::new().await;
    let gone = world.remote().url;
    std::fs::remove_dir_all(&gone).unwrap();
    let error = world.mirror.remote_tip(&main()).await.unwrap_err();
    assert!(format!("{error:#}").contains(&gone), "{error:#}");
}

#[tokio::test]
async fn a_tip_is_of_exactly_the_branch_asked_for() {
    let world = World::new().await;
    let commit = write(&world.mirror, None, &[("a.tf", "")]).await;
    let tricky = Branch::try_from("x/refs/heads/main").unwrap();
    world
        .mirror
        .push_child(&tricky, &commit, None)
        .await
        .unwrap();
    assert_eq!(world.mirror.remote_tip(&main()).await.unwrap(), None);
    assert_eq!(
        world.mirror.remote_tip(&tricky).await.unwrap(),
        Some(commit)
    );
}

#[tokio::test]
async fn a_push_never_overwrites_what_came_in_between() {
    let world = World::new().await;
    let first = world.land(None, &[("a.tf", "1")]).await;
    let mine = write(&world.mirror, Some(&first), &[("a.tf", "mine")]).await;
    let theirs = world.land(Some(&first), &[("a.tf", "theirs")]).await;
    let push = world.mirror.push_child(&main(), &mine, Some(&first)).await;
    assert_eq!(push.unwrap(), Push::Moved);
    assert_eq!(
        world.mirror.remote_tip(&main()).await.unwrap(),
        Some(theirs)
    );
}

#[tokio::test]
async fn a_push_does_not_undo_a_branch_that_was_set_back() {
    let world = World::new().await;
    let first = world.land(None, &[("a.tf", "1")]).await;
    let second = world.land(Some(&first), &[("a.tf", "2")]).await;
    let third = write(&world.mirror, Some(&second), &[("a.tf", "3")]).await;
    let set_back = command::git(&world.folder("origin.git")).args([
        "update-ref",
        "refs/heads/main",
        first.as_str(),
    ]);
    command::output(set_back, "set back").await.unwrap();
    let push = world
        .mirror
        .push_child(&main(), &third, Some(&second))
        .await;
    assert_eq!(push.unwrap(), Push::Moved);
    assert_eq!(world.mirror.remote_tip(&main()).await.unwrap(), Some(first));
}

#[tokio::test]
async fn a_new_branch_is_not_pushed_over_one_that_appeared() {
    let world = World::new().await;
    let mine = write(&world.mirror, None, &[("a.tf", "mine")]).await;
    world.land(None, &[("a.tf", "theirs")]).await;
    let push = world.mirror.push_child(&main(), &mine, None).await;
    assert_eq!(push.unwrap(), Push::Moved);
}

#[tokio::test]
async fn a_push_that_already_landed_is_landed() {
    let world = World::new().await;
    let first = world.land(None, &[("a.tf", "1")]).await;
    let again = world.mirror.push_child(&main(), &first, None).await;
    assert_eq!(again.unwrap(), Push::Landed);
}

#[tokio::test]
async fn a_push_that_the_remote_refuses_is_an_error_that_says_why() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new().await;
    let hook = world.folder("origin.git/hooks/update");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho protected branch >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let commit = write(&world.mirror, None, &[("a.tf", "")]).await;
    let push = world.mirror.push_child(&main(), &commit, None).await;
    let said = format!("{:#}", push.unwrap_err());
    assert!(said.contains("protected branch"), "{said}");
}

#[tokio::test]
async fn a_commit_is_only_pushed_on_top_of_its_own_parent() {
    let world = World::new().await;
    let first = world.land(None, &[("a.tf", "1")]).await;
    let orphan = write(&world.mirror, None, &[("a.tf", "2")]).await;
    let push = world
        .mirror
        .push_child(&main(), &orphan, Some(&first))
        .await;
    assert!(push.is_err());
}

#[tokio::test]
async fn fetches_into_one_mirror_may_run_side_by_side() {
    let world = World::new().await;
    let tip = world.land(None, &[("a.tf", "1")]).await;
    let dir = world.folder("mirrors/two.git");
    let (one, two) = tokio::join!(
        World::mirror_at(&dir, world.home.path()),
        World::mirror_at(&dir, world.home.path())
    );
    let fetched = tokio::join!(
        one.fetch_all_heads(),
        two.fetch_all_heads(),
        one.fetch_all_heads(),
        two.fetch(&["+refs/heads/main:refs/remotes/origin/main"])
    );
    assert!(matches!(fetched, (Ok(()), Ok(()), Ok(()), Ok(()))));
    assert!(one.has(&tip).await.unwrap());
}

#[tokio::test]
async fn a_branch_may_become_a_folder_of_branches() {
    let world = World::new().await;
    let commit = write(&world.mirror, None, &[("a.tf", "")]).await;
    let origin = world.folder("origin.git");
    for name in ["wave", "wave/one"] {
        let branch = Branch::try_from(name).unwrap();
        world
            .mirror
            .push_child(&branch, &commit, None)
            .await
            .unwrap();
        world.mirror.fetch_all_heads().await.unwrap();
        let delete =
            command::git(&origin).args(["update-ref", "-d", &format!("refs/heads/{name}")]);
        command::output(delete, "delete a branch").await.unwrap();
    }
}

#[tokio::test]
async fn a_commit_that_is_not_here_is_said_so() {
    let world = World::new().await;
    let missing = Sha::try_from("1".repeat(40)).unwrap();
    assert!(!world.mirror.has(&missing).await.unwrap());
    let mirror = &world.mirror;
    for error in [
        mirror.show(&missing, "a.tf").await.unwrap_err(),
        mirror.paths(&missing).await.unwrap_err(),
        mirror.changed(&missing, &missing).await.unwrap_err(),
        mirror.is_ancestor(&missing, &missing).await.unwrap_err(),
        mirror.commits(&missing, &missing).await.unwrap_err(),
    ] {
        let said = format!("{error:#}");
        assert!(said.contains("a commit is not in this copy"), "{said}");
    }
}

#[tokio::test]
async fn a_file_is_shown_as_it_was_at_a_commit() {
    let world = World::new().await;
    let first = world
        .land(None, &[("a b/ü.tf", "old\n"), ("empty", "")])
        .await;
    let second = world.land(Some(&first), &[("a b/ü.tf", "new")]).await;
    let show = |commit, path| world.mirror.show(commit, path);
    assert_eq!(show(&first, "a b/ü.tf").await.unwrap().unwrap(), b"old\n");
    assert_eq!(show(&second, "a b/ü.tf").await.unwrap().unwrap(), b"new");
    assert_eq!(show(&first, "empty").await.unwrap().unwrap(), b"");
    assert_eq!(show(&first, "a b").await.unwrap(), None);
    assert_eq!(show(&first, "*").await.unwrap(), None);
}

#[tokio::test]
async fn what_changed_names_both_sides_of_a_rename() {
    let world = World::new().await;
    let first = world.land(None, &[("a.tf", "same text\n")]).await;
    let elsewhere = write(&world.mirror, None, &[("b.tf", "same text\n")]).await;
    let changed = world.mirror.changed(&first, &elsewhere).await.unwrap();
    assert_eq!(changed, ["a.tf", "b.tf"]);
}

#[tokio::test]
async fn ancestry_is_told_by_commits() {
    let world = World::new().await;
    let first = world.land(None, &[("a.tf", "1")]).await;
    let left = write(&world.mirror, Some(&first), &[("a.tf", "l")]).await;
    let right = write(&world.mirror, Some(&first), &[("a.tf", "r")]).await;
    let stranger = write(&world.mirror, None, &[("z", "")]).await;
    let mirror = &world.mirror;
    assert_eq!(
        mirror.merge_base(&left, &right).await.unwrap(),
        Some(first.clone())
    );
    assert_eq!(mirror.merge_base(&left, &stranger).await.unwrap(), None);
    assert!(mirror.is_ancestor(&first, &left).await.unwrap());
    assert!(!mirror.is_ancestor(&left, &first).await.unwrap());
    assert_eq!(
        mirror.commits(&first, &left).await.unwrap(),
        std::slice::from_ref(&left)
    );
    let trees = (mirror.tree_of(&left).await, mirror.tree_of(&right).await);
    assert_ne!(trees.0.unwrap(), trees.1.unwrap());
}

#[tokio::test]
async fn a_checkout_has_exactly_the_commits_asked_for() {
    let world = World::new().await;
    let first = world.land(None, &[("a.tf", "1"), ("old.tf", "")]).await;
    let second = world.land(Some(&first), &[("a.tf", "2")]).await;
    let third = world.land(Some(&second), &[("a.tf", "3")]).await;
    let dir = world.folder("checkout");
    let clone = checkout(&dir, &world.remote(), &[&third, &first])
        .await
        .unwrap();
    assert_eq!(std::fs::read_to_string(dir.join("a.tf")).unwrap(), "3");
    assert_eq!(clone.changed(&first, &third).await.unwrap(), ["a.tf"]);
    assert!(!clone.has(&second).await.unwrap());
    let again = checkout(&dir, &world.remote(), &[&third]).await;
    assert!(format!("{:#}", again.unwrap_err()).contains("is not empty"));
}

#[tokio::test]
async fn a_symlink_is_never_read_as_a_file() {
    let world = World::new().await;
    let dir = world.folder("work");
    let first = world.land(None, &[("real.yml", "gate: always")]).await;
    checkout(&dir, &world.remote(), &[&first]).await.unwrap();
    std::os::unix::fs::symlink("real.yml", dir.join("tidegate.yml")).unwrap();
    let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
    for args in [&["add", "."][..], &["commit", "-qm", "link"]] {
        let git = command::git(&dir).args(who).args(args);
        command::output(git, "commit").await.unwrap();
    }
    let work = Repository::at(&dir);
    let head = command::output(work.git(["rev-parse", "HEAD"]), "head").await;
    let head = Sha::try_from(String::from_utf8(head.unwrap()).unwrap().trim()).unwrap();
    assert_eq!(work.paths(&head).await.unwrap(), ["real.yml"]);
    assert_eq!(work.symlinks(&head).await.unwrap(), ["tidegate.yml"]);
    let texts = work.texts(&head, |_| true).await.unwrap();
    assert_eq!(
        texts["tidegate.yml"], "real.yml",
        "a link is the path it holds"
    );
    assert!(work.show(&head, "tidegate.yml").await.is_err());
}

#[tokio::test]
async fn a_secret_is_in_the_environment_and_nowhere_else() {
    let world = World::new().await;
    let remote = Remote {
        url: "https://127.0.0.1:1/acme/infra.git".to_owned(),
        authorization: Some(SecretString::from("Basic c2VjcmV0")),
    };
    let program = command::git_with(world.home.path(), &remote);
    let show = program.args(["config", "--get-all", "http.extraHeader"]);
    let said = command::output(show, "show").await.unwrap();
    assert_eq!(said, b"Authorization: Basic c2VjcmV0\n");
    let mirror = Mirror::open(&world.folder("far.git"), Some(remote))
        .await
        .unwrap();
    let error = mirror.fetch_all_heads().await.unwrap_err();
    assert!(!format!("{error:#}").contains("c2VjcmV0"), "{error:#}");
}

#[tokio::test]
async fn a_folder_that_is_no_repository_is_not_looked_for_above() {
    let world = World::new().await;
    let inside = world.folder("mirrors/one.git/nothing");
    std::fs::create_dir_all(&inside).unwrap();
    let tip = Sha::try_from("1".repeat(40)).unwrap();
    let lost = Repository::at(&inside);
    assert!(lost.has(&tip).await.is_err());
}
