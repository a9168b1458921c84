//! HTTP requests of the OTLP exporter, sent by the reqwest client that the Prometheus source uses
//! as well.
//!
//! The exporter library knows only that a request failed. This client keeps the reason, because
//! operators need it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use reqwest::Client;
use tokio::sync::watch;

use crate::cluster::error_text::{causes, one_line};
use crate::cluster::lock;

use super::collector::Collector;
use super::error::TraceError;

/// Bytes of a response that are read. Responses of collectors are far shorter.
const RESPONSE_LIMIT: usize = 64 << 10;

/// Result of the newest request: the error, or `None` after a success.
pub(super) type LastError = Arc<watch::Sender<Option<TraceError>>>;

#[derive(Debug)]
pub(super) struct CollectorClient {
    collector: Collector,
    /// `None` after a failure, so that the next request opens new connections and reads the CA file
    /// again.
    connection: Mutex<Option<Client>>,
    last_error: LastError,
}

impl CollectorClient {
    /// Fails if the CA file cannot be used. Sends no request.
    pub(super) fn new(collector: Collector, last_error: LastError) -> Result<Self, TraceError> {
        let connection = Mutex::new(Some(collector.connect()?));
        Ok(CollectorClient { collector, connection, last_error })
    }

    async fn send(&self, body: Bytes) -> Result<Response<Bytes>, TraceError> {
        let known = lock(&self.connection)
            // Taken out for the request: if the task is cancelled, the next request connects again.
            .take();
        let client = known.map_or_else(|| self.collector.connect(), Ok)?;
        let response = client
            .post(self.collector.url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"))
            // The library reads headers from the environment. Ours respect the flags, so that they
            // replace those.
            .headers(self.collector.headers.clone())
            .body(body)
            .send()
            .await;
        let response = read(response.map_err(|error| request_error(&error))?).await?;
        if response.status().is_success() {
            *lock(&self.connection) = Some(client);
        }
        Ok(response)
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.send(request.into_body()).await;
        self.last_error.send_replace(match &sent {
            Ok(response) => response_error(response),
            Err(error) => Some(error.clone()),
        });
        Ok(sent?)
    }
}

/// Reads a response up to [`RESPONSE_LIMIT`].
async fn read(mut response: reqwest::Response) -> Result<Response<Bytes>, TraceError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| request_error(&error))? {
        body.extend_from_slice(&chunk);
        // A wrong address may answer with an endless stream.
        if body.len() > RESPONSE_LIMIT {
            break;
        }
    }
    let mut whole = Response::new(Bytes::from(body));
    *whole.status_mut() = response.status();
    *whole.headers_mut() = std::mem::take(response.headers_mut());
    Ok(whole)
}

/// Returns why there is no response, with advice for the most common reasons.
fn request_error(error: &reqwest::Error) -> TraceError {
    let text = one_line(&causes(error));
    if text.contains("certificate expired") {
        return TraceError::Tls(format!("the collector's certificate has expired: {text}"));
    }
    if text.contains("UnknownIssuer") || text.contains("BadSignature") {
        let hint = "the collector's certificate has an unknown issuer, set --otlp-ca-file";
        return TraceError::Tls(format!("{hint}: {text}"));
    }
    if text.contains("certificate") {
        return TraceError::Tls(text);
    }
    // A refused connection is no sign of gRPC. A broken response is.
    let hint = if error.is_connect() {
        ""
    } else {
        "; if this port takes gRPC, use the collector's HTTP port, usually 4318"
    };
    TraceError::Connection(text + hint)
}

/// Returns what a response says against the spans that were sent.
fn response_error(response: &Response<Bytes>) -> Option<TraceError> {
    let status = response.status();
    if status.is_success() {
        return rejection(response.body());
    }
    let reason = if status.is_redirection() {
        "redirects are not followed".to_owned()
    } else {
        reason(status, response.headers(), response.body())
    };
    Some(TraceError::Status { code: status.as_u16(), reason })
}

/// Returns the server's message if it is text, otherwise the name of the status.
fn reason(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> String {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_text = content_type
        .is_some_and(|kind| kind.starts_with("text/plain") || kind.starts_with("application/json"));
    let message = if is_text { one_line(&String::from_utf8_lossy(body)) } else { String::new() };
    match status.canonical_reason() {
        Some(name) if message.is_empty() => name.to_owned(),
        Some(_) | None => message,
    }
}

/// Returns the partial success of a collector that rejects some spans. The exporter library decodes
/// it as well, but does not return it. A body that cannot be decoded counts as a full success, as
/// the status says.
fn rejection(body: &[u8]) -> Option<TraceError> {
    let partial = ExportTraceServiceResponse::decode(body).ok()?.partial_success?;
    let spans = usize::try_from(partial.rejected_spans).ok().filter(|spans| *spans > 0)?;
    Some(TraceError::Rejected { spans, reason: one_line(&partial.error_message) })
}
