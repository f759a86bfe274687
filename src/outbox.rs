//! Performs stored effects in order, each safe to repeat, or prints them.
