//! The signature of a GitHub delivery: HMAC-SHA256 over the raw bytes, compared in constant time.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// Whether one of the secrets made `header` (`sha256=` and 64 hex digits) over these bytes.
pub(super) fn is_signed(secrets: &[SecretString], header: &[u8], body: &[u8]) -> bool {
    let Some(digits) = header.strip_prefix(b"sha256=") else {
        return false;
    };
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
        let header = format!("sha256={SIGNATURE}");
        assert!(is_signed_by(&["tide"], &header, BODY));
        assert!(is_signed_by(&["old", "tide"], &header, BODY));
        assert!(!is_signed_by(&["old", "new"], &header, BODY));
        assert!(!is_signed_by(&[], &header, BODY));
    }

    #[test]
    fn other_bytes_are_not_signed() {
        let header = format!("sha256={SIGNATURE}");
        assert!(!is_signed_by(&["tide"], &header, r#"{"a": "🚀"}"#));
    }

    #[test]
    fn a_header_that_is_not_a_signature_signs_nothing() {
        let short = format!("sha256={}", &SIGNATURE[2..]);
        let odd = format!("sha256=+f{}", &SIGNATURE[2..]);
        let sha1 = format!("sha1={SIGNATURE}");
        for header in ["", "sha256=", SIGNATURE, &short, &odd, &sha1, "sha256=ü"] {
            assert!(!is_signed_by(&["tide"], header, BODY), "{header}");
        }
    }
}
