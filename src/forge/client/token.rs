//! The right of an account's access token, for the API and for git.

use anyhow::ensure;
use async_trait::async_trait;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::{ExposeSecret, SecretString};

use crate::core::ids::{Actor, Repo};
use crate::forge::ForgeError;
use crate::forge::client::api::Api;
use crate::forge::client::{Right, user_of};

/// The access token of an account.
pub(in crate::forge) struct Token(SecretString);

impl Token {
    /// Takes what the account's file holds, without the line end it puts after the token.
    pub(in crate::forge) fn new(token: &SecretString) -> anyhow::Result<Self> {
        let text = token.expose_secret().trim();
        ensure!(
            !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic()),
            "the access token is empty or holds a blank: write the token, and only it, into its file"
        );
        Ok(Self(SecretString::from(text)))
    }
}

#[async_trait]
impl Right for Token {
    async fn bearer(&self, _: &Api, _: Option<&Repo>) -> Result<SecretString, ForgeError> {
        Ok(self.0.clone())
    }

    async fn gave_up(&self, _: Option<&Repo>, _: &SecretString) -> bool {
        false
    }

    async fn account(&self, api: &Api) -> Result<Actor, ForgeError> {
        user_of(api, &self.0).await
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
            let refused = Token::new(&bad.into()).err().unwrap().to_string();
            assert!(!refused.contains("hunter"), "{refused}");
        }
    }

    #[test]
    fn a_token_loses_the_line_end_of_its_file() {
        let token = Token::new(&"hunter2\n".into()).unwrap();
        assert_eq!(token.0.expose_secret(), "hunter2");
    }

    #[test]
    fn git_gets_the_token_as_a_password() {
        let expected = "Basic eC1hY2Nlc3MtdG9rZW46aHVudGVyMg==";
        assert_eq!(for_git(&"hunter2".into()).expose_secret(), expected);
    }
}
