//! Finding commits by the names that paths give them.

use axum::http::StatusCode;

use crate::core::ids::Sha;
use crate::sandbox::api::{Here, Refused};

/// The commit that the path names by its id, a branch or a full ref.
pub(crate) async fn resolve(here: &Here) -> Result<Sha, Refused> {
    let name = here.ask.param("sha")?;
    let shelf = &here.ask.sandbox.shelf;
    let found = match shelf.tip(here.repo, name).await? {
        Some(tip) => Some(tip),
        None => shelf.resolve(here.repo, name).await?,
    };
    let text = format!("No commit found for SHA: {name}");
    found.ok_or_else(|| Refused::plain(StatusCode::UNPROCESSABLE_ENTITY, text))
}
