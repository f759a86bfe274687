//! What stands between two parties and can trouble their talk: it answers in the other's place, breaks off, or holds a
//! call until the story has done something in the middle of it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// Headers that are about one connection, and not about what is said.
const OF_THE_CONNECTION: [HeaderName; 3] = [
    http::header::CONNECTION,
    http::header::CONTENT_LENGTH,
    http::header::TRANSFER_ENCODING,
];

/// A call that passes through.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Bytes,
}

/// What happens to a call.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// Nothing: it goes through.
    Passes,
    /// It never arrives, and this is the answer.
    Answered(StatusCode, Vec<(&'static str, String)>, &'static str),
    /// It arrives and is done, and this status comes back.
    Lost(StatusCode),
    /// The connection ends in the middle of an answer.
    Breaks,
    /// It waits before it arrives.
    HeldBefore,
    /// It arrives and is done; the answer waits.
    HeldAfter,
}

type Rule = Box<dyn FnMut(&Call) -> Fate + Send>;

#[derive(Clone)]
struct Middle {
    target: String,
    http: reqwest::Client,
    rule: Arc<Mutex<Rule>>,
    /// How many calls are held.
    held: watch::Sender<usize>,
    /// How often the held ones were let go, and whether they may go on.
    let_go: watch::Sender<(u32, bool)>,
}

/// A relay in front of one address.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    middle: Middle,
    _task: AbortOnDropHandle<()>,
}

impl Relay {
    /// A relay to an address such as `http://127.0.0.1:4141`; everything passes.
    pub(crate) async fn before(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .no_gzip()
            .pool_max_idle_per_host(0)
            .build()
            .unwrap();
        let middle = Middle {
            target,
            http,
            rule: Arc::new(Mutex::new(Box::new(|_| Fate::Passes))),
            held: watch::channel(0).0,
            let_go: watch::channel((0, true)).0,
        };
        let router = Router::new().fallback(pass).with_state(middle.clone());
        let serving = async move { axum::serve(listener, router).await.unwrap() };
        Self {
            address,
            middle,
            _task: AbortOnDropHandle::new(tokio::spawn(serving)),
        }
    }

    /// Sets what happens to calls from now on.
    pub(crate) fn rule(&self, rule: impl FnMut(&Call) -> Fate + Send + 'static) {
        *self.middle.rule.lock().unwrap() = Box::new(rule);
    }

    /// Lets everything pass, also what is held.
    pub(crate) fn let_all_pass(&self) {
        self.rule(|_| Fate::Passes);
        self.middle.let_go.send_modify(|it| *it = (it.0 + 1, true));
    }

    /// Loses what is held, and lets everything after it pass.
    pub(crate) fn drop_what_is_held(&self) {
        self.rule(|_| Fate::Passes);
        self.middle.let_go.send_modify(|it| *it = (it.0 + 1, false));
    }

    /// Waits until a call is held.
    pub(crate) async fn until_one_is_held(&self) {
        let mut held = self.middle.held.subscribe();
        let waits = held.wait_for(|it| *it > 0);
        let waited = tokio::time::timeout(Duration::from_secs(60), waits).await;
        waited.expect("a call is held").unwrap();
    }
}

/// A rule that gives the first calls of a kind a fate, and lets the rest pass.
pub(crate) fn first(
    count: usize,
    is_meant: impl Fn(&Call) -> bool + Send + 'static,
    fate: Fate,
) -> impl FnMut(&Call) -> Fate + Send + 'static {
    let mut left = count;
    move |call| {
        if left == 0 || !is_meant(call) {
            return Fate::Passes;
        }
        left -= 1;
        fate.clone()
    }
}

async fn pass(
    State(middle): State<Middle>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri
        .path_and_query()
        .map_or("/", |it| it.as_str())
        .to_owned();
    let call = Call { method, path, body };
    let fate = (middle.rule.lock().unwrap())(&call);
    match fate {
        Fate::Passes => middle.forward(call, headers).await,
        Fate::Answered(status, more, text) => {
            let mut answer = (status, text).into_response();
            for (name, value) in more {
                let value = HeaderValue::from_str(&value).unwrap();
                answer.headers_mut().insert(name, value);
            }
            answer
        }
        Fate::Lost(status) => {
            middle.forward(call, headers).await;
            status.into_response()
        }
        Fate::Breaks => {
            let broken = futures::stream::iter([Err::<Bytes, _>(std::io::Error::other("cut"))]);
            Body::from_stream(broken).into_response()
        }
        Fate::HeldBefore => match middle.hold().await {
            true => middle.forward(call, headers).await,
            false => StatusCode::BAD_GATEWAY.into_response(),
        },
        Fate::HeldAfter => {
            let answer = middle.forward(call, headers).await;
            middle.hold().await;
            answer
        }
    }
}

impl Middle {
    /// Waits until the held calls are let go; whether they may go on.
    async fn hold(&self) -> bool {
        let mut let_go = self.let_go.subscribe();
        let _held = Held::new(&self.held);
        let is_open = let_go.changed().await.is_ok();
        is_open && let_go.borrow().1
    }

    async fn forward(&self, call: Call, mut headers: HeaderMap) -> Response {
        for name in &OF_THE_CONNECTION {
            headers.remove(name);
        }
        let url = format!("{}{}", self.target, call.path);
        let request = self.http.request(call.method, url);
        let Ok(answer) = request.headers(headers).body(call.body).send().await else {
            return StatusCode::BAD_GATEWAY.into_response();
        };
        let (status, mut headers) = (answer.status(), answer.headers().clone());
        for name in &OF_THE_CONNECTION {
            headers.remove(name);
        }
        match answer.bytes().await {
            Ok(bytes) => (status, headers, bytes).into_response(),
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        }
    }
}

/// Counts as one held call until whoever called is answered or gone.
struct Held(watch::Sender<usize>);

impl Held {
    fn new(held: &watch::Sender<usize>) -> Self {
        held.send_modify(|it| *it += 1);
        Self(held.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.send_modify(|it| *it -= 1);
    }
}
