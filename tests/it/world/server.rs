//! The server in this process, over folders and addresses that outlive it, so that it can be killed and started again.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidegate::core::config::server::{ForgeKind, ForgeOptions};
use tidegate::core::key::MasterKey;
use tidegate::executor::local::{Local, LocalOptions};
use tidegate::forge::ServedForge;
use tidegate::handlers::App;
use tidegate::handlers::estates::Estates;
use tidegate::serve::{self, Server};
use tidegate::store::Store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::world::site::{REPO, SECRET, token};

/// What the roots' provider would sign in with; nobody but Terraform ever sees it.
pub(crate) const PASSWORD: &str = "correct-horse-battery-staple";

/// Where a server listens and what it keeps.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) listen: SocketAddr,
    pub(crate) pages: SocketAddr,
    pub(crate) folder: PathBuf,
    /// The forge's address.
    pub(crate) forge: String,
}

/// A running server.
pub(crate) struct Running {
    pub(crate) store: Store,
    task: JoinHandle<anyhow::Result<()>>,
    stop: CancellationToken,
}

impl Running {
    /// Starts a server; it answers when this returns.
    pub(crate) async fn start(place: &Place) -> Self {
        let server = build(place).await;
        let store = server.app.store.clone();
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve::run(server, stop.clone()));
        let ready = format!("http://{}/readyz", place.pages);
        for _ in 0..500 {
            assert!(
                !task.is_finished(),
                "the server did not start: {:?}",
                task.await
            );
            let answer = reqwest::get(&ready).await;
            if answer.is_ok_and(|it| it.status().is_success()) {
                return Self { store, task, stop };
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the server does not answer at {ready}");
    }

    /// Lets the server leave in order.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }

    /// Takes the server away in the middle of whatever it does.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

/// An address nobody listens on now: the forge must know it before anything listens.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

async fn build(place: &Place) -> Server {
    fs::create_dir_all(&place.folder).unwrap();
    let options = ForgeOptions {
        kind: ForgeKind::GitHub,
        url: place.forge.parse().unwrap(),
        api_url: format!("{}/api/v3", place.forge).parse().unwrap(),
        token_file: "unused".into(),
        webhook_secret_files: Vec::new(),
        repos: vec![REPO.to_owned()],
    };
    let forge = options
        .kind
        .connect(&options, token("tide").into(), reqwest::Client::new())
        .unwrap();
    let database = place.folder.join("tidegate.db");
    let store = Store::open(&format!("sqlite:{}", database.display()))
        .await
        .unwrap();
    let key = MasterKey::new([7; 32]);
    let app = App {
        store: store.clone(),
        forges: Arc::new(BTreeMap::from([(options.host(), forge)])),
        mirrors: place.folder.join("mirrors"),
        estates: Estates::default(),
        digest_key: key.for_digests(),
        pages: format!("http://{}/", place.pages).parse().unwrap(),
    };
    let world = tidegate::outbox::World {
        store,
        forges: app.forges.clone(),
        mirrors: app.mirrors.clone(),
        executor: Arc::new(executor(place)),
    };
    Server {
        listen: place.listen,
        listen_pages: place.pages,
        app,
        world,
        served: Arc::new(vec![
            ServedForge::new(options, vec![SECRET.into()]).unwrap(),
        ]),
        token_key: key.for_tokens(),
        parallel: 1,
        lease_seconds: 30,
    }
}

fn executor(place: &Place) -> Local {
    let variables = [
        ("TF_HTTP_USERNAME", "tide".to_owned()),
        ("TF_HTTP_PASSWORD", token("tide")),
        ("TF_VAR_password", PASSWORD.to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    Local::open(LocalOptions {
        program: env!("CARGO_BIN_EXE_tidegate").into(),
        server: format!("http://{}", place.listen).parse().unwrap(),
        folder: place.folder.join("jobs"),
        plan_env: variables.to_vec(),
        apply_env: variables.to_vec(),
        grace: Duration::from_secs(30),
    })
    .unwrap()
}
