//! Facts on the ledger branch: read, append, and again if it moved.
