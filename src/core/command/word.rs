//! Words with a rule of their own: a wave, the beginning of a digest, a time to live.

use std::fmt;

use crate::core::config::length;
use crate::core::ids::{Digest, WaveNumber};

/// The longest time to live: what nobody looks at for a quarter should not run.
const MAX_TTL_SECONDS: u32 = 90 * 86_400;

/// The beginning of a digest's hex digits: at least eight, so that it cannot be a word by accident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestPrefix(String);

impl DigestPrefix {
    /// Reads digits, with or without the name of the algorithm before them.
    pub fn read(text: &str) -> Option<Self> {
        let digits = text
            .strip_prefix("jcs1-sha256:")
            .or_else(|| text.strip_prefix("sha256:"))
            .unwrap_or(text);
        let is_prefix = (8..=64).contains(&digits.len())
            && digits
                .bytes()
                .all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it));
        is_prefix.then(|| Self(digits.to_owned()))
    }

    /// Whether a digest begins so.
    pub fn begins(&self, digest: &Digest) -> bool {
        digest.hex().starts_with(&self.0)
    }
}

impl fmt::Display for DigestPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How long an environment may live: minutes, hours or days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ttl {
    text: String,
    seconds: u32,
}

impl Ttl {
    /// Reads a time such as `90m`, `24h` or `7d`, up to 90 days.
    pub fn read(text: &str) -> Option<Self> {
        let seconds = length::seconds(text, "mhd").filter(|it| *it <= MAX_TTL_SECONDS)?;
        let text = text.to_owned();
        Some(Self { text, seconds })
    }

    /// Its length.
    pub fn seconds(&self) -> u32 {
        self.seconds
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads `wave-<n>`, 1 to 999, without a leading zero.
pub(super) fn wave(text: &str) -> Option<WaveNumber> {
    let digits = text.strip_prefix("wave-")?;
    let is_number = (1..=3).contains(&digits.len())
        && !digits.starts_with('0')
        && digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().ok().map(WaveNumber))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_is_1_to_999() {
        assert_eq!(wave("wave-1"), Some(WaveNumber(1)));
        assert_eq!(wave("wave-999"), Some(WaveNumber(999)));
        for bad in [
            "wave-0",
            "wave-01",
            "wave-1000",
            "wave-",
            "wave--1",
            "wave-+1",
            "wave1",
            "Wave-1",
            "wave-1x",
            "wave-٣",
            "1",
            "",
        ] {
            assert_eq!(wave(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_digest_prefix_is_at_least_eight_hex_digits() {
        let full = format!("jcs1-sha256:1f0c2ab9{}", "0".repeat(56));
        let digest = Digest::try_from(full.as_str()).unwrap();
        for good in ["1f0c2ab9", "sha256:1f0c2ab9", full.as_str()] {
            assert!(DigestPrefix::read(good).unwrap().begins(&digest), "{good}");
        }
        assert!(!DigestPrefix::read("1f0c2ab8").unwrap().begins(&digest));
        for bad in [
            "",
            "1f0c2ab",
            "1F0C2AB9",
            "md5:1f0c2ab9",
            "facades!",
            "jcs1-sha256:",
        ] {
            assert_eq!(DigestPrefix::read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_time_to_live_has_an_end() {
        assert_eq!(Ttl::read("24h").unwrap().seconds(), 86_400);
        for bad in ["", "0h", "24", "91d", "60s", "1w", "h"] {
            assert_eq!(Ttl::read(bad), None, "{bad:?}");
        }
    }
}
