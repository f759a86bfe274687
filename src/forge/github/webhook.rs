//! GitHub deliveries: checked over the raw bytes, then read into events.
