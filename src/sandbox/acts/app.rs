//! What becomes of an installation, and the tokens it is given.

use jiff::{SignedDuration, Timestamp};

use crate::core::ids::RepoId;
use crate::core::key::hex;
use crate::core::person::Role;
use crate::sandbox::Sandbox;
use crate::sandbox::acts::Denied;
use crate::sandbox::model::Document;
use crate::sandbox::model::account::Token;
use crate::sandbox::model::app::{Installation, InstallationToken};
use crate::sandbox::model::happening::{Happening, InstallationChange, Place, What};

const NO_INSTALLATION: Denied = Denied::Missing("the installation");

/// A token that was just made; it is told once.
pub(crate) struct Minted {
    pub(crate) secret: String,
    pub(crate) expires_at: Timestamp,
}

impl Sandbox {
    /// Makes a token of an installation, for some of its repositories or for all it has.
    pub(crate) async fn mint(
        &self,
        installation: u64,
        repos: Option<Vec<RepoId>>,
        now: Timestamp,
    ) -> Result<Minted, Denied> {
        let mut bytes = [0; 20];
        getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
        let secret = format!("ghs_{}", hex(&bytes));
        self.desk
            .change(|document| {
                let held = document.installation(installation).ok_or(NO_INSTALLATION)?;
                check_repos(held, repos.as_deref())?;
                let seconds = document.app(held.app).token_seconds;
                let expires_at = now + SignedDuration::from_secs(seconds.into());
                document.tokens.retain(|it| it.expires_at > now);
                document.tokens.push(InstallationToken {
                    token: Token::of(&secret),
                    installation,
                    repos,
                    expires_at,
                });
                Ok(Minted { secret, expires_at })
            })
            .await
    }

    /// Lets every token of an installation run out, as an hour does.
    pub(crate) async fn expire(&self, installation: u64) -> Result<(), Denied> {
        self.desk
            .change(|document| {
                document.installation(installation).ok_or(NO_INSTALLATION)?;
                document.tokens.retain(|it| it.installation != installation);
                Ok(())
            })
            .await
    }

    /// Suspends an installation, takes it back into use, or takes it away, and tells the app.
    pub(crate) async fn change_installation(
        &self,
        id: u64,
        change: InstallationChange,
        now: Timestamp,
    ) -> Result<(), Denied> {
        self.change(now, |document, told| {
            let held = document.installation_mut(id).ok_or(NO_INSTALLATION)?;
            match change {
                InstallationChange::Created => {}
                InstallationChange::Suspended => held.suspended_at = Some(now),
                InstallationChange::Unsuspended => held.suspended_at = None,
                InstallationChange::Deleted => held.is_deleted = true,
            }
            told.push(happening(held, What::Installation(change)));
            Ok(())
        })
        .await
    }

    /// Gives an installation a repository of its account, or takes it away, and tells the app.
    pub(crate) async fn change_repos(
        &self,
        id: u64,
        (repo, is_given): (RepoId, bool),
        now: Timestamp,
    ) -> Result<(), Denied> {
        self.change(now, |document, told| {
            let bot = bot_of(document, id)?;
            let collaborators = &mut document.repo_mut(repo).collaborators;
            if is_given {
                collaborators.insert(bot, Role::Write);
            } else {
                collaborators.remove(&bot);
            }
            let held = document.installation_mut(id).ok_or(NO_INSTALLATION)?;
            held.repos.retain(|it| *it != repo);
            let (added, removed) = if is_given {
                held.repos.push(repo);
                (vec![repo], vec![])
            } else {
                (vec![], vec![repo])
            };
            let what = What::InstallationRepos { added, removed };
            told.push(happening(held, what));
            Ok(())
        })
        .await
    }
}

fn bot_of(document: &Document, installation: u64) -> Result<crate::core::ids::UserId, Denied> {
    let held = document.installation(installation).ok_or(NO_INSTALLATION)?;
    Ok(document.app(held.app).bot)
}

fn happening(held: &Installation, what: What) -> Happening {
    Happening {
        place: Place::Installation(held.id),
        actor: held.account,
        what,
    }
}

fn check_repos(held: &Installation, repos: Option<&[RepoId]>) -> Result<(), Denied> {
    if held.suspended_at.is_some() {
        let text = "This installation has been suspended";
        return Err(Denied::Forbidden(text.to_owned()));
    }
    if repos.is_some_and(|it| it.iter().any(|repo| !held.repos.contains(repo))) {
        let text = "There is at least one repository that does not exist or is not accessible to the parent installation.";
        return Err(Denied::Invalid(text.to_owned()));
    }
    Ok(())
}
