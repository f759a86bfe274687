//! Jobs on this machine: a child process in its own process group with a scrubbed environment.
