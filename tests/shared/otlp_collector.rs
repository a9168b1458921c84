//! A fake OTLP collector, and the span trees that it has received.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{self, HeaderMap};
use axum::serve::Listener;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;

/// How the collector responds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Response {
    Success,
    /// HTTP 200, with a message that one span was rejected.
    PartialSuccess,
    /// This HTTP status.
    Status(u16),
    /// No response, on an open connection.
    Hang,
}

/// A running collector; clones share the received messages.
#[derive(Clone)]
pub(crate) struct Collector {
    address: String,
    received: Arc<Mutex<Received>>,
}

struct Received {
    response: Response,
    requests: Vec<(String, HeaderMap)>,
    resources: Vec<BTreeMap<String, String>>,
    spans: Vec<Span>,
}

impl Collector {
    pub(crate) async fn start(response: Response) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        Collector::on(listener, address, response)
    }

    pub(crate) fn on<L>(listener: L, address: String, response: Response) -> Self
    where
        L: Listener,
        L::Addr: std::fmt::Debug,
    {
        let received =
            Received { response, requests: Vec::new(), resources: Vec::new(), spans: Vec::new() };
        let collector = Collector { address, received: Arc::new(Mutex::new(received)) };
        let handler = collector.clone();
        let router =
            Router::new().fallback(move |request: Request| handler.clone().handle(request));
        tokio::spawn(async move { axum::serve(listener, router).await });
        collector
    }

    pub(crate) fn url(&self) -> String {
        self.address.clone()
    }

    pub(crate) fn respond(&self, response: Response) {
        self.received.lock().unwrap().response = response;
    }

    async fn handle(self, request: Request) -> http::Response<Body> {
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(Body::new(body), usize::MAX).await.unwrap();
        let path = head.uri.path().to_owned();
        let response = {
            let mut received = self.received.lock().unwrap();
            received.requests.push((path, head.headers));
            if matches!(received.response, Response::Success | Response::PartialSuccess) {
                received.add(&body);
            }
            received.response
        };
        match response {
            Response::Success => http::Response::new(Body::empty()),
            Response::PartialSuccess => {
                let rejection = ExportTracePartialSuccess {
                    rejected_spans: 1,
                    error_message: "quota exceeded".to_owned(),
                };
                let message = ExportTraceServiceResponse { partial_success: Some(rejection) };
                http::Response::new(Body::from(message.encode_to_vec()))
            }
            Response::Status(code) => {
                http::Response::builder().status(code).body(Body::empty()).unwrap()
            }
            Response::Hang => std::future::pending().await,
        }
    }

    /// Path and headers of each request.
    pub(crate) fn requests(&self) -> Vec<(String, HeaderMap)> {
        self.received.lock().unwrap().requests.clone()
    }

    /// Attributes of the only resource that has sent spans.
    pub(crate) fn resource(&self) -> BTreeMap<String, String> {
        let mut all = self.received.lock().unwrap().resources.clone();
        all.dedup();
        assert_eq!(all.len(), 1, "{all:#?}");
        all.remove(0)
    }

    /// Every trace whose root span has this name, as a tree in order of time.
    pub(crate) fn trees(&self, name: &str) -> String {
        let mut spans = self.received.lock().unwrap().spans.clone();
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

    /// Number of spans whose parent was not received.
    pub(crate) fn orphans(&self) -> usize {
        let spans = &self.received.lock().unwrap().spans;
        let is_received = |id: &[u8]| id.is_empty() || spans.iter().any(|span| span.span_id == id);
        spans.iter().filter(|span| !is_received(&span.parent_span_id)).count()
    }
}

impl Received {
    fn add(&mut self, message: &[u8]) {
        for part in ExportTraceServiceRequest::decode(message).unwrap().resource_spans {
            let attributes = &part.resource.as_ref().unwrap().attributes;
            self.resources.push(
                attributes
                    .iter()
                    .map(|attribute| (attribute.key.clone(), value_of(attribute)))
                    .collect(),
            );
            self.spans.extend(part.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
}

/// Writes a line for each span: its name, its attributes and its error.
fn write_tree(span: &Span, all: &[Span], depth: usize, text: &mut String) {
    let mut line = format!("{:1$}{2}", "", depth * 2, span.name);
    for attribute in &span.attributes {
        let value = without_address(value_of(attribute));
        write!(line, " {}={value}", attribute.key).unwrap();
    }
    let status = span.status.clone().unwrap_or_default();
    if status.code == 2 {
        write!(line, " ERROR {}", status.message).unwrap();
    }
    writeln!(text, "{}", line.trim_end()).unwrap();
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
    for child in all.iter().filter(|child| child.parent_span_id == span.span_id) {
        assert_eq!(child.trace_id, span.trace_id);
        write_tree(child, all, depth + 1, text);
    }
}

/// Removes the API server's address, which differs in each run.
fn without_address(value: String) -> String {
    match value.split_once("http://127.0.0.1:") {
        Some(("", rest)) => rest.trim_start_matches(char::is_numeric).to_owned(),
        _ => value,
    }
}

fn value_of(attribute: &KeyValue) -> String {
    match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(value)) => value.to_string(),
        other => format!("{other:?}"),
    }
}
