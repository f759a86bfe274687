//! The sandbox's pages: plain HTML that needs no script.

use axum::Router;

use crate::sandbox::door::Shared;

pub(crate) fn router() -> Router<Shared> {
    Router::new()
}
