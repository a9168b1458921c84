//! Lists and watches as they arrive: item by item, in protobuf or JSON, never a whole body.

use std::time::Duration;

use backon::{BackoffBuilder, ConstantBuilder, ExponentialBuilder};
use futures::{AsyncBufRead, TryStreamExt};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use prost::Message;
use tokio::time::timeout;

use crate::model::api::{Envelope, Status};
use crate::model::snapshot::lacking::Lack;

use super::client::error_message;
use super::error_text::{after_colon, one_line};

use self::limited::{Limited, LimitedError};

mod json;
mod limited;
mod list;
mod protobuf;
mod watch;

pub(super) use list::{ListBody, Pages};
pub(super) use watch::WatchBody;

/// The deadline for the start of an answer.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The limit of the answer to a request that fails.
const STATUS_LIMIT: usize = 64 * 1024;
/// The content type of protobuf.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The pause after the first failure, without jitter. It doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause, without jitter. Jitter adds up to as much again.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause that the API server may ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StreamError {
    /// The HTTP status, or the code of an ERROR event; `None` if there was no answer.
    pub(super) code: Option<u16>,
    /// The reason.
    pub(super) why: String,
    /// The time without data, if that is the reason.
    pub(super) silent_for: Option<Duration>,
    /// The pause that the API server asks for.
    pub(super) retry_after: Option<Duration>,
    /// Whether the answer was not understood, so that the same request in JSON may be answered
    /// better.
    pub(super) invalid: bool,
}

/// How objects are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON.
    Json,
    /// Protobuf.
    Protobuf,
}

impl Format {
    /// The header that asks for it. Instead of protobuf, the server may still send JSON.
    const fn header(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Protobuf => "application/vnd.kubernetes.protobuf,application/json",
        }
    }
}

impl StreamError {
    /// Creates an error for an answer that is not understood.
    pub(super) fn invalid(why: impl Into<String>) -> Self {
        StreamError { invalid: true, ..StreamError::broken(why) }
    }

    /// Creates an error for a connection or a stream that broke.
    pub(super) fn broken(why: impl Into<String>) -> Self {
        StreamError {
            code: None,
            why: why.into(),
            silent_for: None,
            retry_after: None,
            invalid: false,
        }
    }

    fn silent(limit: Duration) -> Self {
        StreamError {
            silent_for: Some(limit),
            ..StreamError::broken(format!("no response for {} s", limit.as_secs()))
        }
    }

    /// Creates an error from the `Status` of the API server.
    fn refused(code: u16, status: &Status) -> Self {
        let seconds = u64::try_from(status.details.retry_after_seconds).unwrap_or_default();
        let why = if status.message.is_empty() {
            format!("status {code} {}", status.reason)
        } else {
            one_line(&status.message)
        };
        StreamError {
            code: Some(code),
            retry_after: (seconds > 0).then(|| Duration::from_secs(seconds)),
            ..StreamError::broken(why)
        }
    }

    /// Returns the reason why the objects of the kind stay unknown, if the API server says so.
    pub(super) const fn lack(&self) -> Option<Lack> {
        match self.code {
            Some(403) => Some(Lack::Forbidden),
            Some(404) => Some(Lack::NotServed),
            Some(_) | None => None,
        }
    }

    /// Returns true if the position or the token is too old (410): everything has to be listed.
    pub(super) fn is_expired(&self) -> bool {
        self.code == Some(410)
    }

    /// Returns true if the server may understand the same request in JSON: it refuses protobuf, or
    /// its answer is not what it claims to be.
    pub(super) fn may_be_about_protobuf(&self) -> bool {
        self.invalid || matches!(self.code, Some(406 | 415))
    }

    /// Returns true if the same request may succeed later without a change of rights or objects.
    pub(super) fn is_temporary(&self) -> bool {
        self.code.is_none_or(|code| code == 429 || code >= 500)
    }

    /// The pause after this error, the last of this many failures. It is never shorter than the API
    /// server asks for.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        let asked = self.retry_after.unwrap_or_default();
        asked.min(LONGEST_RETRY_AFTER) + pause_after(failures)
    }
}

impl From<LimitedError> for StreamError {
    fn from(error: LimitedError) -> Self {
        match error {
            LimitedError::Silent(limit) => StreamError::silent(limit),
            LimitedError::Invalid(why) => StreamError::invalid(why),
            LimitedError::Broken(why) | LimitedError::TooLarge(why) => StreamError::broken(why),
        }
    }
}

/// An answer whose body is still to be read.
pub(super) struct Reply<R> {
    format: Format,
    body: Limited<R>,
}

impl<R: AsyncBufRead + Unpin> Reply<R> {
    /// Creates an answer from its body.
    pub(super) const fn new(format: Format, body: R) -> Self {
        Reply { format, body: Limited::new(body) }
    }
}

/// Sends a GET request and returns its answer, if that is a success.
pub(super) async fn get(
    client: &Client,
    uri: &str,
    accepted: Format,
) -> Result<Reply<impl AsyncBufRead + Unpin + Send + use<>>, StreamError> {
    let request = Request::get(uri)
        .header(ACCEPT, accepted.header())
        .body(Body::empty())
        .map_err(|e| StreamError::broken(e.to_string()))?;
    let response = match timeout(START_TIMEOUT, client.send(request)).await {
        Err(_) => return Err(StreamError::silent(START_TIMEOUT)),
        Ok(Err(error)) => return Err(StreamError::broken(error_message(&error))),
        Ok(Ok(response)) => response,
    };
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    let mut reply = reply(response);
    if status < 400 {
        return Ok(reply);
    }
    let text = reply.body.rest(STATUS_LIMIT).await?;
    let error = refusal(status, reply.format, &text);
    Err(StreamError { retry_after: retry_after.or(error.retry_after), ..error })
}

fn reply(response: Response<Body>) -> Reply<impl AsyncBufRead + Unpin + Send + use<>> {
    let content = response.headers().get(CONTENT_TYPE);
    let content = content.and_then(|c| c.to_str().ok()).unwrap_or_default();
    let format = if content.starts_with(PROTOBUF) { Format::Protobuf } else { Format::Json };
    let data = response.into_body().into_data_stream();
    let data = Box::pin(data.map_err(std::io::Error::other)).into_async_read();
    Reply::new(format, data)
}

/// The other form of the header, a date, is not used by API servers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn refusal(code: u16, format: Format, text: &[u8]) -> StreamError {
    if let Some(status) = status(format, text) {
        return StreamError::refused(code, &status);
    }
    // Proxies answer without a Status object.
    let text = after_colon(&one_line(&String::from_utf8_lossy(text)));
    StreamError::refused(
        code,
        &Status { message: format!("status {code}{text}"), ..Status::default() },
    )
}

/// Decodes a `Status`.
fn status(format: Format, text: &[u8]) -> Option<Status> {
    match format {
        Format::Json => serde_json::from_slice(text).ok(),
        Format::Protobuf => Status::decode(unwrapped(text)?).ok(),
    }
}

/// Returns the object in an envelope.
fn unwrapped(text: &[u8]) -> Option<prost::bytes::Bytes> {
    let envelope = text.strip_prefix(&Envelope::MAGIC)?;
    Envelope::decode(envelope).ok().map(|e| e.raw)
}

/// The pause after this many failures. Jitter keeps the watches from reconnecting at the same
/// moment.
fn pause_after(failures: u32) -> Duration {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .with_jitter()
        .build();
    // The pauses reach the longest one long before the sixteenth.
    let index = failures.saturating_sub(1).min(16);
    pauses.nth(index as usize).unwrap_or(LONGEST_PAUSE)
}

/// A random time from this one to twice this one.
pub(super) fn jittered(time: Duration) -> Duration {
    let mut times = ConstantBuilder::new().with_delay(time).with_jitter().build();
    times.next().unwrap_or(time)
}

#[cfg(test)]
mod tests;
