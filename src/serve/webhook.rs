//! The webhook door: check, read, file, answer. Nothing else happens before the answer.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use jiff::Timestamp;
use tower_http::timeout::TimeoutLayer;

use crate::core::config::server::ForgeKind;
use crate::forge::{Delivery, ReadError, ServedForge};
use crate::serve::Server;
use crate::serve::received::{Received, Tally};
use crate::store::{self, Filed};

/// The largest delivery a forge sends, in bytes.
const LARGEST: usize = 25 << 20;

/// How long a delivery may take to come in; forges wait for an answer no longer than that.
const LONGEST: Duration = Duration::from_secs(30);

/// What the door answers from.
#[derive(Clone)]
struct Door {
    server: Server,
    tally: Tally,
}

/// The door: `/webhooks/<kind>`, where of several instances the one whose secret signed is meant, and
/// `/webhooks/<kind>/<host>` for that instance alone.
pub(super) fn router(server: Server, tally: Tally) -> Router {
    let limit = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, LONGEST);
    Router::new()
        .route("/webhooks/{kind}", post(of_kind))
        .route("/webhooks/{kind}/{host}", post(of_host))
        .layer(DefaultBodyLimit::max(LARGEST))
        .layer(limit)
        .with_state(Door { server, tally })
}

async fn of_kind(
    State(door): State<Door>,
    Path(kind): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Received {
    let received = receive(&door.server, (&kind, None), &headers, &body).await;
    door.tally.add(&received);
    received
}

async fn of_host(
    State(door): State<Door>,
    Path((kind, host)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Received {
    let received = receive(&door.server, (&kind, Some(&host)), &headers, &body).await;
    door.tally.add(&received);
    received
}

/// Files a delivery for the forge that is addressed and whose secret signed it.
async fn receive(
    server: &Server,
    (kind, host): (&str, Option<&str>),
    headers: &HeaderMap,
    body: &[u8],
) -> Received {
    let Some(kind) = ForgeKind::named(kind) else {
        return Received::Unserved;
    };
    let is_meant = |forge: &&ServedForge| {
        forge.options.kind == kind && host.is_none_or(|it| it == forge.options.host().as_str())
    };
    let meant: Vec<_> = server.served.iter().filter(is_meant).collect();
    if meant.is_empty() {
        return Received::Unserved;
    }
    match read(&meant, headers, body) {
        Ok((forge, delivery)) => file(server, forge, delivery).await,
        Err(error) => {
            tracing::warn!(%error, "a delivery was refused");
            Received::Refused(error)
        }
    }
}

fn read<'a>(
    meant: &[&'a ServedForge],
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(&'a ServedForge, Delivery), ReadError> {
    for forge in meant {
        match forge.options.kind.read(headers, body, forge) {
            Ok(delivery) => return Ok((forge, delivery)),
            Err(ReadError::Unsigned) => {}
            Err(error @ ReadError::Malformed(_)) => return Err(error),
        }
    }
    Err(ReadError::Unsigned)
}

async fn file(server: &Server, forge: &ServedForge, delivery: Delivery) -> Received {
    let Delivery { id, event } = delivery;
    let event = match event {
        Ok(event) => event,
        Err(why) => {
            tracing::debug!(delivery = %id, %why, "a delivery was ignored");
            return Received::Ignored(why);
        }
    };
    let forge = forge.options.host();
    let sent = store::Delivery { forge, id };
    let filed = server.app.store.inbox.file(&sent, &event, Timestamp::now());
    match filed.await {
        Ok(Filed::New) => {
            tracing::info!(delivery = %sent.id, event = event.name(), "filed");
            Received::Filed
        }
        Ok(Filed::Known) => Received::Known,
        Err(error) => {
            tracing::error!(delivery = %sent.id, %error, "a delivery could not be filed");
            Received::Unstored
        }
    }
}
