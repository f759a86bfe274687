//! The right with which we speak to GitHub, for its API and for git.

use anyhow::ensure;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::{ExposeSecret, SecretString};

use crate::core::config::server::Account;
use crate::core::ids::{Actor, Repo};
use crate::forge::github::api::{Api, Call};
use crate::forge::github::app::App;
use crate::forge::github::{incomplete, wire};
use crate::forge::{Clock, ForgeError};

/// How we prove who we are.
pub(super) enum Credentials {
    /// The access token of an account.
    Token(SecretString),
    /// An app's key, and the tokens it gets us.
    App(Box<App>),
}

impl Credentials {
    /// Takes what the account's file holds.
    pub(super) fn new(
        account: &Account,
        secret: &SecretString,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        match account {
            Account::Token { .. } => Self::token(secret),
            Account::App { id, .. } => Ok(Self::App(Box::new(App::new(*id, secret, clock)?))),
        }
    }

    /// Takes an account's token, without the line end a file puts after it.
    fn token(token: &SecretString) -> anyhow::Result<Self> {
        let text = token.expose_secret().trim();
        ensure!(
            !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic()),
            "the access token is empty or holds a blank: write the token, and only it, into its file"
        );
        Ok(Self::Token(SecretString::from(text)))
    }

    /// What proves our right to a repository, or to what everybody may see.
    pub(super) async fn bearer(
        &self,
        api: &Api,
        repo: Option<&Repo>,
    ) -> Result<SecretString, ForgeError> {
        match (self, repo) {
            (Self::Token(token), _) => Ok(token.clone()),
            (Self::App(app), Some(repo)) => app.token(api, repo).await,
            (Self::App(app), None) => app.any_token(api).await,
        }
    }

    /// Whether a bearer that the forge does not accept was given up, and another may be had.
    pub(super) async fn gave_up(&self, repo: Option<&Repo>, refused: &SecretString) -> bool {
        match (self, repo) {
            (Self::Token(_), _) | (Self::App(_), None) => false,
            (Self::App(app), Some(repo)) => {
                app.give_up(repo, refused).await;
                true
            }
        }
    }

    /// The account we act as.
    pub(super) async fn account(&self, api: &Api) -> Result<Actor, ForgeError> {
        match self {
            Self::Token(token) => {
                let answer = api.call_patiently(&Call::get("/user"), token).await?;
                let user: wire::User = answer.check("/user")?.parse("/user")?;
                user.actor().ok_or_else(|| incomplete("/user"))
            }
            Self::App(app) => app.account(api).await,
        }
    }
}

/// The `Authorization` header by which git may fetch and push.
pub(super) fn for_git(bearer: &SecretString) -> SecretString {
    let pair = format!("x-access-token:{}", bearer.expose_secret());
    SecretString::from(format!("Basic {}", BASE64_STANDARD.encode(pair)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_is_not_one_is_refused_without_showing_it() {
        for bad in ["", " \n", "hunter2\nhunter3", "hunter2 hunter3"] {
            let refused = Credentials::token(&bad.into()).err().unwrap().to_string();
            assert!(!refused.contains("hunter"), "{refused}");
        }
    }

    #[test]
    fn a_token_loses_the_line_end_of_its_file() {
        let Ok(Credentials::Token(token)) = Credentials::token(&"hunter2\n".into()) else {
            panic!("it is a token");
        };
        assert_eq!(token.expose_secret(), "hunter2");
    }

    #[test]
    fn git_gets_the_token_as_a_password() {
        let expected = "Basic eC1hY2Nlc3MtdG9rZW46aHVudGVyMg==";
        assert_eq!(for_git(&"hunter2".into()).expose_secret(), expected);
    }
}
