//! The right with which we speak to GitHub, for its API and for git.

use anyhow::ensure;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use octocrab::OctocrabBuilder;
use octocrab::{DefaultOctocrabBuilderConfig, NoAuth, NoSvc, NotLayerReady};
use secrecy::{ExposeSecret, SecretString};

use crate::core::hidden::Hidden;

type Builder = OctocrabBuilder<NoSvc, DefaultOctocrabBuilderConfig, NoAuth, NotLayerReady>;

/// How we prove who we are.
pub(super) enum Credentials {
    /// The access token of an account.
    Token(SecretString),
}

impl Credentials {
    /// Takes an account's token, without the line end a file puts after it.
    pub(super) fn token(token: &SecretString) -> anyhow::Result<Self> {
        let text = token.expose_secret().trim();
        ensure!(
            !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic()),
            "the access token is empty or holds a blank: write the token, and only it, into its file"
        );
        Ok(Self::Token(SecretString::from(text)))
    }

    /// Lets the API client use it.
    pub(super) fn enter(&self, builder: Builder) -> Builder {
        match self {
            Self::Token(token) => builder.personal_token(token.clone()),
        }
    }

    /// The `Authorization` header by which git may fetch and push.
    pub(super) fn git_authorization(&self) -> SecretString {
        match self {
            Self::Token(token) => {
                let pair = format!("x-access-token:{}", token.expose_secret());
                SecretString::from(format!("Basic {}", BASE64_STANDARD.encode(pair)))
            }
        }
    }

    /// Takes the secret out of a text that came from outside.
    pub(super) fn scrub(&self, text: &str) -> String {
        match self {
            Self::Token(token) => Hidden::new([("token", token.expose_secret())]).cover(text),
        }
    }
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
    fn git_gets_the_token_as_a_password() {
        let credentials = Credentials::token(&"hunter2\n".into()).unwrap();
        let expected = "Basic eC1hY2Nlc3MtdG9rZW46aHVudGVyMg==";
        assert_eq!(credentials.git_authorization().expose_secret(), expected);
    }
}
