//! The sandbox's addresses: the forges' APIs, git, Terraform states, deliveries, pages.

pub(crate) mod auth;
mod deliveries;
mod git;
mod installations;
mod terraform;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;

use crate::sandbox::{Sandbox, api, pages};

/// A sandbox, shared by its requests.
pub(crate) type Shared = Arc<Sandbox>;

/// Every address of the sandbox.
pub(crate) fn router(sandbox: Shared) -> Router {
    Router::new()
        .merge(api::router(&sandbox))
        .nest("/sandbox/deliveries", deliveries::router())
        .nest("/sandbox/installations", installations::router())
        .nest("/state", terraform::router())
        .merge(git::router())
        .merge(pages::router())
        .layer(DefaultBodyLimit::max(api::LARGEST))
        .with_state(sandbox)
}
