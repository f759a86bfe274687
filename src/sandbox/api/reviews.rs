//! Reviews, as every forge answers them.

use axum::Json;
use axum::response::IntoResponse;

use crate::sandbox::api::{Answer, Here, Refused};
use crate::sandbox::model::pull::PullKey;

/// Oldest first.
pub(crate) async fn list(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let pull = document.pull(here.pull()?);
    let pull = pull.ok_or_else(Refused::missing)?;
    let reviews: Vec<_> = document.reviews_of(pull.key).collect();
    let words = here.ask.words(&document);
    Ok(here
        .ask
        .unlinked_page(&reviews, |it| words.review(pull, it)))
}

/// One review.
pub(crate) async fn answer(here: &Here, key: PullKey, id: u64) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let found = document.pull(key).zip(document.review(key, id));
    let (pull, review) = found.ok_or_else(Refused::missing)?;
    let shape = here.ask.words(&document).review(pull, review);
    Ok(Json(shape).into_response())
}
