//! What a job does in a checkout: gather, decide, act.
