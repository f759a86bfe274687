//! The blast radius: who reads what changes, followed through.
