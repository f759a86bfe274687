//! The GitHub App that we are in some stories: its key, made for one run of the tests, and what its owner does to it.

use std::sync::LazyLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tidegate::sandbox::{SeedApp, SeedHook};

use crate::world::site::{REPO, Site};

/// The app's number.
pub(crate) const ID: u64 = 4711;

static KEY: LazyLock<KeyPair> = LazyLock::new(|| KeyPair::generate(KeySize::Rsa2048).unwrap());

/// What the app signs with.
pub(crate) fn private_key() -> String {
    let der: Pkcs8V1Der = KEY.as_der().unwrap();
    pem("PRIVATE KEY", der.as_ref())
}

/// The app as the forge knows it.
pub(crate) fn seed(hook: SeedHook) -> SeedApp {
    let der: PublicKeyX509Der = KEY.public_key().as_der().unwrap();
    SeedApp {
        id: ID,
        slug: "tide-app".to_owned(),
        public_key: pem("PUBLIC KEY", der.as_ref()),
        repos: vec![REPO.to_owned()],
        hook: Some(hook),
        permissions: [].into(),
        token_seconds: None,
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

impl Site {
    /// The app's installation on the repository.
    pub(crate) async fn installation(&self) -> u64 {
        let path = format!("/repos/{REPO}/installation");
        let found = self.ask_as_app(Method::GET, &path).await;
        found["id"].as_u64().unwrap()
    }

    /// Asks in the app's own name.
    pub(crate) async fn ask_as_app(&self, method: Method, path: &str) -> Value {
        self.ask_with(&statement(), method, path, Value::Null).await
    }

    /// Lets every token of the installation run out, as an hour does.
    pub(crate) async fn expire_tokens(&self) {
        let path = format!("sandbox/installations/{}/expire", self.installation().await);
        self.tell(Method::POST, &path).await;
    }

    /// Takes the repository away from the installation, or gives it back.
    pub(crate) async fn have_repo(&self, is_given: bool, installation: u64) {
        let (id, repo) = (installation, self.repo_id().await);
        let path = format!("sandbox/installations/{id}/repositories/{repo}");
        let method = if is_given {
            Method::PUT
        } else {
            Method::DELETE
        };
        self.tell(method, &path).await;
    }
}

/// A statement that the forge believes at this moment.
fn statement() -> String {
    let now = Timestamp::now().as_second();
    let claims = json!({ "iss": ID, "iat": now - 5, "exp": now + 60 });
    let key = EncodingKey::from_rsa_pem(private_key().as_bytes()).unwrap();
    jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &key).unwrap()
}
