//! Answers of servers that are read from memory instead of a connection: what the fuzz targets in
//! `fuzz/` call.

use futures::AsyncBufRead;
use futures::io::BufReader;
use std::time::Duration;

use crate::model::snapshot::objects::{ObjectKind, Objects};
use crate::model::usage::Readings;

use super::stream::{Format, ListBody, Reply, WatchBody};
use super::usage_source::metrics_api;
use super::watch::{apply, decode};

/// The longest time without data, which memory never reaches.
const SILENCE: Duration = Duration::from_secs(9);

/// The body of an answer of the API server.
#[derive(Clone, Copy, Debug)]
pub struct BodyInMemory<'b> {
    /// Whether the server claims to send protobuf. Otherwise it claims to send JSON.
    pub protobuf: bool,
    /// The body.
    pub bytes: &'b [u8],
    /// How many bytes arrive at once.
    pub piece: usize,
}

impl<'b> BodyInMemory<'b> {
    fn reply(self) -> Reply<impl AsyncBufRead + Unpin + use<'b>> {
        let format = if self.protobuf { Format::Protobuf } else { Format::Json };
        let body = BufReader::with_capacity(self.piece.max(1), self.bytes);
        Reply::new(format, body)
    }
}

/// Reads a list of objects up to its end or its first error. Returns the number of items.
pub async fn list(kind: ObjectKind, body: BodyInMemory<'_>, into: &mut Objects) -> usize {
    let mut list = ListBody::new(body.reply(), usize::MAX);
    let mut items = 0;
    while let Ok(Some((format, item))) = list.next().await {
        apply(into, kind, "ADDED", decode(kind, format, item));
        items += 1;
    }
    items
}

/// Reads a watch up to its end or its first error. Returns the number of events.
pub async fn watch(kind: ObjectKind, body: BodyInMemory<'_>, into: &mut Objects) -> usize {
    let mut watch = WatchBody::new(body.reply(), SILENCE);
    let mut events = 0;
    while let Ok(Some(event)) = watch.next().await {
        let decoded = decode(kind, event.format, &event.object);
        apply(into, kind, &event.kind, decoded);
        event.resource_version();
        events += 1;
    }
    events
}

/// Reads a list of NodeMetrics; `None` if it is invalid.
pub async fn node_metrics(body: BodyInMemory<'_>) -> Option<Readings> {
    let add = metrics_api::add_node;
    metrics_api::readings(body.reply(), add).await.ok()
}

/// Reads a list of PodMetrics; `None` if it is invalid.
pub async fn pod_metrics(body: BodyInMemory<'_>) -> Option<Readings> {
    let add = metrics_api::add_pod;
    metrics_api::readings(body.reply(), add).await.ok()
}
