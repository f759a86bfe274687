//! Which approvals speak to a rollout, and which of them count.
