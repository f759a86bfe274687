//! A private key made for these tests, in the forms GitHub and its neighbours write keys in.

use std::sync::LazyLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

static KEY: LazyLock<KeyPair> = LazyLock::new(|| KeyPair::generate(KeySize::Rsa2048).unwrap());

/// As `openssl genpkey` writes it.
pub(in crate::forge::github) static PKCS8: LazyLock<String> = LazyLock::new(|| {
    let der: Pkcs8V1Der = KEY.as_der().unwrap();
    labelled("PRIVATE KEY", der.as_ref())
});

/// As GitHub hands it out.
pub(in crate::forge::github) static PKCS1: LazyLock<String> = LazyLock::new(|| {
    let der: Pkcs8V1Der = KEY.as_der().unwrap();
    // What stands before the key itself has this length for every RSA key of this size.
    labelled("RSA PRIVATE KEY", &der.as_ref()[26..])
});

/// What GitHub keeps of it.
pub(in crate::forge::github) static PUBLIC: LazyLock<String> = LazyLock::new(|| {
    let der: PublicKeyX509Der = KEY.public_key().as_der().unwrap();
    labelled("PUBLIC KEY", der.as_ref())
});

/// A PEM file.
pub(in crate::forge::github) fn labelled(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = (0..text.len())
        .step_by(64)
        .map(|at| &text[at..text.len().min(at + 64)])
        .collect();
    let lines = lines.join("\n");
    format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")
}
