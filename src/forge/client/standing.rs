//! Whether a forge takes our access token, and what it lets us do in the repositories we serve.

use serde::Deserialize;
use serde_json::Value;

use crate::core::config::server::is_named_by;
use crate::core::finding::Finding;
use crate::core::ids::RepoName;
use crate::forge::ForgeError;
use crate::forge::check::Checkup;
use crate::forge::client::Client;
use crate::forge::wire::Maybe;

/// What one forge lets us see, or calls, otherwise than another.
pub(in crate::forge) struct Manner {
    /// The rights an access token needs, as people find them when they make one.
    pub(in crate::forge) rights: &'static str,
    /// What else there is to say of a repository where we may write.
    pub(in crate::forge) of_repo: fn(name: &str, repo: &str, seen: &Seen) -> Option<Finding>,
    /// What else there is to say of a hook that delivers to us.
    pub(in crate::forge) of_hook: fn(name: &str, repo: &str, hook: &Hook) -> Option<Finding>,
}

/// How many names a finding tells of those that it is about.
const MOST_NAMES: usize = 5;

/// A repository and what we may do in it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::forge) struct Seen {
    full_name: Maybe<RepoName>,
    archived: Maybe<bool>,
    /// Forgejo alone tells, where they can be turned off.
    pub(in crate::forge) has_pull_requests: Maybe<bool>,
    permissions: Maybe<Permissions>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Permissions {
    admin: Maybe<bool>,
    push: Maybe<bool>,
}

/// A webhook of a repository, and how its last delivery went.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::forge) struct Hook {
    active: Maybe<bool>,
    pub(in crate::forge) events: Maybe<Vec<String>>,
    pub(in crate::forge) config: Value,
    pub(in crate::forge) last_response: Value,
}

impl Seen {
    fn name(&self) -> String {
        self.full_name
            .0
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    fn may_push(&self) -> bool {
        let permissions = self.permissions.0.as_ref();
        permissions.is_some_and(|it| it.push.0 == Some(true))
    }

    /// Whether we are its administrator, and so may see its hooks.
    pub(in crate::forge) fn is_ours_to_administer(&self) -> bool {
        let permissions = self.permissions.0.as_ref();
        permissions.is_some_and(|it| it.admin.0 == Some(true))
    }
}

/// Asks who we are, and looks at the repositories; nothing else is asked of a forge that does not know us.
pub(in crate::forge) async fn check(
    client: &Client,
    checkup: &Checkup<'_>,
    manner: &Manner,
) -> Vec<Finding> {
    let name = checkup.name();
    let mut findings = match client.me().await {
        Ok(me) => vec![Finding::ok(&name, format!("we are {} there", me.login))],
        Err(error) => return vec![stranger(&name, &error)],
    };
    let globs = checkup.patterns();
    for repo in &checkup.exact_repos() {
        findings.extend(look_at(client, checkup, (manner, repo)).await);
    }
    if !globs.is_empty() {
        match client.at_large().list::<Seen>("/user/repos").await {
            Ok(seen) => findings.extend(globs.iter().map(|it| matching(&name, it, &seen))),
            Err(error) => findings.push(unasked(
                (&name, manner.rights),
                "list our repositories",
                &error,
            )),
        }
    }
    findings
}

fn stranger(name: &str, error: &ForgeError) -> Finding {
    let hint = match error {
        ForgeError::Forbidden(_) | ForgeError::NotFound(_) => {
            "make a new access token and write it into the `token_file`"
        }
        ForgeError::Limited { .. } => "wait, and see who else uses this account",
        ForgeError::Other(_) => "see that `api_url` is right and that this machine may reach it",
    };
    Finding::fail(name, format!("it does not say who we are: {error}"), hint)
}

fn unasked((name, rights): (&str, &str), what: &str, error: &ForgeError) -> Finding {
    let hint = format!("give the access token {rights}");
    Finding::fail(name, format!("cannot {what}: {error}"), hint)
}

async fn look_at(
    client: &Client,
    checkup: &Checkup<'_>,
    (manner, repo): (&Manner, &str),
) -> Vec<Finding> {
    let name = checkup.name();
    let line = client.at_large();
    let failed = |what: String, error: &ForgeError| unasked((&name, manner.rights), &what, error);
    let seen: Seen = match line.get(&format!("/repos/{repo}")).await {
        Ok(seen) => seen,
        Err(ForgeError::NotFound(_)) => {
            let hint = "give our account write access to it, or take it out of `repos`";
            return vec![Finding::fail(name, format!("we cannot see {repo}"), hint)];
        }
        Err(error) => return vec![failed(format!("look at {repo}"), &error)],
    };
    let mut findings = vec![judge(&name, repo, &seen)];
    if seen.may_push() {
        findings.extend((manner.of_repo)(&name, repo, &seen));
    }
    if seen.is_ours_to_administer() {
        match line.list::<Hook>(&format!("/repos/{repo}/hooks")).await {
            Ok(hooks) => findings.push(delivers(checkup, (manner, repo), &hooks)),
            // The right to see hooks is one we do not need otherwise.
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => {}
            Err(error) => findings.push(failed(format!("list the hooks of {repo}"), &error)),
        }
    }
    findings
}

fn judge(name: &str, repo: &str, seen: &Seen) -> Finding {
    if seen.archived.0 == Some(true) {
        let what = format!("{repo} is archived: nothing can be written there");
        return Finding::warn(name, what, "unarchive it, or take it out of `repos`");
    }
    if seen.may_push() {
        return Finding::ok(name, format!("we may write in {repo}"));
    }
    let what = format!("we may read {repo} and not write: no note, no status, no ledger");
    Finding::fail(name, what, "give our account the role `write` in it")
}

fn matching(name: &str, pattern: &str, seen: &[Seen]) -> Finding {
    let fits = |it: &&Seen| is_named_by(&it.name(), pattern);
    let (writable, other): (Vec<&Seen>, Vec<&Seen>) =
        seen.iter().filter(fits).partition(|it| it.may_push());
    if writable.is_empty() && other.is_empty() {
        let what = format!("no repository that we can see is named by `{pattern}`");
        let hint = "give our account write access to one, or mend `repos`";
        return Finding::warn(name, what, hint);
    }
    if other.is_empty() {
        let what = match writable.len() {
            1 => format!(
                "we may write in {}, named by `{pattern}`",
                writable[0].name()
            ),
            all => format!("we may write in all {all} repositories named by `{pattern}`"),
        };
        return Finding::ok(name, what);
    }
    let mut names: Vec<String> = other.iter().map(|it| it.name()).take(MOST_NAMES).collect();
    if other.len() > MOST_NAMES {
        names.push(format!("{} more", other.len() - MOST_NAMES));
    }
    let what = format!(
        "of those named by `{pattern}` we may not write in {}",
        names.join(", ")
    );
    let hint = "give our account the role `write` there, or make the pattern narrower";
    Finding::warn(name, what, hint)
}

fn delivers(checkup: &Checkup, (manner, repo): (&Manner, &str), hooks: &[Hook]) -> Finding {
    let wanted = checkup.hook.as_str();
    let here = |it: &&Hook| {
        let url = it.config["url"].as_str().unwrap_or_default();
        url.trim_end_matches('/').starts_with(wanted) && it.active.0 != Some(false)
    };
    let name = checkup.name();
    let Some(hook) = hooks.iter().find(here) else {
        let what = format!("no active webhook of {repo} delivers to {wanted}");
        let hint = "add one under Settings → Webhooks with one of our webhook secrets, or at the organization";
        return Finding::warn(name, what, hint);
    };
    let else_to_say = (manner.of_hook)(&name, repo, hook);
    else_to_say.unwrap_or_else(|| Finding::ok(&name, format!("{repo} delivers to {wanted}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::finding::Level;
    use serde_json::json;

    fn seen(name: &str, push: bool) -> Seen {
        let answer = json!({"full_name": name, "permissions": {"admin": false, "push": push}});
        serde_json::from_value(answer).unwrap()
    }

    #[test]
    fn a_pattern_tells_where_we_may_not_write() {
        let all = [
            seen("acme/a", true),
            seen("acme/b", false),
            seen("evil/a", false),
        ];
        let found = matching("github.com", "acme/*", &all);
        assert_eq!(found.level, Level::Warn);
        assert!(
            found.what.ends_with("we may not write in acme/b"),
            "{}",
            found.what
        );
        assert_eq!(matching("github.com", "acme/*", &all[..1]).level, Level::Ok);
        let none = matching("github.com", "acme/x*", &all);
        assert!(none.what.contains("no repository"), "{}", none.what);
    }

    #[test]
    fn a_repository_we_may_only_read_fails_and_an_archived_one_is_told() {
        assert_eq!(judge("x", "acme/a", &seen("acme/a", true)).level, Level::Ok);
        assert_eq!(
            judge("x", "acme/a", &seen("acme/a", false)).level,
            Level::Fail
        );
        let archived: Seen = serde_json::from_value(json!({"archived": true})).unwrap();
        assert_eq!(judge("x", "acme/a", &archived).level, Level::Warn);
    }
}
