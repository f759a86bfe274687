//! What a diff reaches.
