//! Names that must not be mixed up: parsed at the door, `as_str` inside.
//!
//! A name with a rule (40 or 64 hex digits, a path that cannot leave the checkout) is only ever made by
//! `try_from`; its serde form goes through the same check.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a text is not the name it was taken for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {wanted}")]
pub struct BadName {
    text: String,
    wanted: &'static str,
}

macro_rules! name {
    ($(#[doc = $doc:literal] $name:ident: $wanted:literal if $check:expr;)*) => {$(
        #[doc = $doc]
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<&str> for $name {
            type Error = BadName;
            fn try_from(text: &str) -> Result<Self, BadName> {
                let check: fn(&str) -> bool = $check;
                if check(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(BadName { text: text.chars().take(80).collect(), wanted: $wanted })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(text: String) -> Result<Self, BadName> {
                Self::try_from(text.as_str())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

name! {
    /// A commit or a tree: 40 or 64 lower-case hex digits.
    Sha: "a commit id (40 or 64 lower-case hex digits)" if is_sha;
    /// A root's path in its repository; `.` is the repository itself. Never absolute, never with `..`.
    Root: "a path inside the repository" if is_inside;
    /// A branch's short name, such as `main`.
    Branch: "a branch name" if is_branch;
    /// The op gates are recorded under: `tf-apply`, `tf-ephemeral`, or an Op spec's name.
    Op: "an op name (letters, digits, `-`, `_`)" if is_word;
    /// The gate a wave waits at, such as `wave-3`.
    Gate: "a gate name (letters, digits, `-`, `_`)" if is_word;
    /// What a plan, or a set of plans, would do: `jcs1-sha256:` or `sha256:` and 64 lower-case hex digits.
    Digest: "a plan digest (`jcs1-sha256:` and 64 hex digits)" if is_digest;
    /// A forge instance by its host, with the port when it has one: `github.com`, `127.0.0.1:8080`.
    ForgeHost: "a host name" if is_host;
    /// A repository's full name on its forge, such as `acme/infra`. An attribute, never a key.
    RepoName: "a repository name (`owner/name`)" if is_repo_name;
    /// A user's login on a forge. An attribute: approvals keep the numeric id beside it.
    Login: "a login" if is_login;
    /// A stored rollout.
    RolloutId: "a rollout id" if is_word;
    /// One delivery: the forge's own id, or ours for events of our own.
    DeliveryId: "a delivery id" if is_token;
}

impl Digest {
    /// The hex digits, without the prefix that names the algorithm.
    pub fn hex(&self) -> &str {
        self.0.rsplit(':').next().unwrap_or_default()
    }

    /// Whether both name the same plan: same digits under either prefix (`research`: both prefixes are in use).
    pub fn is_same(&self, other: &Self) -> bool {
        self.hex() == other.hex()
    }

    /// A short form for people: the first twelve digits.
    pub fn short(&self) -> &str {
        &self.hex()[..12]
    }
}

impl Sha {
    /// A short form for people: the first twelve digits.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }

    /// Whether it is the all-zero id with which forges say "no commit".
    pub fn is_zero(&self) -> bool {
        self.0.bytes().all(|it| it == b'0')
    }
}

impl Gate {
    /// The gate of a Terraform wave: `wave-<n>`.
    pub fn of_wave(number: WaveNumber) -> Self {
        Self(format!("wave-{number}"))
    }
}

impl Op {
    /// The op under which Terraform and Terragrunt waves are recorded.
    pub fn tf_apply() -> Self {
        Self("tf-apply".to_owned())
    }
}

macro_rules! number {
    ($(#[doc = $doc:literal] $name:ident($inner:ty);)*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

number! {
    /// A repository's number on its forge; it survives a rename.
    RepoId(u64);
    /// A user's number on their forge; it survives a rename.
    UserId(u64);
    /// A pull request's number in its repository (GitLab's `iid`).
    PullNumber(u64);
    /// A comment's number on its forge.
    CommentId(u64);
    /// A wave's number, counted from 1 over all roots of the repository.
    WaveNumber(u32);
    /// How often a part was tried, counted from 1. An older attempt is refused.
    Attempt(u32);
}

/// A repository: keyed by forge instance and number, named for people and addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Repo {
    pub forge: ForgeHost,
    pub id: RepoId,
    pub name: RepoName,
}

/// A pull request of a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pull {
    pub repo: Repo,
    pub number: PullNumber,
}

/// Somebody on a forge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Actor {
    pub id: UserId,
    pub login: Login,
    /// An app or a service account; it never commands.
    #[serde(default)]
    pub is_bot: bool,
}

impl Actor {
    /// Stands for an account that is gone, or that nobody can name. No account has its number.
    pub fn nobody() -> Self {
        Self {
            id: UserId(0),
            login: Login("ghost".to_owned()),
            is_bot: false,
        }
    }

    /// The principal's name on the ledger: `github:ada`, or `github@git.acme.example:ada` away from github.com.
    pub fn principal(&self, kind: &str, host: &ForgeHost) -> String {
        let login = self.login.as_str().to_lowercase();
        match (kind, host.as_str()) {
            ("github", "github.com") | ("gitlab", "gitlab.com") => format!("{kind}:{login}"),
            (_, host) => format!("{kind}@{host}:{login}"),
        }
    }
}

fn is_sha(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(is_lower_hex)
}

fn is_digest(text: &str) -> bool {
    let digits = text
        .strip_prefix("jcs1-sha256:")
        .or_else(|| text.strip_prefix("sha256:"));
    digits.is_some_and(|it| it.len() == 64 && it.bytes().all(is_lower_hex))
}

fn is_lower_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn is_inside(text: &str) -> bool {
    text == "."
        || (text.len() <= 1024
            && !text.contains(['\\', ':'])
            && !text.chars().any(char::is_control)
            && text
                .split('/')
                .all(|part| !matches!(part, "" | "." | "..") && part != ".git"))
}

/// The rules of `git check-ref-format` that a branch name must meet.
fn is_branch(text: &str) -> bool {
    let bad = [' ', '~', '^', ':', '?', '*', '[', '\\'];
    !text.is_empty()
        && text.len() <= 255
        && !text.starts_with('-')
        && !text.contains("..")
        && !text.contains("@{")
        && !text.chars().any(|c| c.is_control() || bad.contains(&c))
        && text
            .split('/')
            .all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

fn is_word(text: &str) -> bool {
    (1..=200).contains(&text.len())
        && text
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
}

fn is_token(text: &str) -> bool {
    (1..=300).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_graphic())
}

fn is_host(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"-.:[]".contains(&it))
}

fn is_repo_name(text: &str) -> bool {
    text.len() <= 500
        && text.contains('/')
        && text.split('/').all(|part| {
            !matches!(part, "" | "." | "..")
                && part
                    .bytes()
                    .all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
        })
}

/// Logins of all three forges, and of GitHub's apps (`slug[bot]`). A login stands in addresses, so never `..`.
fn is_login(text: &str) -> bool {
    (1..=255).contains(&text.len())
        && !matches!(text, "." | "..")
        && text
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"-_.[]".contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_never_leaves_the_checkout() {
        for bad in [
            "",
            "/etc",
            "..",
            "a/../b",
            "a//b",
            "./a",
            "a/",
            ".git/hooks",
            "a\\b",
            "c:x",
            "a\nb",
        ] {
            assert!(Root::try_from(bad).is_err(), "{bad:?}");
        }
        for good in [
            ".",
            "network",
            "envs/dev/db",
            "Prod/App",
            "a.b",
            "a+b",
            "ünïcode",
        ] {
            assert!(Root::try_from(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn no_name_holds_what_ends_a_line_or_colours_one() {
        for bad in [
            "a\nlevel=info",
            "a\r",
            "a\u{1b}[31m",
            "a\0",
            "a/b\n",
            "a\u{85}b",
        ] {
            let is_taken = [
                Root::try_from(bad).is_ok(),
                Branch::try_from(bad).is_ok(),
                Login::try_from(bad).is_ok(),
                RepoName::try_from(bad).is_ok(),
                ForgeHost::try_from(bad).is_ok(),
                DeliveryId::try_from(bad).is_ok(),
                Gate::try_from(bad).is_ok(),
                RolloutId::try_from(bad).is_ok(),
            ];
            assert_eq!(is_taken, [false; 8], "{bad:?}");
        }
    }

    #[test]
    fn names_that_differ_in_case_or_in_how_they_are_composed_are_different() {
        for (one, other) in [("prod", "Prod"), ("caf\u{e9}", "cafe\u{301}")] {
            assert_ne!(Root::try_from(one).unwrap(), Root::try_from(other).unwrap());
        }
    }

    #[test]
    fn a_name_is_checked_on_its_way_out_of_json_too() {
        assert!(serde_json::from_str::<Root>(r#""../x""#).is_err());
        assert!(serde_json::from_str::<Sha>(r#""main""#).is_err());
    }

    #[test]
    fn digests_are_the_same_under_either_prefix() {
        let of = |prefix: &str| Digest::try_from(format!("{prefix}:{}", "a".repeat(64))).unwrap();
        assert!(of("sha256").is_same(&of("jcs1-sha256")));
        for bad in ["sha256:AA", "jcs2-sha256:", "plan.json"] {
            assert!(Digest::try_from(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_principal_names_its_host_away_from_the_public_forges() {
        let ada = Actor {
            id: UserId(1),
            login: Login::try_from("Ada").unwrap(),
            is_bot: false,
        };
        assert_eq!(
            ada.principal("github", &ForgeHost::try_from("github.com").unwrap()),
            "github:ada"
        );
        assert_eq!(
            ada.principal("github", &ForgeHost::try_from("git.x:8").unwrap()),
            "github@git.x:8:ada"
        );
    }
}
