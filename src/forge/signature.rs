//! The signature of a delivery: HMAC-SHA256 over the raw bytes, compared in constant time.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// Whether one of the secrets made these 64 hex digits over these bytes.
pub(super) fn is_signed(secrets: &[SecretString], digits: &[u8], body: &[u8]) -> bool {
    let Some(signature) = from_hex(digits) else {
        return false;
    };
    secrets.iter().any(|secret| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes())
            .expect("HMAC takes a key of any length");
        mac.update(body);
        mac.verify(&signature.into()).is_ok()
    })
}

fn from_hex(digits: &[u8]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    let value = char::from(byte).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with `openssl dgst -sha256 -hmac tide` over `{"a":"🚀"}`.
    const SIGNATURE: &str = "2c0c5e9519ce7a4db66bafbd63aaa1550727ae37ef778fa9c239c53c831e692c";
    const BODY: &str = r#"{"a":"🚀"}"#;

    fn is_signed_by(secrets: &[&str], header: &str, body: &str) -> bool {
        let secrets: Vec<SecretString> = secrets.iter().map(|&it| it.into()).collect();
        is_signed(&secrets, header.as_bytes(), body.as_bytes())
    }

    #[test]
    fn any_of_the_secrets_may_sign() {
        assert!(is_signed_by(&["tide"], SIGNATURE, BODY));
        assert!(is_signed_by(&["old", "tide"], SIGNATURE, BODY));
        assert!(!is_signed_by(&["old", "new"], SIGNATURE, BODY));
        assert!(!is_signed_by(&[], SIGNATURE, BODY));
    }

    #[test]
    fn other_bytes_are_not_signed() {
        assert!(!is_signed_by(&["tide"], SIGNATURE, r#"{"a": "🚀"}"#));
    }

    #[test]
    fn what_is_not_a_signature_signs_nothing() {
        let short = &SIGNATURE[2..];
        let odd = format!("+f{}", &SIGNATURE[2..]);
        let prefixed = format!("sha256={SIGNATURE}");
        for header in ["", "sha256=", short, &odd, &prefixed, "ü"] {
            assert!(!is_signed_by(&["tide"], header, BODY), "{header}");
        }
    }
}
