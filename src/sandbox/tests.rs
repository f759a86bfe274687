//! The sandbox over HTTP, as its clients see it.
