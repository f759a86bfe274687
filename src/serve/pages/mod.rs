//! What people open in a browser: rollouts as columns of waves. Plain HTML, no script, dark and light.

mod frame;
mod rollout;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::get;
use maud::{Markup, html};

use crate::core::ids::RolloutId;
use crate::core::rollout::Rollout;
use crate::serve::pages::frame::Renewal;
use crate::store::Store;

/// How many rollouts the first page shows.
const RECENT: u32 = 50;

/// What a browser is told of every answer: load nothing but our own style, run nothing, sit in nobody's frame.
const CLOSED: [(&str, &str); 3] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
];

/// The pages over a store; they only read.
pub fn router(store: Store) -> Router {
    Router::new()
        .route("/", get(recent))
        .route("/rollouts.json", get(recent_json))
        .route("/rollouts/{id}", get(one))
        .route("/style.css", get(style))
        .layer(map_response(closed))
        .with_state(store)
}

async fn closed(mut answer: Response) -> Response {
    for (name, value) in CLOSED {
        let headers = answer.headers_mut();
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    answer
}

async fn recent(State(store): State<Store>) -> Result<Html<String>, Broken> {
    Ok(html_of(rollout::list(&newest(&store).await?)))
}

async fn recent_json(State(store): State<Store>) -> Result<Json<Vec<Rollout>>, Broken> {
    Ok(Json(newest(&store).await?))
}

async fn newest(store: &Store) -> Result<Vec<Rollout>, Broken> {
    Ok(store
        .recent_rollouts(RECENT)
        .await?
        .into_iter()
        .map(|(rollout, _)| rollout)
        .collect())
}

/// One rollout as a page, or as JSON under `<id>.json`.
async fn one(State(store): State<Store>, Path(name): Path<String>) -> Result<Response, Broken> {
    let (id, as_json) = match name.strip_suffix(".json") {
        Some(id) => (id, true),
        None => (name.as_str(), false),
    };
    let found = match RolloutId::try_from(id) {
        Ok(id) => store.rollout(&id).await?,
        Err(_) => None,
    };
    Ok(match found {
        None => (StatusCode::NOT_FOUND, html_of(missing())).into_response(),
        Some((rollout, _)) if as_json => Json(rollout).into_response(),
        Some((rollout, _)) => html_of(rollout::page(&rollout)).into_response(),
    })
}

async fn style() -> impl IntoResponse {
    (
        [
            ("content-type", "text/css; charset=utf-8"),
            ("cache-control", "max-age=300"),
        ],
        include_str!("style.css"),
    )
}

fn html_of(page: Markup) -> Html<String> {
    Html(page.into_string())
}

fn missing() -> Markup {
    frame::page(
        "Not found",
        Renewal::Still,
        &html! {
            h1 { "Not found" }
            p { "There is no rollout of that name. " a href="/" { "The recent ones are here." } }
        },
    )
}

/// The store did not answer: logged once here, and said on the page without its inner words.
struct Broken(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Broken {
    fn into_response(self) -> Response {
        tracing::error!(
            error = format!("{:#}", self.0),
            "a page could not be read from the store"
        );
        let body = frame::page(
            "Not available",
            Renewal::Still,
            &html! {
                h1 { "Not available" }
                p { "The server cannot read its store at the moment; its log says why. Try again in a while." }
            },
        );
        (StatusCode::SERVICE_UNAVAILABLE, html_of(body)).into_response()
    }
}
