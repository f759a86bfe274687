//! Whether the server lives, whether it can work, and how much is waiting.

use std::fmt::Write;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::serve::received::Tally;
use crate::store::Store;

/// What health is told from.
#[derive(Clone)]
struct Pulse {
    store: Store,
    tally: Tally,
}

/// The header by which a server's `/healthz` names its installation: the id of its key, which digests name too.
pub const INSTALLATION: &str = "x-tidegate-installation";

/// `/healthz`, at both addresses: it says who lives, so that `tidegate doctor` can tell us from a stranger.
pub(super) fn alive(installation: &str) -> Router {
    let headers = [(INSTALLATION, installation.to_owned())];
    Router::new().route("/healthz", get(|| async { (headers, "alive\n") }))
}

/// `/readyz` and `/metrics`.
pub(super) fn router(store: Store, tally: Tally) -> Router {
    Router::new()
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Pulse { store, tally })
}

async fn ready(State(pulse): State<Pulse>) -> Response {
    match pulse.store.ready().await {
        Ok(()) => "ready\n".into_response(),
        Err(error) => unready(&error),
    }
}

async fn metrics(State(pulse): State<Pulse>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    match gauges(&pulse.store).await {
        Ok(gauges) => (kind, gauges + &counters(&pulse.tally)).into_response(),
        Err(error) => unready(&error),
    }
}

fn unready(error: &sqlx::Error) -> Response {
    tracing::error!(%error, "the store does not answer");
    let said = "the store does not answer; the server's log says why\n";
    (StatusCode::SERVICE_UNAVAILABLE, said).into_response()
}

/// How much stands in the store, in Prometheus's text form.
async fn gauges(store: &Store) -> sqlx::Result<String> {
    let inbox = store.inbox.counts().await?;
    let outbox = store.outbox.counts().await?;
    let jobs = store.jobs.counts().await?;
    let gauges = [
        (
            "deliveries_queued",
            "Deliveries that wait to be handled.",
            inbox.queued,
        ),
        (
            "deliveries_dead",
            "Deliveries that were given up.",
            inbox.dead,
        ),
        (
            "effects_waiting",
            "Effects that wait to be performed.",
            outbox.waiting,
        ),
        (
            "effects_given_up",
            "Effects that were left undone.",
            outbox.given_up,
        ),
        (
            "jobs_queued",
            "Jobs that wait for a free place.",
            jobs.queued,
        ),
        ("jobs_running", "Jobs that run.", jobs.running),
    ];
    let gauge = |(name, help, value): (&str, &str, i64)| {
        let name = format!("tidegate_{name}");
        format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n")
    };
    Ok(gauges.into_iter().map(gauge).collect())
}

/// What came in since the server started.
fn counters(tally: &Tally) -> String {
    let name = "tidegate_deliveries_received_total";
    let help = "Deliveries by what became of them at the door.";
    let mut text = format!("# HELP {name} {help}\n# TYPE {name} counter\n");
    for (outcome, count) in tally.counts() {
        writeln!(text, "{name}{{outcome=\"{outcome}\"}} {count}").expect("a String takes any text");
    }
    text
}
