//! What was delivered, and sending it again: the sandbox's own, for no forge's API.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::sandbox::courier;
use crate::sandbox::door::Shared;
use crate::sandbox::model::hook::{Delivery, DeliveryState};

pub(crate) fn router() -> Router<Shared> {
    Router::new()
        .route("/", get(list))
        .route("/{id}/redeliver", post(redeliver))
}

async fn list(State(sandbox): State<Shared>) -> Json<Value> {
    let document = sandbox.desk.read().await;
    Json(document.deliveries.iter().map(shape).collect())
}

/// Queues a delivery again, as its forge does it.
async fn redeliver(State(sandbox): State<Shared>, Path(id): Path<String>) -> Response {
    match courier::again(&sandbox, &id).await {
        Ok(Some(delivery)) => (StatusCode::ACCEPTED, Json(shape(&delivery))).into_response(),
        Ok(None) => (StatusCode::NOT_FOUND, "there is no such delivery\n").into_response(),
        Err(error) => {
            let text = format!("{error:#}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}

fn shape(delivery: &Delivery) -> Value {
    let status = match delivery.state {
        DeliveryState::Queued | DeliveryState::Lost => None,
        DeliveryState::Answered(status) => Some(status),
    };
    json!({
        "id": delivery.id,
        "hook": delivery.hook,
        "event": delivery.event,
        "action": delivery.action,
        "is_queued": delivery.state == DeliveryState::Queued,
        "status": status,
        "attempts": delivery.attempts,
        "created_at": delivery.created_at,
    })
}
