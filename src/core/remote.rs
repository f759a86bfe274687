//! A git remote and the right to use it.

use secrecy::SecretString;

/// Where to fetch from and push to. The secret goes into git's environment, never into an argument or the URL.
#[derive(Clone, Debug)]
pub struct Remote {
    /// `https://host/owner/name.git`, without user or password.
    pub url: String,
    /// The whole value of the `Authorization` header, such as `Basic …`; none for a public or local remote.
    pub authorization: Option<SecretString>,
}
