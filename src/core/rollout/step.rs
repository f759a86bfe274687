//! How a rollout moves: which wave is next, and what an answer or an end makes of a wave.
