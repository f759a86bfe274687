//! Repositories that try to have git run, fetch or write what nobody asked for.

use super::*;

/// What an attack would leave behind.
const MARK: &str = "attacked";

/// A script that leaves the mark beside itself.
fn script(world: &World) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = world.folder("script");
    let mark = world.folder(MARK);
    std::fs::write(&path, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn is_attacked(world: &World) -> bool {
    world.folder(MARK).exists()
}

/// Runs git in a folder as the people who work there do.
async fn work(dir: &Path, args: &[&str]) {
    let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let git = command::git(dir).args(who).args(args);
    command::output(git, "work").await.unwrap();
}

async fn head(dir: &Path) -> Sha {
    let git = command::git(dir).args(["rev-parse", "HEAD"]);
    let said = command::output(git, "see HEAD").await.unwrap();
    Sha::try_from(String::from_utf8(said).unwrap().trim()).unwrap()
}

#[tokio::test]
async fn programs_that_a_repository_configures_do_not_run() {
    let world = World::new().await;
    let first = world.land(None, &[("a.tf", "1")]).await;
    let dir = world.folder("checkout");
    checkout(&dir, &world.remote(), &[&first]).await.unwrap();
    let script = script(&world);
    std::fs::create_dir_all(dir.join(".git/hooks")).unwrap();
    for hook in ["post-checkout", "post-index-change"] {
        std::fs::copy(&script, dir.join(".git/hooks").join(hook)).unwrap();
    }
    for key in ["core.fsmonitor", "core.sshCommand", "credential.helper"] {
        work(&dir, &["config", key, &script]).await;
    }
    std::fs::write(dir.join("a.tf"), "2").unwrap();
    work(&dir, &["status"]).await;
    work(&dir, &["checkout", "--force", "--detach", first.as_str()]).await;
    assert!(!is_attacked(&world));
}

#[tokio::test]
async fn filters_of_the_machine_do_not_run_on_what_a_repository_gives_them() {
    let world = World::new().await;
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n";
    let files = [(".gitattributes", attributes), ("a.bin", pointer)];
    let first = world.land(None, &files).await;
    let dir = world.folder("checkout");
    checkout(&dir, &world.remote(), &[&first]).await.unwrap();
    let filter = format!("[filter \"lfs\"]\n\tsmudge = {}\n", script(&world));
    std::fs::write(world.folder(".gitconfig"), &filter).unwrap();
    std::fs::remove_file(dir.join("a.bin")).unwrap();
    let again = command::git(&dir)
        .env("HOME", world.home.path())
        .env("GIT_CONFIG_SYSTEM", world.folder(".gitconfig"))
        .args(["checkout", "--force", "--detach", first.as_str()]);
    command::output(again, "check out").await.unwrap();
    let text = std::fs::read_to_string(dir.join("a.bin")).unwrap();
    assert_eq!((text.as_str(), is_attacked(&world)), (pointer, false));
}

#[tokio::test]
async fn submodules_are_not_fetched() {
    let world = World::new().await;
    let modules = "[submodule \"m\"]\n\tpath = m\n\turl = https://evil.example/m.git\n";
    let first = world.land(None, &[(".gitmodules", modules)]).await;
    let origin = world.folder("work");
    checkout(&origin, &world.remote(), &[&first]).await.unwrap();
    let link = format!("160000,{first},m");
    work(&origin, &["update-index", "--add", "--cacheinfo", &link]).await;
    work(&origin, &["commit", "--quiet", "--message", "link"]).await;
    let with_module = head(&origin).await;
    let remote = Remote {
        url: origin.display().to_string(),
        authorization: None,
    };
    let dir = world.folder("checkout");
    checkout(&dir, &remote, &[&with_module]).await.unwrap();
    let inside = std::fs::read_dir(dir.join("m")).unwrap();
    assert_eq!(inside.count(), 0);
}

#[tokio::test]
async fn a_link_out_of_the_checkout_is_not_written_through() {
    let world = World::new().await;
    let (origin, outside) = (world.folder("work"), world.folder("outside"));
    let first = world.land(None, &[("a.tf", "1")]).await;
    checkout(&origin, &world.remote(), &[&first]).await.unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, origin.join("out")).unwrap();
    work(&origin, &["add", "."]).await;
    work(&origin, &["commit", "--quiet", "--message", "link"]).await;
    let with_link = head(&origin).await;
    let remote = Remote {
        url: origin.display().to_string(),
        authorization: None,
    };
    let dir = world.folder("checkout");
    let clone = checkout(&dir, &remote, &[&with_link]).await.unwrap();
    assert!(dir.join("out").is_symlink());
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(clone.paths(&with_link).await.unwrap(), ["a.tf"]);
    assert_eq!(clone.show(&with_link, "out/a.tf").await.unwrap(), None);
}

#[tokio::test]
async fn remotes_that_start_programs_are_refused() {
    let world = World::new().await;
    let script = script(&world);
    for url in [
        format!("ext::{script}"),
        format!("ext::{script} http://x"),
        format!("ssh://-oProxyCommand={script}/x"),
        format!("-oProxyCommand={script}:x"),
        format!("--upload-pack={script}"),
    ] {
        let remote = Remote {
            url: url.clone(),
            authorization: None,
        };
        let dir = world.folder("far.git");
        let mirror = Mirror::open(&dir, Some(remote)).await.unwrap();
        assert!(mirror.fetch_all_heads().await.is_err(), "{url}");
        assert!(mirror.remote_tip(&main()).await.is_err(), "{url}");
        assert!(!is_attacked(&world), "{url}");
    }
}

#[tokio::test]
async fn a_ref_that_looks_like_an_option_is_a_ref() {
    let world = World::new().await;
    world.land(None, &[("a.tf", "1")]).await;
    let option = format!("--upload-pack={}", script(&world));
    assert!(world.mirror.fetch(&[&option]).await.is_err());
    assert!(Branch::try_from(option.as_str()).is_err());
    assert!(!is_attacked(&world));
}
