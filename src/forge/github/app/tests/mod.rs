//! What an app does about tokens: how often it asks, how long it keeps, and what it says when it gets none.

pub(in crate::forge::github) mod pem;
