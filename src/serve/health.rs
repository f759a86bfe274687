//! Whether the server lives, whether it can work, and how much is waiting (docs/operating.md).

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::core::ids::ForgeHost;
use crate::forge::Meter;
use crate::serve::lookout::Finds;
use crate::serve::received::Tally;
use crate::store::Store;

/// The header by which a server's `/healthz` names its installation: the id of its key, which digests name too.
pub const INSTALLATION: &str = "x-tidegate-installation";

/// What health is told from.
#[derive(Clone)]
pub(super) struct Pulse {
    pub(super) store: Store,
    pub(super) tally: Tally,
    pub(super) finds: Finds,
    pub(super) meters: BTreeMap<ForgeHost, Meter>,
    /// Whether the server was told to stop.
    pub(super) stop: CancellationToken,
}

/// `/healthz`, at both addresses: it says who lives, so that `tidegate doctor` can tell us from a stranger.
pub(super) fn alive(installation: &str) -> Router {
    let headers = [(INSTALLATION, installation.to_owned())];
    Router::new().route("/healthz", get(|| async { (headers, "alive\n") }))
}

/// `/readyz` and `/metrics`.
pub(super) fn router(pulse: Pulse) -> Router {
    Router::new()
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(pulse)
}

/// Ready is who takes work and can store it. A forge that limits us or fails is told and makes nobody unready: what is
/// due there waits, and another server would wait too.
async fn ready(State(pulse): State<Pulse>) -> Response {
    if pulse.stop.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    match pulse.store.ready().await {
        Ok(()) => format!("ready\n{}", limited(&pulse.meters)).into_response(),
        Err(error) => unready(&error),
    }
}

fn limited(meters: &BTreeMap<ForgeHost, Meter>) -> String {
    let limits = meters.iter().filter_map(|(host, meter)| {
        let until = meter.limited_until()?;
        Some(format!("{host} limits our requests until {until}\n"))
    });
    limits.collect()
}

async fn metrics(State(pulse): State<Pulse>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    match gauges(&pulse.store, Timestamp::now()).await {
        Ok(page) => (kind, page.and(counters(&pulse)).0).into_response(),
        Err(error) => unready(&error),
    }
}

fn unready(error: &sqlx::Error) -> Response {
    tracing::error!(%error, "the store does not answer");
    let said = "the store does not answer; the server's log says why\n";
    (StatusCode::SERVICE_UNAVAILABLE, said).into_response()
}

/// Metrics in Prometheus's text form.
#[derive(Default)]
struct Page(String);

impl Page {
    fn metric<T: Display>(&mut self, (name, kind, help): (&str, &str, &str), values: &[(T, i64)]) {
        let head = format!("# HELP tidegate_{name} {help}\n# TYPE tidegate_{name} {kind}\n");
        self.0 += &head;
        for (labels, value) in values {
            writeln!(self.0, "tidegate_{name}{labels} {value}").expect("a String takes any text");
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: i64) {
        self.metric((name, "gauge", help), &[("", value)]);
    }

    fn and(mut self, other: Self) -> Self {
        self.0 += &other.0;
        self
    }
}

/// How much stands in the store, and since when.
async fn gauges(store: &Store, now: Timestamp) -> sqlx::Result<Page> {
    let inbox = store.inbox.counts().await?;
    let outbox = store.outbox.counts().await?;
    let jobs = store.jobs.counts().await?;
    let ages = store.ages(now).await?;
    let look = store.looks.oldest(now).await?;
    let mut page = Page::default();
    for (name, help, value) in [
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
            "delivery_oldest_seconds",
            "How long the oldest delivery has waited.",
            ages.delivery,
        ),
        ("lanes_busy", "Lanes with a delivery to handle.", ages.lanes),
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
            "effect_oldest_seconds",
            "How long the oldest effect has waited, from its delivery on.",
            ages.effect,
        ),
        (
            "jobs_queued",
            "Jobs that wait for a free place.",
            jobs.queued,
        ),
        ("jobs_running", "Jobs that run.", jobs.running),
        (
            "job_oldest_seconds",
            "How long the oldest job has waited for a free place.",
            ages.job,
        ),
        (
            "look_oldest_seconds",
            "How long ago the repository was looked at that waits longest for another look.",
            look,
        ),
    ] {
        page.gauge(name, help, value);
    }
    Ok(page)
}

/// What came in, and what forges were asked, since the server started.
fn counters(pulse: &Pulse) -> Page {
    let mut page = Page::default();
    let received = pulse.tally.counts().into_iter();
    let received: Vec<_> = received
        .map(|(outcome, count)| (format!("{{outcome=\"{outcome}\"}}"), count.cast_signed()))
        .collect();
    let help = "Deliveries by what became of them at the door.";
    page.metric(("deliveries_received_total", "counter", help), &received);
    let finds = pulse.finds.counts().into_iter();
    let finds: Vec<_> = finds
        .map(|(event, count)| (format!("{{event=\"{event}\"}}"), count.cast_signed()))
        .collect();
    let help = "Events that no forge delivered and that were found by looking.";
    page.metric(("lost_events_found_total", "counter", help), &finds);
    let calls = pulse.meters.iter().flat_map(|(host, meter)| {
        let calls = meter.calls().into_iter();
        calls.map(move |(end, count)| {
            (
                format!("{{forge=\"{host}\",end=\"{end}\"}}"),
                count.cast_signed(),
            )
        })
    });
    let help = "What forges were asked, by how it ended.";
    page.metric(
        ("forge_calls_total", "counter", help),
        &calls.collect::<Vec<_>>(),
    );
    let limits = pulse.meters.iter().map(|(host, meter)| {
        let until = meter.limited_until().map_or(0, Timestamp::as_second);
        (format!("{{forge=\"{host}\"}}"), until)
    });
    let help = "Until when a forge wants no requests of ours, in seconds since 1970; 0 when it takes them.";
    page.metric(
        ("forge_limited_until_seconds", "gauge", help),
        &limits.collect::<Vec<_>>(),
    );
    page
}
