//! What became of a delivery at the door: the answer its sender gets, and the tally of all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::forge::{Ignored, ReadError};

/// What became of a delivery.
pub(super) enum Received {
    Filed,
    /// It came before; nothing was stored.
    Known,
    /// Nothing we act on.
    Ignored(Ignored),
    /// The address names no forge of ours.
    Unserved,
    Refused(ReadError),
    /// The store did not answer.
    Unstored,
}

/// How often each came about since the server started.
#[derive(Clone, Default)]
pub(super) struct Tally(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Received {
    fn name(&self) -> &'static str {
        match self {
            Self::Filed => "filed",
            Self::Known => "known",
            Self::Ignored(_) => "ignored",
            Self::Unserved => "unserved",
            Self::Refused(ReadError::Unsigned) => "unsigned",
            Self::Refused(ReadError::Malformed(_)) => "malformed",
            Self::Unstored => "unstored",
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Filed | Self::Known | Self::Ignored(_) => StatusCode::ACCEPTED,
            Self::Unserved => StatusCode::NOT_FOUND,
            Self::Refused(ReadError::Unsigned) => StatusCode::UNAUTHORIZED,
            Self::Refused(ReadError::Malformed(_)) => StatusCode::BAD_REQUEST,
            Self::Unstored => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl IntoResponse for Received {
    fn into_response(self) -> Response {
        let status = self.status();
        let text = match self {
            Self::Filed => "filed".to_owned(),
            Self::Known => "known already".to_owned(),
            Self::Ignored(why) => format!("ignored: {why}"),
            Self::Unserved => "the server's file names no such forge".to_owned(),
            Self::Refused(error) => error.to_string(),
            Self::Unstored => "the store does not answer; deliver it again".to_owned(),
        };
        (status, text + "\n").into_response()
    }
}

impl Tally {
    /// Counts one more.
    pub(super) fn add(&self, received: &Received) {
        *self.lock().entry(received.name()).or_default() += 1;
    }

    /// How often each came about, by name.
    pub(super) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
