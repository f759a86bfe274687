//! Job tokens: what a runner proves with that it is this attempt at this job, and nothing else.

use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::core::ids::Attempt;
use crate::core::job::JobKey;
use crate::core::key::DerivedKey;

/// How long a token is good for: longer than any job. Whether its job is still the current one, the store says.
pub const TIME_TO_LIVE: SignedDuration = SignedDuration::from_hours(24);

/// Why a token proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not a token, or not one that this server made.
    #[error("this is not a job token of this server")]
    NotOurs,
    #[error("this job token has run out")]
    Expired,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    sub: String,
    attempt: Attempt,
    exp: i64,
}

/// Makes the token of one job and attempt, good until `now` and `time_to_live`.
pub fn mint(
    key: &DerivedKey,
    job: &JobKey,
    now: Timestamp,
    time_to_live: SignedDuration,
) -> SecretString {
    let claims = Claims {
        sub: job.part.clone(),
        attempt: job.attempt,
        exp: (now + time_to_live).as_second(),
    };
    let signing = EncodingKey::from_secret(key.bytes());
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &signing)
        .expect("three plain claims can be signed with HMAC")
        .into()
}

/// Names the job a token was made for.
pub fn verify(
    key: &DerivedKey,
    token: &SecretString,
    now: Timestamp,
) -> Result<JobKey, TokenError> {
    let signing = DecodingKey::from_secret(key.bytes());
    let claims = jsonwebtoken::decode::<Claims>(token.expose_secret(), &signing, &checks())
        .map_err(|_| TokenError::NotOurs)?
        .claims;
    if claims.exp <= now.as_second() {
        return Err(TokenError::Expired);
    }
    Ok(JobKey {
        part: claims.sub,
        attempt: claims.attempt,
    })
}

/// Only our algorithm; the expiry is compared with the time we are given, not with the machine's.
fn checks() -> Validation {
    let mut checks = Validation::new(Algorithm::HS256);
    checks.validate_exp = false;
    checks.required_spec_claims.clear();
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::key::MasterKey;
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;

    fn key(byte: u8) -> DerivedKey {
        MasterKey::new([byte; 32]).for_tokens()
    }

    fn now() -> Timestamp {
        Timestamp::from_second(1_796_000_000).unwrap()
    }

    fn job(attempt: u32) -> JobKey {
        JobKey {
            part: "github.com/7#12/aaaa/plan".to_owned(),
            attempt: Attempt(attempt),
        }
    }

    #[test]
    fn a_token_names_its_job_and_attempt() {
        let token = mint(&key(7), &job(2), now(), TIME_TO_LIVE);
        assert_eq!(verify(&key(7), &token, now()), Ok(job(2)));
    }

    #[test]
    fn a_token_of_another_key_is_not_ours() {
        let token = mint(&key(8), &job(1), now(), TIME_TO_LIVE);
        assert_eq!(verify(&key(7), &token, now()), Err(TokenError::NotOurs));
    }

    #[test]
    fn a_token_runs_out_by_the_time_we_are_given() {
        let token = mint(&key(7), &job(1), now(), TIME_TO_LIVE);
        let moments = [
            (
                now() + TIME_TO_LIVE - SignedDuration::from_secs(1),
                Ok(job(1)),
            ),
            (now() + TIME_TO_LIVE, Err(TokenError::Expired)),
        ];
        for (moment, expected) in moments {
            assert_eq!(verify(&key(7), &token, moment), expected, "{moment}");
        }
    }

    #[test]
    fn a_token_whose_claims_were_changed_is_not_ours() {
        let token = mint(&key(7), &job(1), now(), TIME_TO_LIVE);
        let parts: Vec<&str> = token.expose_secret().split('.').collect();
        let claims = BASE64_URL_SAFE_NO_PAD.decode(parts[1]).unwrap();
        let claims = String::from_utf8(claims).unwrap();
        let raised = claims.replace("\"attempt\":1", "\"attempt\":2");
        assert_ne!(claims, raised);
        let raised = BASE64_URL_SAFE_NO_PAD.encode(raised);
        let forged = format!("{}.{raised}.{}", parts[0], parts[2]).into();
        assert_eq!(verify(&key(7), &forged, now()), Err(TokenError::NotOurs));
    }

    #[test]
    fn a_token_that_is_not_signed_is_not_ours() {
        let claims = r#"{"sub":"p","attempt":1,"exp":9999999999}"#;
        let unsigned = [r#"{"alg":"none","typ":"JWT"}"#, claims]
            .map(|it| BASE64_URL_SAFE_NO_PAD.encode(it))
            .join(".");
        for token in [
            format!("{unsigned}."),
            unsigned,
            String::new(),
            "x".to_owned(),
        ] {
            assert_eq!(
                verify(&key(7), &token.into(), now()),
                Err(TokenError::NotOurs)
            );
        }
    }
}
