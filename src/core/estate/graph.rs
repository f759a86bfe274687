//! Who reads whom.
