//! Whether git is here, and new enough for how we configure it.

use std::path::Path;

use crate::core::finding::Finding;
use crate::git::command;

/// The first version that takes its configuration from the environment (`GIT_CONFIG_COUNT`).
const OLDEST: (u32, u32) = (2, 31);

/// Looks for git and its version.
pub async fn check() -> Finding {
    let program = command::git(Path::new("/")).args(["version"]);
    match command::output(program, "ask git for its version").await {
        Ok(said) => judge(&String::from_utf8_lossy(&said)),
        Err(error) => Finding::fail(
            "git",
            format!("{error:#}"),
            "install git on the PATH of tidegate",
        ),
    }
}

fn judge(said: &str) -> Finding {
    let said = said.trim();
    let (major, minor) = OLDEST;
    match version(said) {
        Some(version) if version >= OLDEST => Finding::ok("git", said),
        Some(_) => Finding::fail(
            "git",
            format!("{said} is too old"),
            format!("install git {major}.{minor} or newer"),
        ),
        None => Finding::warn(
            "git",
            format!("cannot tell the version from `{said}`"),
            format!("tidegate needs git {major}.{minor} or newer"),
        ),
    }
}

fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_whitespace().nth(2)?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::finding::Level;

    #[test]
    fn a_git_that_does_not_read_its_configuration_from_us_fails() {
        for (said, level) in [
            ("git version 2.39.5\n", Level::Ok),
            ("git version 2.31.0", Level::Ok),
            ("git version 2.39.5 (Apple Git-154)", Level::Ok),
            ("git version 3.0.rc1", Level::Ok),
            ("git version 2.30.9", Level::Fail),
            ("git version 1.99.1", Level::Fail),
            ("gitlike", Level::Warn),
        ] {
            assert_eq!(judge(said).level, level, "{said}");
        }
    }
}
