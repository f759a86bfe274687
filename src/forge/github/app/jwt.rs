//! What an app proves itself with: a signed statement that holds for minutes.

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::SecretString;
use serde::Serialize;

/// GitHub refuses a statement from its future, so it is dated back by as much as clocks may differ.
const BACK: SignedDuration = SignedDuration::from_secs(60);
/// GitHub refuses one that ends more than ten minutes after its own time; this leaves as much for clocks.
const GOOD: SignedDuration = SignedDuration::from_mins(8);

#[derive(Serialize)]
struct Claims {
    iss: String,
    iat: i64,
    exp: i64,
}

/// Signs that we are app `id`, for the minutes round `now`.
pub(super) fn sign(id: u64, key: &EncodingKey, now: Timestamp) -> anyhow::Result<SecretString> {
    let claims = Claims {
        iss: id.to_string(),
        iat: (now - BACK).as_second(),
        exp: (now + GOOD).as_second(),
    };
    let signed = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, key);
    Ok(signed
        .context("cannot sign with the app's private key")?
        .into())
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{DecodingKey, Validation};
    use secrecy::ExposeSecret;

    use super::*;
    use crate::forge::github::app::key;
    use crate::forge::github::app::tests::pem::{PKCS8, PUBLIC};

    #[test]
    fn a_statement_begins_a_minute_ago_and_ends_within_nine() {
        let now = Timestamp::from_second(1_796_069_700).unwrap();
        let key = key::read(&PKCS8.as_str().into()).unwrap();
        let signed = sign(4711, &key, now).unwrap();
        let mut validation = Validation::new(Algorithm::RS256);
        validation.validate_exp = false;
        let public = DecodingKey::from_rsa_pem(PUBLIC.as_bytes()).unwrap();
        let read =
            jsonwebtoken::decode::<serde_json::Value>(signed.expose_secret(), &public, &validation);
        let expected = serde_json::json!({
            "iss": "4711", "iat": 1_796_069_640, "exp": 1_796_070_180,
        });
        assert_eq!(read.unwrap().claims, expected);
    }
}
