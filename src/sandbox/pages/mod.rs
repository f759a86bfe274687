//! The sandbox's pages: plain HTML that needs no script. Whoever opens them may act as anybody in the sandbox.

mod diff;
mod forms;
mod frame;
mod markdown;
mod open;
mod pull;
mod repos;
mod talk;
mod visit;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{get, post};

use crate::sandbox::door::Shared;

pub(crate) fn router() -> Router<Shared> {
    Router::new()
        .route("/", get(repos::all))
        .route("/style.css", get(style))
        .route("/login", post(forms::login))
        .route("/{owner}/{repo}", get(repos::one))
        .route("/{owner}/{repo}/new", get(open::form).post(forms::open))
        .route(
            "/{owner}/{repo}/pull/{number}",
            get(pull::show).post(forms::act),
        )
}

async fn style() -> impl IntoResponse {
    let kind = [(header::CONTENT_TYPE, "text/css; charset=utf-8")];
    (kind, include_str!("style.css"))
}
