//! The installation's key, and the keys derived from it: one for job tokens, one for digests.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The installation's 32 bytes. Never shown, never sent to a job.
#[derive(Clone)]
pub struct MasterKey([u8; 32]);

/// A key derived for one purpose, and the id by which a digest names it.
#[derive(Clone)]
pub struct DerivedKey {
    id: String,
    bytes: [u8; 32],
}

impl MasterKey {
    /// Takes the installation's bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key that signs job tokens.
    pub fn for_tokens(&self) -> DerivedKey {
        self.derive("tidegate job token")
    }

    /// The key under which sensitive leaves enter digests.
    pub fn for_digests(&self) -> DerivedKey {
        self.derive("tidegate plan digest")
    }

    fn derive(&self, purpose: &str) -> DerivedKey {
        let bytes = mac(&self.0, purpose.as_bytes());
        let id = hex(&mac(&bytes, b"id")[..6]);
        DerivedKey { id, bytes }
    }
}

impl DerivedKey {
    /// Names the key without telling it: twelve hex digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The HMAC-SHA256 of `message`, as 64 hex digits.
    pub fn mac_hex(&self, message: &[u8]) -> String {
        hex(&mac(&self.bytes, message))
    }
}

fn mac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// Lower-case hex digits of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_for_different_purposes_have_nothing_in_common() {
        let master = MasterKey::new([7; 32]);
        let (tokens, digests) = (master.for_tokens(), master.for_digests());
        assert_ne!(tokens.bytes(), digests.bytes());
        assert_ne!(tokens.id(), digests.id());
        assert!(!hex(digests.bytes()).contains(digests.id()));
    }
}
