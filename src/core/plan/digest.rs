//! Digests: RFC 8785 bytes under a kind, SHA-256.
