//! HTTP and time: the webhook door, the worker, the ticker, the runner API, the pages.
//!
//! # Why two addresses
//!
//! Forges and jobs must reach `listen` from outside. Pages and metrics show plans, so they stand on `listen_pages`,
//! which is not public until people can log in.

pub mod health;
pub mod pages;

mod dispatch;
mod given_up;
mod lookout;
mod received;
mod runner_api;
mod ticker;
mod webhook;
mod worker;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::http::{Request, StatusCode};
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;

use crate::core::ids::ForgeHost;
use crate::core::key::DerivedKey;
use crate::forge::{Meter, ServedForge};
use crate::handlers::App;
use crate::outbox::World;
use crate::serve::health::Pulse;
use crate::serve::lookout::{Finds, Lookout};
use crate::serve::received::Tally;

/// Deliveries handled, and effects performed, side by side.
const SIDE_BY_SIDE: usize = 4;
/// How long a stopping server waits for what is under way: less than the half minute after which many supervisors
/// kill it. What is not done by then is done after the next start.
const PATIENCE: Duration = Duration::from_secs(25);
/// How long a page may take.
const LONGEST_PAGE: Duration = Duration::from_secs(30);

/// Everything a server is made of.
#[derive(Clone)]
pub struct Server {
    /// What its workers claim under: the same after a restart, and no other server's.
    pub name: String,
    pub listen: SocketAddr,
    pub listen_pages: SocketAddr,
    pub app: App,
    /// What effects are performed on.
    pub world: World,
    /// How forges answer us, by host.
    pub meters: BTreeMap<ForgeHost, Meter>,
    /// The forges that may deliver, by kind and secrets.
    pub served: Arc<Vec<ServedForge>>,
    /// The key that signs job tokens.
    pub token_key: DerivedKey,
    /// Jobs at once.
    pub parallel: usize,
    /// How long one beat keeps a job alive, in seconds.
    pub lease_seconds: u32,
}

/// What runs side by side in a server; one that ends before it was told to is a bug.
type Tasks = JoinSet<anyhow::Result<()>>;

/// Serves until told to stop: requests and the work under way are finished, jobs go on without us.
pub async fn run(server: Server, stop: CancellationToken) -> anyhow::Result<()> {
    let listen = bind(server.listen, "listen").await?;
    let listen_pages = bind(server.listen_pages, "listen_pages").await?;
    let store = &server.app.store;
    store.free_left_over(&server.name).await?;
    let now = Timestamp::now();
    store.jobs.renew_all(now, server.lease()).await?;
    ticker::find_again(&server, now).await?;
    if let Err(error) = lookout::begin(&server.app, now).await {
        // Each is looked at within minutes all the same, once the store takes it down.
        tracing::error!(%error, "repositories are not looked at at once for what was not delivered");
    }
    tracing::info!(listen = %server.listen, pages = %server.listen_pages, "tidegate serves");

    let (mut tasks, tally, finds) = (Tasks::new(), Tally::default(), Finds::default());
    let doors = [
        (listen, public(&server, &tally)),
        (listen_pages, private(&server, (&tally, &finds), &stop)),
    ];
    for (listener, router) in doors {
        let stopped = stop.clone().cancelled_owned();
        let door = axum::serve(listener, router).with_graceful_shutdown(stopped);
        tasks.spawn(async { door.await.context("cannot serve") });
    }
    start_work(&mut tasks, &server, &finds, &stop);
    finish(tasks, stop).await?;
    tracing::info!("tidegate has stopped; running jobs go on and find the next server");
    Ok(())
}

fn start_work(tasks: &mut Tasks, server: &Server, finds: &Finds, stop: &CancellationToken) {
    let mut start = |work: BoxFuture<'static, ()>| {
        tasks.spawn(async {
            work.await;
            Ok(())
        });
    };
    for number in 0..SIDE_BY_SIDE {
        let name = format!("{}-{number}", server.name);
        start(worker::run(server.app.clone(), name.clone(), stop.clone()).boxed());
        start(crate::outbox::run(server.world.clone(), name, stop.clone()).boxed());
    }
    start(dispatch::run(server.clone(), stop.clone()).boxed());
    start(ticker::run(server.clone(), stop.clone()).boxed());
    for forge in server.app.forges.keys() {
        let lookout = Lookout::new(server.clone(), forge.clone(), finds.clone());
        start(lookout.run(stop.clone()).boxed());
    }
}

/// Waits until the server is told to stop, and then for its tasks. One that ends by itself stops the server: half of
/// one would look alive and do nothing.
async fn finish(mut tasks: Tasks, stop: CancellationToken) -> anyhow::Result<()> {
    let first = tokio::select! {
        () = stop.cancelled() => Ok(()),
        Some(ended) = tasks.join_next() => ended.context("a part of the server broke").flatten(),
    };
    stop.cancel();
    let rest = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(PATIENCE, rest).await.is_err() {
        tracing::warn!(
            waited_seconds = PATIENCE.as_secs(),
            "stopping before everything under way has ended; it is done after the next start"
        );
    }
    first
}

impl Server {
    fn lease(&self) -> SignedDuration {
        SignedDuration::from_secs(self.lease_seconds.into())
    }
}

/// What forges and jobs reach.
fn public(server: &Server, tally: &Tally) -> Router {
    let webhooks = webhook::router(server.clone(), tally.clone());
    let alive = health::alive(server.app.digest_key.id());
    with_layers(
        webhooks
            .merge(runner_api::router(server.clone()))
            .merge(alive),
    )
}

/// What people and machines of the operator reach.
fn private(server: &Server, (tally, finds): (&Tally, &Finds), stop: &CancellationToken) -> Router {
    let store = &server.app.store;
    let limit = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, LONGEST_PAGE);
    let pulse = Pulse {
        store: store.clone(),
        tally: tally.clone(),
        finds: finds.clone(),
        meters: server.meters.clone(),
        stop: stop.clone(),
    };
    let pages = pages::router(store.clone())
        .merge(health::router(pulse))
        .merge(health::alive(server.app.digest_key.id()));
    with_layers(pages.layer(limit))
}

/// Every request has an id and a span, and a panic is one failed request.
fn with_layers(router: Router) -> Router {
    let span = |request: &Request<_>| {
        let id = request.headers().get("x-request-id");
        tracing::info_span!(
            "request",
            method = %request.method(),
            path = request.uri().path(),
            id = id.and_then(|it| it.to_str().ok())
        )
    };
    router.layer(
        ServiceBuilder::new()
            .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
            .layer(TraceLayer::new_for_http().make_span_with(span))
            .layer(PropagateRequestIdLayer::x_request_id())
            .layer(CatchPanicLayer::new()),
    )
}

async fn bind(address: SocketAddr, key: &str) -> anyhow::Result<TcpListener> {
    let bound = TcpListener::bind(address).await;
    bound.with_context(|| {
        format!("cannot listen on {address}: is another server there? (`{key}` says where)")
    })
}

#[cfg(test)]
mod tests;
