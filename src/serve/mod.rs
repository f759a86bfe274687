//! HTTP and time: the webhook door, the worker, the ticker, the runner API, the pages.

pub mod pages;

mod dispatch;
mod runner_api;
mod runner_git;
mod ticker;
mod webhook;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use crate::core::key::DerivedKey;
use crate::forge::ServedForge;
use crate::handlers::App;
use crate::outbox::World;

/// Deliveries handled, and effects performed, side by side.
const SIDE_BY_SIDE: usize = 4;
/// How long open connections may hold up the end.
const PATIENCE: Duration = Duration::from_secs(15);

/// Everything a server is made of.
#[derive(Clone)]
pub struct Server {
    pub listen: SocketAddr,
    pub listen_pages: SocketAddr,
    pub app: App,
    /// What effects are performed on.
    pub world: World,
    /// The forges that may deliver, by kind and secrets.
    pub served: Arc<Vec<ServedForge>>,
    /// The key that signs job tokens.
    pub token_key: DerivedKey,
    /// Jobs at once.
    pub parallel: usize,
    /// How long one beat keeps a job alive, in seconds.
    pub lease_seconds: u32,
}

/// Serves until told to stop: requests and the work under way are finished, jobs go on without us.
pub async fn run(server: Server, stop: CancellationToken) -> anyhow::Result<()> {
    let listen = bind(server.listen, "listen").await?;
    let listen_pages = bind(server.listen_pages, "listen_pages").await?;
    server.app.store.free_left_over().await?;
    server
        .app
        .store
        .jobs
        .renew_all(Timestamp::now(), server.lease())
        .await?;
    tracing::info!(listen = %server.listen, pages = %server.listen_pages, "tidegate serves");

    let mut work = tokio::task::JoinSet::new();
    for number in 0..SIDE_BY_SIDE {
        let name = format!("{}-{number}", std::process::id());
        work.spawn(worker::run(server.app.clone(), name.clone(), stop.clone()));
        work.spawn(crate::outbox::run(server.world.clone(), name, stop.clone()));
    }
    work.spawn(dispatch::run(server.clone(), stop.clone()));
    work.spawn(ticker::run(server.clone(), stop.clone()));

    let door = axum::serve(listen, public(server.clone()))
        .with_graceful_shutdown(stop.clone().cancelled_owned());
    let pages = axum::serve(listen_pages, private(&server))
        .with_graceful_shutdown(stop.clone().cancelled_owned());
    let served = async { tokio::try_join!(door.into_future(), pages.into_future()) };
    tokio::select! {
        ended = served => { ended.context("cannot serve")?; }
        // A client that keeps its connection open must not keep us from leaving.
        () = async { stop.cancelled().await; tokio::time::sleep(PATIENCE).await } => {}
    }
    work.join_all().await;
    tracing::info!("tidegate has stopped; running jobs go on and find the next server");
    Ok(())
}

impl Server {
    fn lease(&self) -> jiff::SignedDuration {
        jiff::SignedDuration::from_secs(self.lease_seconds.into())
    }
}

/// What forges and jobs reach.
fn public(server: Server) -> Router {
    Router::new()
        .merge(webhook::router(server.clone()))
        .merge(runner_api::router(server))
        .layer(CatchPanicLayer::new())
}

/// What people and machines of the operator reach.
fn private(server: &Server) -> Router {
    let health = Router::new()
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .with_state(server.clone());
    pages::router(server.app.store.clone())
        .merge(health)
        .layer(CatchPanicLayer::new())
}

async fn ready(State(server): State<Server>) -> (StatusCode, &'static str) {
    match server.app.store.ready().await {
        Ok(()) => (StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::error!(error = %error, "the store does not answer");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "the store does not answer\n",
            )
        }
    }
}

async fn bind(address: SocketAddr, key: &str) -> anyhow::Result<TcpListener> {
    let bound = TcpListener::bind(address).await;
    bound.with_context(|| {
        format!("cannot listen on {address}: is another server there? (`{key}` says where)")
    })
}
