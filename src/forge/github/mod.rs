//! GitHub, and GitHub Enterprise Server.

pub mod webhook;

use secrecy::SecretString;

use crate::core::config::server::ForgeOptions;

/// A GitHub instance, spoken to as one account.
pub struct GitHub {}

impl GitHub {
    /// Connects; makes no call.
    pub fn new(
        _options: &ForgeOptions,
        _token: SecretString,
        _http: reqwest::Client,
    ) -> anyhow::Result<Self> {
        Ok(Self {})
    }
}
