//! A job's line to its server.
