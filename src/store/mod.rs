//! What the server remembers: a desk, not the record. One SQL dialect for SQLite and PostgreSQL.
