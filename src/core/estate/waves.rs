//! Waves: canary layers first, then one dependency layer a wave.
