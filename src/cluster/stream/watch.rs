//! Watches, event by event.

use std::borrow::Cow;
use std::time::Duration;

use futures::AsyncBufRead;
use prost::Message;
use prost::bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::api::{Status, VersionOnly, WatchEvent};

use super::limited::{Limited, LimitedError, cut, fits};
use super::{Format, Reply, StreamError, status, unwrapped};

/// The limit of an event: an object of at most 1.5 MiB in etcd, which is larger in JSON.
const EVENT_LIMIT: usize = 8 * 1024 * 1024;

/// The body of a watch.
pub(in crate::cluster) struct WatchBody<R> {
    body: Limited<R>,
    format: Format,
}

/// An event of a watch.
#[derive(Debug)]
pub(in crate::cluster) struct Event {
    /// `ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK`.
    pub(in crate::cluster) kind: String,
    pub(in crate::cluster) format: Format,
    /// The object, without an envelope.
    pub(in crate::cluster) object: Bytes,
}

/// A line of a watch in JSON.
#[derive(Deserialize)]
struct WatchLine<'t> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'t, str>,
    #[serde(borrow)]
    object: &'t RawValue,
}

impl<R: AsyncBufRead + Unpin> WatchBody<R> {
    /// Reads the body of a watch. `silence` is the longest time without data.
    pub(in crate::cluster) fn new(reply: Reply<R>, silence: Duration) -> Self {
        WatchBody { body: reply.body.silence(silence), format: reply.format }
    }

    /// Reads the next event; `None` at the end. An event of type ERROR is an error.
    pub(in crate::cluster) async fn next(&mut self) -> Result<Option<Event>, StreamError> {
        let frame = match self.format {
            Format::Json => self.line().await?,
            Format::Protobuf => self.frame().await?,
        };
        let Some(frame) = frame else { return Ok(None) };
        let event = match self.format {
            Format::Json => from_line(&frame),
            Format::Protobuf => from_frame(frame),
        };
        let event =
            event.map_err(|why| StreamError::invalid(format!("invalid watch event: {why}")))?;
        if event.kind == "ERROR" {
            return Err(event.into_error());
        }
        Ok(Some(event))
    }

    /// Reads a frame: four bytes with its size, and the event.
    async fn frame(&mut self) -> Result<Option<Vec<u8>>, LimitedError> {
        if self.body.peek().await?.is_empty() {
            return Ok(None);
        }
        let mut frame = Vec::new();
        self.body.exactly(4, &mut frame).await?;
        let size = frame.iter().fold(0, |size, byte| size << 8 | usize::from(*byte));
        fits(size, EVENT_LIMIT, "watch event")?;
        self.body.exactly(size, &mut frame).await?;
        Ok(Some(frame))
    }

    async fn line(&mut self) -> Result<Option<Vec<u8>>, LimitedError> {
        let mut line = Vec::new();
        loop {
            let data = self.body.peek().await?;
            if data.is_empty() {
                return if line.is_empty() { Ok(None) } else { Err(cut()) };
            }
            let end = data.iter().position(|byte| *byte == b'\n');
            let bytes = end.unwrap_or(data.len());
            fits(line.len() + bytes, EVENT_LIMIT, "watch event")?;
            line.extend_from_slice(&data[..bytes]);
            self.body.take(bytes + usize::from(end.is_some()));
            if end.is_some() && !line.is_empty() {
                return Ok(Some(line));
            }
        }
    }
}

fn from_line(line: &[u8]) -> Result<Event, String> {
    let line: WatchLine<'_> = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    Ok(Event {
        kind: line.kind.into_owned(),
        format: Format::Json,
        object: Bytes::copy_from_slice(line.object.get().as_bytes()),
    })
}

fn from_frame(frame: Vec<u8>) -> Result<Event, String> {
    let event = WatchEvent::decode(Bytes::from(frame)).map_err(|e| e.to_string())?;
    Ok(Event {
        kind: event.kind,
        format: Format::Protobuf,
        object: unwrapped(&event.object.raw).ok_or("no protobuf of Kubernetes")?,
    })
}

impl Event {
    /// The resource version of the object, if it has one.
    pub(in crate::cluster) fn resource_version(&self) -> Option<String> {
        let object: VersionOnly = match self.format {
            Format::Json => serde_json::from_slice(&self.object).unwrap_or_default(),
            Format::Protobuf => VersionOnly::decode(self.object.clone()).unwrap_or_default(),
        };
        Some(object.metadata.resource_version).filter(|version| !version.is_empty())
    }

    fn into_error(self) -> StreamError {
        let status = match self.format {
            Format::Json => status(self.format, &self.object),
            Format::Protobuf => Status::decode(self.object).ok(),
        };
        let status = status.unwrap_or_default();
        StreamError::refused(u16::try_from(status.code).unwrap_or_default(), &status)
    }
}
