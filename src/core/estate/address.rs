//! Where a root keeps its state, as far as literals tell it.

use serde::{Deserialize, Serialize};

/// A state's address: roots whose addresses are equal line up (terragucci §7 has the table by backend type).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StateAddress {
    /// The backend's type: `s3`, `http`, `local`, …
    pub backend: String,
    /// The bucket or container, when the type has one and it is named.
    pub bucket: Option<String>,
    /// Key, prefix, path or address: whatever tells one state from another within the type.
    pub key: String,
}
