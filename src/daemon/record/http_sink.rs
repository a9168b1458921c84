//! Sends lines of the record to an HTTP server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use reqwest::{Client, RequestBuilder, Url};
use serde_json::json;

use crate::cluster::error_text::{causes, one_line};
use crate::daemon::telemetry::traces::collector::Collector;
use crate::model::record::RecordLine;

use super::sink::SinkError;

/// The time for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    /// The line, as a CloudEvent in structured mode.
    CloudEvent,
    /// One sentence in the field `text`, as the webhooks of Slack, Mattermost and others take it.
    Text,
}

/// An HTTP server that takes one line in each request.
pub struct HttpSink {
    server: Collector,
    token_file: Option<PathBuf>,
    format: BodyFormat,
    /// `None` at first and after a failure, so that the CA file is read again.
    client: Option<Client>,
}

impl HttpSink {
    /// Creates the sink without sending a request. The files are read later, because they may be
    /// renewed.
    pub fn new(
        url: Url,
        format: BodyFormat,
        token_file: Option<PathBuf>,
        ca_file: Option<PathBuf>,
    ) -> Self {
        let server = Collector {
            url,
            ca_file,
            headers: HeaderMap::new(),
            timeout: TIMEOUT,
        };
        HttpSink {
            server,
            token_file,
            format,
            client: None,
        }
    }

    pub(super) async fn write(&mut self, line: &RecordLine) -> Result<(), SinkError> {
        // Taken out for the request, so that a failure connects again.
        let client = match self.client.take() {
            Some(client) => client,
            None => self.connect()?,
        };
        let request = self.request(&client, line)?;
        let timeout = self.server.timeout;
        let sent = tokio::time::timeout(timeout, send(request)).await;
        sent.unwrap_or_else(|_| {
            let seconds = timeout.as_secs();
            Err(SinkError::NotSent(format!(
                "no response within {seconds} s"
            )))
        })?;
        self.client = Some(client);
        Ok(())
    }

    fn connect(&self) -> Result<Client, SinkError> {
        let client = self.server.connect();
        client.map_err(|error| SinkError::NotSent(error.to_string()))
    }

    fn request(&self, client: &Client, line: &RecordLine) -> Result<RequestBuilder, SinkError> {
        let (media_type, body) = match self.format {
            BodyFormat::CloudEvent => ("application/cloudevents+json; charset=UTF-8", line.json()),
            BodyFormat::Text => (
                "application/json",
                json!({"text": line.sentence()}).to_string(),
            ),
        };
        let request = client
            .post(self.server.url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static(media_type))
            .body(body);
        Ok(match &self.token_file {
            Some(file) => request.bearer_auth(token(file)?),
            None => request,
        })
    }
}

/// Reads a token. It is read for every request, because tokens rotate.
fn token(file: &Path) -> Result<String, SinkError> {
    let unusable = |why: &str| {
        let file = file.display();
        SinkError::NotSent(format!("cannot use the token in {file}: {why}"))
    };
    let text = std::fs::read_to_string(file).map_err(|error| unusable(&error.to_string()))?;
    let text = text.trim();
    if text.is_empty() || text.contains(char::is_control) {
        return Err(unusable("expected one line"));
    }
    Ok(text.to_owned())
}

async fn send(request: RequestBuilder) -> Result<(), SinkError> {
    // The URL of a webhook is its secret, so no message has it.
    let response = request.send().await.map_err(|error| {
        let error = error.without_url();
        SinkError::NotSent(format!("cannot send: {}", one_line(&causes(&error))))
    });
    let mut response = response?;
    if response.status().is_success() {
        return Ok(());
    }
    let start = response.chunk().await.ok().flatten().unwrap_or_default();
    Err(SinkError::Status {
        code: response.status().as_u16(),
        message: one_line(&String::from_utf8_lossy(&start)),
    })
}
