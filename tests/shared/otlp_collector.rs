//! A fake OTLP collector for HTTP and gRPC, and the span trees that it received.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use axum::serve::Listener;
use http_body_util::{BodyExt, Full};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;

/// How the collector answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Good,
    /// With this status of HTTP.
    Status(u16),
    /// Never.
    Silence,
}

/// A running one.
#[derive(Clone)]
pub(crate) struct Collector {
    address: String,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    answer: Answer,
    requests: Vec<(String, HeaderMap)>,
    resources: Vec<BTreeMap<String, String>>,
    spans: Vec<Span>,
}

impl Collector {
    pub(crate) async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        Collector::on(listener, address, answer)
    }

    pub(crate) fn on<L>(listener: L, address: String, answer: Answer) -> Self
    where
        L: Listener,
        L::Addr: std::fmt::Debug,
    {
        let shared = Shared {
            answer,
            requests: Vec::new(),
            resources: Vec::new(),
            spans: Vec::new(),
        };
        let it = Collector {
            address,
            shared: Arc::new(Mutex::new(shared)),
        };
        let taker = it.clone();
        let router = Router::new().fallback(move |request: Request| taker.clone().take(request));
        tokio::spawn(async move { axum::serve(listener, router).await });
        it
    }

    pub(crate) fn url(&self) -> String {
        self.address.clone()
    }

    pub(crate) fn answers(&self, answer: Answer) {
        self.shared.lock().unwrap().answer = answer;
    }

    async fn take(self, request: Request) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(Body::new(body), usize::MAX)
            .await
            .unwrap();
        let path = head.uri.path().to_owned();
        let grpc = head.headers["content-type"] == "application/grpc";
        let answer = {
            let mut shared = self.shared.lock().unwrap();
            shared.requests.push((path, head.headers));
            if shared.answer == Answer::Good {
                shared.note(if grpc { &body[5..] } else { &body[..] });
            }
            shared.answer
        };
        match answer {
            Answer::Good if grpc => {
                let trailers =
                    HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
                let body =
                    Full::from(&[0, 0, 0, 0, 0][..]).with_trailers(async { Some(Ok(trailers)) });
                Response::builder()
                    .header("content-type", "application/grpc")
                    .body(Body::new(body))
                    .unwrap()
            }
            Answer::Good => Response::new(Body::empty()),
            Answer::Status(code) => Response::builder()
                .status(code)
                .body(Body::empty())
                .unwrap(),
            Answer::Silence => std::future::pending().await,
        }
    }

    /// The path and the headers of each request.
    pub(crate) fn requests(&self) -> Vec<(String, HeaderMap)> {
        self.shared.lock().unwrap().requests.clone()
    }

    /// The attributes of the resource, which identifies the sender.
    pub(crate) fn resource(&self) -> BTreeMap<String, String> {
        let mut all = self.shared.lock().unwrap().resources.clone();
        all.dedup();
        assert_eq!(all.len(), 1, "{all:#?}");
        all.remove(0)
    }

    /// Every trace that begins with such a span, as a tree in the order of time.
    pub(crate) fn trees(&self, name: &str) -> String {
        let mut spans = self.shared.lock().unwrap().spans.clone();
        spans.sort_by_key(|span| (span.start_time_unix_nano, span.end_time_unix_nano));
        let mut text = String::new();
        for root in spans
            .iter()
            .filter(|span| span.parent_span_id.is_empty() && span.name.starts_with(name))
        {
            write_tree(root, &spans, 0, &mut text);
        }
        text
    }

    /// How many spans there are whose parent is nowhere.
    pub(crate) fn orphans(&self) -> usize {
        let spans = &self.shared.lock().unwrap().spans;
        let known = |id: &[u8]| id.is_empty() || spans.iter().any(|span| span.span_id == id);
        spans
            .iter()
            .filter(|span| !known(&span.parent_span_id))
            .count()
    }
}

impl Shared {
    fn note(&mut self, message: &[u8]) {
        for part in ExportTraceServiceRequest::decode(message)
            .unwrap()
            .resource_spans
        {
            let attributes = &part.resource.as_ref().unwrap().attributes;
            self.resources.push(
                attributes
                    .iter()
                    .map(|it| (it.key.clone(), value_of(it)))
                    .collect(),
            );
            self.spans
                .extend(part.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
}

/// One line per span: its name, its attributes and its error.
fn write_tree(span: &Span, all: &[Span], depth: usize, text: &mut String) {
    let mut line = format!("{:1$}{2}", "", depth * 2, span.name);
    for it in &span.attributes {
        let value = without_address(value_of(it));
        write!(line, " {}={value}", it.key).unwrap();
    }
    let status = span.status.clone().unwrap_or_default();
    if status.code == 2 {
        write!(line, " ERROR {}", status.message).unwrap();
    }
    writeln!(text, "{}", line.trim_end()).unwrap();
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
    for child in all
        .iter()
        .filter(|child| child.parent_span_id == span.span_id)
    {
        assert_eq!(child.trace_id, span.trace_id);
        write_tree(child, all, depth + 1, text);
    }
}

/// Where the API server is differs each time.
fn without_address(value: String) -> String {
    match value.split_once("http://127.0.0.1:") {
        Some(("", rest)) => rest.trim_start_matches(char::is_numeric).to_owned(),
        _ => value,
    }
}

fn value_of(it: &KeyValue) -> String {
    match it.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(whether)) => whether.to_string(),
        other => format!("{other:?}"),
    }
}
