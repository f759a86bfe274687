//! The gate: one decision for a job in plain CI and for the server.

use crate::core::ids::Digest;
use crate::core::plan::Planned;

/// Plans that passed their gate. Only `decide` and `admit` make one, and nothing applies without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cleared {
    plans: Vec<Planned>,
    set: Digest,
}

impl Cleared {
    /// The plans to apply, exactly as they were decided on.
    pub fn plans(&self) -> &[Planned] {
        &self.plans
    }

    /// The set digest they were cleared under.
    pub fn set(&self) -> &Digest {
        &self.set
    }
}
