//! A forge instance as its webhook door knows it: which secrets sign, which repositories are served.

use anyhow::{Context, ensure};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use secrecy::{ExposeSecret, SecretString};

use crate::core::config::server::ForgeOptions;
use crate::core::event::Event;
use crate::core::ids::{Repo, RepoName};
use crate::forge::Ignored;

/// A forge instance that may deliver to us. There is none without a secret, so no delivery passes unsigned.
#[derive(Clone, Debug)]
pub struct ServedForge {
    pub options: ForgeOptions,
    secrets: Vec<SecretString>,
    repos: GlobSet,
}

impl ServedForge {
    /// Takes the accepted secrets, without the line end a file puts after them. Refuses none and empty ones, and
    /// repository patterns that are not patterns.
    pub fn new(options: ForgeOptions, secrets: Vec<SecretString>) -> anyhow::Result<Self> {
        let host = options.host();
        ensure!(
            !secrets.is_empty(),
            "{host} has no webhook secret: name at least one file in `webhook_secret_files`"
        );
        let secrets: Vec<_> = secrets.iter().map(without_line_end).collect();
        ensure!(
            secrets
                .iter()
                .all(|it| !it.expose_secret().trim().is_empty()),
            "a webhook secret of {host} is empty: anybody could sign with it, so write one into its file"
        );
        let repos = patterns(&options.repos)
            .with_context(|| format!("cannot use the `repos` patterns of {host}"))?;
        Ok(Self {
            options,
            secrets,
            repos,
        })
    }

    /// The secrets that may sign a delivery; never none.
    pub(super) fn secrets(&self) -> &[SecretString] {
        &self.secrets
    }

    /// Whether a repository is one of those served. Upper and lower case are the same, as they are to the forges.
    pub fn is_served(&self, repo: &RepoName) -> bool {
        self.repos.is_match(repo.as_str())
    }

    /// Passes on an event of a repository that is served, and of several only those that are.
    pub(super) fn admit(&self, event: Event) -> Result<Event, Ignored> {
        match event {
            Event::Installed { repos } => {
                self.served(repos).map(|repos| Event::Installed { repos })
            }
            Event::Removed { repos } => self.served(repos).map(|repos| Event::Removed { repos }),
            one => match self.is_about_served(&one) {
                true => Ok(one),
                false => Err(not_served()),
            },
        }
    }

    fn served(&self, repos: Vec<Repo>) -> Result<Vec<Repo>, Ignored> {
        let served: Vec<_> = repos
            .into_iter()
            .filter(|it| self.is_served(&it.name))
            .collect();
        if served.is_empty() {
            return Err(not_served());
        }
        Ok(served)
    }

    fn is_about_served(&self, event: &Event) -> bool {
        event.repos().iter().any(|it| self.is_served(&it.name))
    }
}

fn not_served() -> Ignored {
    Ignored("a repository that is not served".to_owned())
}

fn without_line_end(secret: &SecretString) -> SecretString {
    SecretString::from(secret.expose_secret().trim_end_matches(['\r', '\n']))
}

fn patterns(repos: &[String]) -> anyhow::Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in repos {
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .case_insensitive(true)
            .build()?;
        set.add(glob);
    }
    Ok(set.build()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::server::{Account, ForgeKind};

    fn options(repos: &[&str]) -> ForgeOptions {
        ForgeOptions {
            kind: ForgeKind::GitHub,
            url: "https://github.com".parse().unwrap(),
            api_url: "https://api.github.com".parse().unwrap(),
            account: Account::Token {
                file: "token".into(),
            },
            webhook_secret_files: Vec::new(),
            repos: repos.iter().map(|&it| it.to_owned()).collect(),
        }
    }

    #[test]
    fn a_forge_without_a_secret_is_refused() {
        for secrets in [vec![], vec![""], vec!["\n"], vec!["tide", " \r\n"]] {
            let secrets: Vec<SecretString> = secrets.into_iter().map(Into::into).collect();
            let refused = ServedForge::new(options(&["acme/*"]), secrets).unwrap_err();
            assert!(refused.to_string().contains("github.com"), "{refused}");
        }
    }

    #[test]
    fn a_secret_loses_the_line_end_of_its_file() {
        let forge = ServedForge::new(options(&["acme/*"]), vec!["tide\r\n".into()]).unwrap();
        assert_eq!(forge.secrets()[0].expose_secret(), "tide");
    }

    #[test]
    fn a_pattern_matches_whole_parts_of_a_name() {
        let cases = [
            ("acme/*", "acme/infra", true),
            ("acme/infra", "Acme/Infra", true),
            ("acme/*", "acme-evil/infra", false),
            ("acme/*", "acme/sub/infra", false),
            ("acme/infra", "evil-acme/infra", false),
            ("acme/infra", "acme/infra2", false),
            ("*", "acme/infra", false),
            ("*/infra-*", "acme/infra-net", true),
        ];
        for (pattern, name, expected) in cases {
            let forge = ServedForge::new(options(&[pattern]), vec!["tide".into()]).unwrap();
            let name = RepoName::try_from(name).unwrap();
            assert_eq!(forge.is_served(&name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn no_pattern_serves_nothing() {
        let forge = ServedForge::new(options(&[]), vec!["tide".into()]).unwrap();
        assert!(!forge.is_served(&RepoName::try_from("acme/infra").unwrap()));
    }
}
