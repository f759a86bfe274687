//! The webhook door: check, read, file, answer. Nothing else happens before the answer.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use jiff::Timestamp;

use crate::core::config::server::ForgeKind;
use crate::forge::{Delivery, ReadError, ServedForge};
use crate::serve::Server;
use crate::store::{self, Filed};

/// The largest delivery a forge sends, in bytes.
const LARGEST: usize = 25 << 20;

/// The door: `/webhooks/<kind>`. Of several instances of a kind, the one whose secret signed is meant.
pub(super) fn router(server: Server) -> Router {
    Router::new()
        .route("/webhooks/{kind}", post(receive))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(server)
}

async fn receive(
    State(server): State<Server>,
    Path(kind): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let Some(kind) = ForgeKind::named(&kind) else {
        return (
            StatusCode::NOT_FOUND,
            format!("no forge delivers to /webhooks/{kind}\n"),
        );
    };
    match read(&server, kind, &headers, &body) {
        Ok((forge, delivery)) => file(&server, forge, delivery).await,
        Err(error @ ReadError::Unsigned) => {
            tracing::warn!("a delivery was refused: it is not signed with an accepted secret");
            (StatusCode::UNAUTHORIZED, format!("{error}\n"))
        }
        Err(error @ ReadError::Malformed(_)) => {
            tracing::warn!(%error, "a delivery was refused");
            (StatusCode::BAD_REQUEST, format!("{error}\n"))
        }
    }
}

fn read<'a>(
    server: &'a Server,
    kind: ForgeKind,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(&'a ServedForge, Delivery), ReadError> {
    let mut refused = ReadError::Unsigned;
    for forge in server.served.iter().filter(|it| it.options.kind == kind) {
        match kind.read(headers, body, forge) {
            Ok(delivery) => return Ok((forge, delivery)),
            Err(ReadError::Unsigned) => {}
            Err(error @ ReadError::Malformed(_)) => refused = error,
        }
    }
    Err(refused)
}

async fn file(server: &Server, forge: &ServedForge, delivery: Delivery) -> (StatusCode, String) {
    let event = match &delivery.event {
        Ok(event) => event,
        Err(why) => {
            tracing::debug!(delivery = %delivery.id, %why, "a delivery was ignored");
            return (StatusCode::ACCEPTED, format!("ignored: {why}\n"));
        }
    };
    let id = store::Delivery {
        forge: forge.options.host(),
        id: delivery.id.clone(),
    };
    match server
        .app
        .store
        .inbox
        .file(&id, event, Timestamp::now())
        .await
    {
        Ok(Filed::New) => {
            tracing::info!(delivery = %delivery.id, event = event.name(), "filed");
            (StatusCode::ACCEPTED, "filed\n".to_owned())
        }
        Ok(Filed::Known) => (StatusCode::ACCEPTED, "known already\n".to_owned()),
        Err(error) => {
            tracing::error!(delivery = %delivery.id, %error, "a delivery could not be filed");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "the store does not answer; deliver it again\n".to_owned(),
            )
        }
    }
}
