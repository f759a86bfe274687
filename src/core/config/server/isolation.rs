//! Whom code of a pull request shares a user with, and so what it can read.

use super::ExecutorOptions;
use crate::core::finding::Finding;

const CHECK: &str = "job user";

impl ExecutorOptions {
    /// Warns where code of a pull request runs as the user of the server, or of jobs that apply.
    pub fn isolation(&self) -> Finding {
        let seen = "see docs/security.md";
        let Some(user) = &self.user else {
            let what = "jobs run as the server's own user: code of a pull request can read our database, key and tokens";
            return Finding::warn(CHECK, what, format!("set `executor.user`, {seen}"));
        };
        let applying = self.applying_user().unwrap_or(user);
        if applying == user {
            let what = format!(
                "jobs that plan and jobs that apply both run as {user}: code of a pull request can read and change what \
                 an apply works with"
            );
            return Finding::warn(CHECK, what, format!("set `executor.apply_user`, {seen}"));
        }
        let what = format!("jobs that plan run as {user}, jobs that apply as {applying}");
        Finding::ok(CHECK, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::server::JobUser;
    use crate::core::finding::Level;

    #[test]
    fn a_user_that_code_of_a_pull_request_shares_is_a_warning() {
        let named = |name: &str| Some(JobUser::Name(name.to_owned()));
        for (user, apply_user, level, what) in [
            (None, None, Level::Warn, "the server's own user"),
            (named("p"), None, Level::Warn, "both run as p"),
            (named("p"), named("p"), Level::Warn, "both run as p"),
            (named("p"), named("a"), Level::Ok, "jobs that apply as a"),
        ] {
            let options = ExecutorOptions {
                user,
                apply_user,
                ..ExecutorOptions::default()
            };
            let found = options.isolation();
            assert!(found.what.contains(what), "{found:?}");
            assert_eq!(found.level, level, "{found:?}");
            assert_eq!(found.hint.is_empty(), level == Level::Ok, "{found:?}");
        }
    }
}
