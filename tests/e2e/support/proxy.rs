//! A proxy between the program and a server that holds requests, answers them itself, and cuts
//! watches.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use futures::stream::{self, Stream, StreamExt};
use http::{Method, StatusCode};
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::control_plane::ControlPlane;
use super::wait::{eventually, that};

const WRITES: &[Method] = &[Method::POST, Method::PUT];
const READS: &[Method] = &[Method::GET];

/// A running proxy.
pub struct Proxy {
    inner: Arc<Inner>,
    server: JoinHandle<()>,
    port: u16,
}

struct Inner {
    upstream: Client,
    rules: Mutex<Vec<Rule>>,
    /// How often watches were cut.
    cut: watch::Sender<u32>,
    /// Whether protobuf is refused, as some proxies do.
    json_only: bool,
}

/// Whether this run of the tests reads lists and watches as JSON.
pub fn json_only() -> bool {
    std::env::var_os("EVENKEEL_JSON_ONLY").is_some()
}

/// The treatment of requests with one of these methods and this text in path and query.
struct Rule {
    id: u32,
    methods: &'static [Method],
    text: &'static str,
    deed: Deed,
}

#[derive(Clone)]
enum Deed {
    /// Answers with this status and does not forward the request.
    Answer(StatusCode),
    /// Answers as priority and fairness does when the server is busy.
    Busy,
    /// Forwards the request and answers as a proxy without a response does.
    Lose,
    /// Accepts the request and sends nothing: a watch without an event or a bookmark. It ends
    /// politely after this time.
    Silence(Duration),
    /// Forwards the request after a while.
    Delay(Duration),
    /// Holds the request.
    Hold(Stage, Arc<Held>),
}

/// When a request is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before the request is forwarded.
    Unsent,
    /// After the server has processed it, before its response is returned.
    Unanswered,
}

struct Held {
    caught: watch::Sender<u32>,
    released: watch::Sender<bool>,
}

/// Holds requests while this exists. Without `release`, held requests never finish.
pub struct Hold<'p> {
    proxy: &'p Proxy,
    id: u32,
    held: Arc<Held>,
}

/// Lets the proxy answer requests itself while this exists.
pub struct Outage<'p> {
    proxy: &'p Proxy,
    id: u32,
}

impl Proxy {
    pub async fn start(control_plane: &ControlPlane) -> Self {
        Proxy::before(control_plane.upstream().await, control_plane.port(1)).await
    }

    /// Starts a proxy for another server at this port, or at any free one if it is zero.
    pub async fn before(upstream: Client, port: u16) -> Self {
        let inner = Inner {
            upstream,
            rules: Mutex::default(),
            cut: watch::Sender::new(0),
            json_only: json_only(),
        };
        let inner = Arc::new(inner);
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let app = Router::new().fallback(forward).with_state(Arc::clone(&inner));
        let server = tokio::spawn(async { axum::serve(listener, app).await.unwrap() });
        Proxy { inner, server, port }
    }

    /// The URL of the proxy.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Holds matching requests from now on.
    pub fn hold(&self, stage: Stage, methods: &'static [Method], text: &'static str) -> Hold<'_> {
        let held =
            Arc::new(Held { caught: watch::Sender::new(0), released: watch::Sender::new(false) });
        let id = self.add(methods, text, Deed::Hold(stage, Arc::clone(&held)));
        Hold { proxy: self, id, held }
    }

    /// Answers matching requests with this status from now on.
    pub fn answer(
        &self,
        code: StatusCode,
        methods: &'static [Method],
        text: &'static str,
    ) -> Outage<'_> {
        Outage { proxy: self, id: self.add(methods, text, Deed::Answer(code)) }
    }

    /// Answers matching requests with 429 and a Retry-After of two seconds from now on.
    pub fn busy(&self, text: &'static str) -> Outage<'_> {
        Outage { proxy: self, id: self.add(WRITES, text, Deed::Busy) }
    }

    /// Loses the answers to matching writes from now on.
    pub fn lose(&self, text: &'static str) -> Outage<'_> {
        Outage { proxy: self, id: self.add(WRITES, text, Deed::Lose) }
    }

    /// Delays matching writes from now on.
    pub fn delay(&self, time: Duration, text: &'static str) -> Outage<'_> {
        Outage { proxy: self, id: self.add(WRITES, text, Deed::Delay(time)) }
    }

    /// Lets matching reads succeed without content for this long, from now on.
    pub fn silence(&self, time: Duration, text: &'static str) -> Outage<'_> {
        Outage { proxy: self, id: self.add(READS, text, Deed::Silence(time)) }
    }

    /// Breaks every open watch off in the middle of its response.
    pub fn cut_watches(&self) {
        self.inner.cut.send_modify(|cuts| *cuts += 1);
    }

    fn add(&self, methods: &'static [Method], text: &'static str, deed: Deed) -> u32 {
        let mut rules = self.inner.rules.lock().unwrap();
        let id = rules.last().map_or(0, |r| r.id + 1);
        rules.push(Rule { id, methods, text, deed });
        id
    }

    fn remove(&self, id: u32) {
        self.inner.rules.lock().unwrap().retain(|r| r.id != id);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Hold<'_> {
    /// Waits until a request is held.
    pub async fn caught(&self, seconds: u64) {
        let caught = self.held.caught.subscribe();
        eventually("a request to be held", seconds, async || {
            that(*caught.borrow() > 0, "none came")
        })
        .await;
    }

    /// Releases held requests, and holds no more.
    pub fn release(self) {
        self.held.released.send_replace(true);
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.proxy.remove(self.id);
    }
}

impl Drop for Outage<'_> {
    fn drop(&mut self) {
        self.proxy.remove(self.id);
    }
}

impl Inner {
    fn deed(&self, request: &Request) -> Option<Deed> {
        let path = request.uri().path_and_query()?.as_str();
        let rules = self.rules.lock().unwrap();
        let fits = |r: &&Rule| r.methods.contains(request.method()) && path.contains(r.text);
        rules.iter().find(fits).map(|r| r.deed.clone())
    }
}

impl Held {
    /// Counts a request and waits until it is released.
    async fn keep(&self) {
        self.caught.send_modify(|n| *n += 1);
        let released = self.released.subscribe().wait_for(|yes| *yes).await.is_ok();
        assert!(released, "the hold was dropped before its requests");
    }
}

async fn forward(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    if inner.json_only && accepts_protobuf(&request) {
        return failure(StatusCode::NOT_ACCEPTABLE, "the proxy speaks only JSON");
    }
    let deed = inner.deed(&request);
    if let Some(Deed::Answer(code)) = deed {
        return failure(code, "the proxy answers so");
    }
    if let Some(Deed::Busy) = deed {
        return Response::builder()
            .status(StatusCode::TOO_MANY_REQUESTS)
            .header(http::header::RETRY_AFTER, "2")
            .body(Body::from("Too many requests, please try again later.\n"))
            .unwrap();
    }
    if let Some(Deed::Silence(time)) = deed {
        return Response::new(silent(time));
    }
    if let Some(Deed::Delay(time)) = deed {
        tokio::time::sleep(time).await;
    }
    if let Some(Deed::Hold(Stage::Unsent, held)) = &deed {
        held.keep().await;
    }
    let response = match send(&inner, request).await {
        Ok(response) => response,
        Err(error) => failure(StatusCode::BAD_GATEWAY, &error),
    };
    if let Some(Deed::Lose) = deed {
        return failure(StatusCode::BAD_GATEWAY, "the proxy has lost the answer");
    }
    if let Some(Deed::Hold(Stage::Unanswered, held)) = &deed {
        held.keep().await;
    }
    response
}

fn accepts_protobuf(request: &Request) -> bool {
    let accepted = request.headers().get(http::header::ACCEPT);
    accepted.is_some_and(|types| types.to_str().unwrap().contains("protobuf"))
}

async fn send(inner: &Inner, request: Request) -> Result<Response, String> {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let (mut head, body) = request.into_parts();
    head.headers.remove(http::header::HOST);
    let body = axum::body::to_bytes(body, usize::MAX).await.map_err(|error| error.to_string())?;
    let request = Request::from_parts(head, kube::client::Body::from(body));
    let response = inner.upstream.send(request).await.map_err(|error| error.to_string())?;
    let (head, body) = response.into_parts();
    let body = Body::new(body);
    let body =
        if is_watch { Body::from_stream(until_cut(body, inner.cut.subscribe())) } else { body };
    Ok(Response::from_parts(head, body))
}

/// A body that has no content and ends after this time.
fn silent(time: Duration) -> Body {
    let end = stream::once(tokio::time::sleep(time));
    Body::from_stream(end.filter_map(async |()| None::<Result<Vec<u8>, axum::Error>>))
}

/// The stream, broken off at the next cut.
fn until_cut(
    body: Body,
    cut: watch::Receiver<u32>,
) -> impl Stream<Item = Result<axum::body::Bytes, axum::Error>> {
    stream::unfold((body.into_data_stream(), cut), |(mut data, mut cut)| async {
        let item = tokio::select! {
            item = data.next() => item?,
            _ = cut.changed() => Err(axum::Error::new("cut off by the proxy")),
        };
        Some((item, (data, cut)))
    })
}

/// A response like the API server's for a failed request.
fn failure(code: StatusCode, message: &str) -> Response {
    let status = serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code.as_u16(),
        "message": message,
        "reason": code.canonical_reason().unwrap_or_default(),
    });
    Response::builder()
        .status(code)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(Body::from(status.to_string()))
        .unwrap()
}
