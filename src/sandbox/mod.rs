//! A small forge on this machine over real git that speaks the forges' APIs; used by `cli` and tests only.
