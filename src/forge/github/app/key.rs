//! An app's private key as GitHub hands it out, and in the forms it gets on its way into a file.

use std::borrow::Cow;

use anyhow::{anyhow, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret, SecretString};

/// How a PEM file begins.
const BEGIN: &str = "-----BEGIN ";

/// Reads an RSA private key, PKCS#1 or PKCS#8 in PEM; also with `\n` written out, and wrapped in base64 once more.
/// No error shows a part of it.
pub(super) fn read(secret: &SecretString) -> anyhow::Result<EncodingKey> {
    let text = secret.expose_secret().trim().trim_matches('"');
    ensure!(
        !text.is_empty(),
        "the app's private key is empty: put the `.pem` file that GitHub gave there"
    );
    let text = unwrapped(text);
    check_label(&text)?;
    let key = EncodingKey::from_rsa_pem(text.as_bytes()).ok();
    let is_usable = |key: &EncodingKey| {
        let header = Header::new(Algorithm::RS256);
        jsonwebtoken::encode(&header, &serde_json::json!({}), key).is_ok()
    };
    key.filter(is_usable).ok_or_else(|| {
        anyhow!(
            "the app's private key is cut off or not an RSA key: make a new one on the app's settings page"
        )
    })
}

fn unwrapped(text: &str) -> Cow<'_, str> {
    let plain = |text: &str| text.replace("\\n", "\n");
    if text.starts_with(BEGIN) {
        return Cow::Owned(plain(text));
    }
    let packed: String = text.split_whitespace().collect();
    let unpacked = BASE64_STANDARD.decode(packed).ok();
    unpacked
        .and_then(|it| String::from_utf8(it).ok())
        .map_or(Cow::Borrowed(text), |it| Cow::Owned(plain(it.trim())))
}

fn check_label(text: &str) -> anyhow::Result<()> {
    let label = text
        .strip_prefix(BEGIN)
        .and_then(|it| it.split_once("-----"));
    let Some((label, rest)) = label else {
        bail!(
            "the app's private key is not a PEM file: it must begin with `-----BEGIN RSA PRIVATE KEY-----`"
        );
    };
    ensure!(
        !label.contains("ENCRYPTED") && !rest.contains("ENCRYPTED"),
        "the app's private key is encrypted: take the passphrase off (`openssl rsa -in key.pem`)"
    );
    let what = match label {
        "RSA PRIVATE KEY" | "PRIVATE KEY" => return Ok(()),
        "OPENSSH PRIVATE KEY" => "an SSH key",
        "EC PRIVATE KEY" => "an elliptic-curve key",
        "CERTIFICATE" => "a certificate",
        label if label.ends_with("PUBLIC KEY") => "a public key",
        _ => "something else",
    };
    bail!("the app's private key is {what}: put the `.pem` file that GitHub gave there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::github::app::tests::pem::{self, PKCS1, PKCS8};

    fn refusal(text: &str) -> String {
        let refused = read(&text.into()).err();
        refused
            .unwrap_or_else(|| panic!("{text} is a key"))
            .to_string()
    }

    #[test]
    fn a_key_is_read_in_each_form_it_comes_in() {
        for pem in [&*PKCS1, &*PKCS8] {
            let forms = [
                pem.clone(),
                format!("\n  {pem}\n\n"),
                pem.replace('\n', "\r\n"),
                pem.replace('\n', "\\n"),
                format!("\"{}\"", pem.replace('\n', "\\n")),
                BASE64_STANDARD.encode(pem),
            ];
            for form in forms {
                assert!(read(&form.as_str().into()).is_ok(), "{form}");
            }
        }
    }

    #[test]
    fn what_is_no_key_is_named_and_not_shown() {
        let cut: String = PKCS1.lines().take(5).collect::<Vec<_>>().join("\n");
        let locked = PKCS1.replacen('\n', "\nProc-Type: 4,ENCRYPTED\n\n", 1);
        let cases = [
            ("", "is empty"),
            (" \n", "is empty"),
            ("hunter2", "not a PEM file"),
            ("-----BEGIN", "not a PEM file"),
            (&pem::labelled("OPENSSH PRIVATE KEY", b"x"), "an SSH key"),
            (&pem::labelled("EC PRIVATE KEY", b"x"), "elliptic"),
            (&pem::labelled("PUBLIC KEY", b"x"), "a public key"),
            (&pem::labelled("CERTIFICATE", b"x"), "a certificate"),
            (&pem::labelled("ENCRYPTED PRIVATE KEY", b"x"), "encrypted"),
            (&locked, "encrypted"),
            (&pem::labelled("PRIVATE KEY", b"hunter2"), "not an RSA key"),
            (&cut, "cut off"),
        ];
        for (text, expected) in cases {
            let refusal = refusal(text);
            assert!(refusal.contains(expected), "{text}: {refusal}");
            assert!(!refusal.contains("hunter2") && !refusal.contains("MII"));
        }
    }
}
