//! A commit's files on this machine, fetched without history.

use std::path::Path;

use anyhow::{Context, ensure};

use crate::core::ids::Sha;
use crate::core::remote::Remote;
use crate::git::command;
use crate::git::repository::Repository;

/// Fetches exactly these commits, one deep, into the empty folder `dir`, and checks the first one out. Filters of
/// `.gitattributes` do not run, submodules stay empty, symlinks become symlinks.
pub async fn checkout(dir: &Path, remote: &Remote, commits: &[&Sha]) -> anyhow::Result<Repository> {
    let first = commits.first().context("no commit to check out")?;
    tokio::fs::create_dir_all(dir).await?;
    let mut inside = tokio::fs::read_dir(dir).await?;
    ensure!(
        inside.next_entry().await?.is_none(),
        "cannot check out {first}: {} is not empty",
        dir.display()
    );
    let what = format!("check out {first} in {}", dir.display());
    let init = command::git(dir).args(["init", "--quiet", "--template="]);
    command::output(init, &what).await?;
    let fetch = command::git_with(dir, remote)
        .args([
            "fetch",
            "--quiet",
            "--depth",
            "1",
            "--no-tags",
            "--no-write-fetch-head",
        ])
        .args(["--", &remote.url])
        .args(commits.iter().map(|it| it.as_str()));
    command::output(fetch, &format!("fetch {first} from {}", remote.url)).await?;
    let switch =
        command::git(dir).args(["checkout", "--quiet", "--force", "--detach", first.as_str()]);
    command::output(switch, &what).await?;
    Ok(Repository::at(dir))
}
