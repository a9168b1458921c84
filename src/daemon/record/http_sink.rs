//! Sends lines of the record to an HTTP server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use reqwest::{Client, RequestBuilder, Url};
use serde_json::json;

use crate::cluster::error_text::{causes, one_line};
use crate::cluster::secret_file;
use crate::model::record::RecordLine;
use crate::telemetry::traces::collector::Collector;

use super::sink_error::SinkError;

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
        let server = Collector { url, ca_file, headers: HeaderMap::new(), timeout: TIMEOUT };
        HttpSink { server, token_file, format, client: None }
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
            Err(SinkError::Unanswered(format!("no response within {seconds} s")))
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
            BodyFormat::Text => ("application/json", json!({"text": line.sentence()}).to_string()),
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

fn token(file: &Path) -> Result<String, SinkError> {
    secret_file::read(file).map_err(|why| {
        let file = file.display();
        SinkError::NotSent(format!("cannot use the token in {file}: {why}"))
    })
}

async fn send(request: RequestBuilder) -> Result<(), SinkError> {
    // The URL of a webhook is its secret, so no message has it.
    let response = request.send().await.map_err(|error| {
        let error = error.without_url();
        let why = format!("cannot send: {}", one_line(&causes(&error)));
        if error.is_connect() || error.is_builder() {
            SinkError::NotSent(why)
        } else {
            SinkError::Unanswered(why)
        }
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::Router;
    use axum::http::{HeaderMap, StatusCode};

    use super::*;
    use crate::cluster::client::tests::served;
    use crate::daemon::record::tests::fact;

    /// The headers and bodies that a server received.
    type Received = Arc<Mutex<Vec<(HeaderMap, String)>>>;

    /// The address of a server that responds with this status.
    async fn server(status: u16, text: &'static str) -> (Url, Received) {
        let received = Received::default();
        let log = Arc::clone(&received);
        let router = Router::new().fallback(move |headers: HeaderMap, body: String| {
            log.lock().unwrap().push((headers, body));
            async move { (StatusCode::from_u16(status).unwrap(), text) }
        });
        let url = format!("{}/services/secret", served(router).await);
        (url.parse().unwrap(), received)
    }

    fn line() -> RecordLine {
        RecordLine::of(&fact("u-1"), "evenkeel/prod")
    }

    /// Why a server does not take the line.
    async fn refused(url: Url) -> SinkError {
        let mut sink = HttpSink::new(url, BodyFormat::CloudEvent, None, None);
        sink.write(&line()).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_line_is_posted_as_a_cloudevent_with_the_token_of_now() {
        let (url, received) = server(202, "").await;
        let file = std::env::temp_dir().join(format!("evenkeel-token-{}", std::process::id()));
        let mut sink = HttpSink::new(url, BodyFormat::CloudEvent, Some(file.clone()), None);
        for token in ["one", "two\n"] {
            std::fs::write(&file, token).unwrap();
            sink.write(&line()).await.unwrap();
        }
        std::fs::remove_file(&file).unwrap();
        let received = received.lock().unwrap();
        let (headers, body) = &received[0];
        assert_eq!(headers["content-type"], "application/cloudevents+json; charset=UTF-8");
        assert_eq!(RecordLine::parse(body).unwrap(), line());
        let tokens: Vec<_> = received.iter().map(|(h, _)| &h["authorization"]).collect();
        assert_eq!(tokens, ["Bearer one", "Bearer two"]);
    }

    #[tokio::test]
    async fn a_webhook_of_a_chat_gets_one_sentence() {
        let (url, received) = server(200, "ok").await;
        let mut sink = HttpSink::new(url, BodyFormat::Text, None, None);
        sink.write(&line()).await.unwrap();
        let (headers, body) = received.lock().unwrap()[0].clone();
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(body, r#"{"text":"evenkeel/prod: evicted shop/web-1 from n1"}"#);
    }

    #[tokio::test]
    async fn statuses_tell_a_bad_line_from_a_server_in_trouble() {
        for (status, is_about_the_line) in [(400, true), (413, true), (401, false), (503, false)] {
            let error = refused(server(status, "no\nsuch channel").await.0).await;
            assert_eq!(error.is_about_the_line(), is_about_the_line, "{status}");
            let expected = format!("HTTP status {status}: no such channel");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[tokio::test]
    async fn a_server_that_may_have_the_line_is_told_apart_from_one_that_has_not() {
        for (status, may_be_written) in [(401, false), (429, false), (500, true), (504, true)] {
            let error = refused(server(status, "").await.0).await;
            assert_eq!(error.may_be_written(), may_be_written, "{status}");
        }
        // The connection is refused, and the connection ends before the response.
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { while listener.accept().await.is_ok() {} });
        for (address, may_be_written) in [("127.0.0.1:1".parse().unwrap(), false), (address, true)]
        {
            let error = refused(Url::parse(&format!("http://{address}/")).unwrap()).await;
            assert_eq!(error.may_be_written(), may_be_written, "{error}");
        }
    }

    #[tokio::test]
    async fn errors_do_not_show_the_address_which_may_be_a_secret() {
        let url = Url::parse("http://127.0.0.1:1/services/secret").unwrap();
        let file = Some(PathBuf::from("/nowhere/token"));
        let mut refused = HttpSink::new(url.clone(), BodyFormat::Text, None, None);
        let error = refused.write(&line()).await.unwrap_err().to_string();
        assert!(error.starts_with("cannot send: "), "{error}");
        assert!(!error.contains("secret"), "{error}");
        let mut without = HttpSink::new(url, BodyFormat::Text, file, None);
        let error = without.write(&line()).await.unwrap_err().to_string();
        assert!(error.starts_with("cannot use the token in /nowhere/token: "), "{error}");
    }
}
