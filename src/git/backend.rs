//! Serves a bare repository over smart HTTP through `git http-backend`: read only to jobs, writable in the sandbox.
