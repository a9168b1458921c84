//! Lists one kind and then watches it until the program ends.
//!
//! kube's own watcher is not used, for three reasons. It fails a whole page for one object that
//! does not decode. After an outage, it does not report that the watch works again until an object
//! changes. And it decodes and passes on whole objects, while this module keeps only a few facts of
//! each.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::pin::pin;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use futures::{AsyncBufRead, AsyncBufReadExt};
use http::Request;
use http::header::ACCEPT;
use jiff::Timestamp;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::import;
use crate::model::snapshot::objects::{Name, Object, ObjectKind};

use super::client::{error_message, query_value, status_code};
use super::{Cluster, Outage};

use self::wire::{ListPage, WatchEvent, WatchStatus, resource_version};

mod wire;

/// Objects in one page of a list.
const PAGE_SIZE: u32 = 500;
/// The deadline of one page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// The deadline for the start of a watch.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The API server ends a watch after this time. A short watch detects a dead connection early and
/// costs one request per kind.
const WATCH_SECONDS: u64 = 30;
/// A watch that sends nothing for this long is dead, because the API server should have ended it.
const SILENCE_LIMIT: Duration = Duration::from_secs(WATCH_SECONDS + 10);
/// The least time between the starts of two successful requests.
const SHORTEST_ROUND: Duration = Duration::from_millis(500);
/// The pause after the first failure, without jitter. It doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause, without jitter. Jitter adds up to as much again.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// A kind that is watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchedKind {
    pub(super) kind: ObjectKind,
    pub(super) path: &'static str,
    /// Whether only the metadata is requested.
    metadata_only: bool,
}

/// The kinds that are watched.
pub(super) const WATCHED_KINDS: [WatchedKind; 13] = [
    whole(ObjectKind::Node, "/api/v1/nodes"),
    whole(ObjectKind::Pod, "/api/v1/pods"),
    whole(ObjectKind::Budget, "/apis/policy/v1/poddisruptionbudgets"),
    whole(ObjectKind::Namespace, "/api/v1/namespaces"),
    whole(
        ObjectKind::Class,
        "/apis/scheduling.k8s.io/v1/priorityclasses",
    ),
    whole(ObjectKind::Claim, "/api/v1/persistentvolumeclaims"),
    whole(ObjectKind::Volume, "/api/v1/persistentvolumes"),
    whole(
        ObjectKind::StorageClass,
        "/apis/storage.k8s.io/v1/storageclasses",
    ),
    whole(ObjectKind::CsiNode, "/apis/storage.k8s.io/v1/csinodes"),
    whole(ObjectKind::Service, "/api/v1/services"),
    metadata(ObjectKind::ReplicaSet, "/apis/apps/v1/replicasets"),
    metadata(
        ObjectKind::ReplicationController,
        "/api/v1/replicationcontrollers",
    ),
    metadata(ObjectKind::Job, "/apis/batch/v1/jobs"),
];

const fn whole(kind: ObjectKind, path: &'static str) -> WatchedKind {
    WatchedKind {
        kind,
        path,
        metadata_only: false,
    }
}

const fn metadata(kind: ObjectKind, path: &'static str) -> WatchedKind {
    WatchedKind {
        kind,
        path,
        metadata_only: true,
    }
}

/// Why a list or a watch failed.
#[derive(Debug)]
enum WatchError {
    /// The resource version is too old (410), so everything has to be listed again.
    Expired,
    /// No data within this time.
    Silent(Duration),
    /// Any other failure.
    Broken(String),
}

/// Keeps the facts about one kind up to date.
pub(super) struct Watcher {
    cluster: Cluster,
    watched: WatchedKind,
    /// The resource version to continue from; `None` if everything has to be listed.
    position: Option<String>,
    /// Consecutive requests that failed.
    failures: u32,
    /// Consecutive watches that lost their position before the first event.
    losses: u32,
}

impl Watcher {
    pub(super) const fn new(cluster: Cluster, watched: WatchedKind) -> Self {
        Watcher {
            cluster,
            watched,
            position: None,
            failures: 0,
            losses: 0,
        }
    }

    /// Lists and watches forever.
    pub(super) async fn run(mut self) {
        loop {
            let (start, watching) = (Instant::now(), self.position.is_some());
            let result = match self.position.clone() {
                None => self.list().await,
                Some(position) => self.watch(position).await,
            };
            let pause = match result {
                Ok(()) => SHORTEST_ROUND.saturating_sub(start.elapsed()),
                Err(error) => self.fail(error, watching),
            };
            sleep(pause).await;
        }
    }

    /// Lists every object, page by page, and forgets those that no longer exist.
    async fn list(&mut self) -> Result<(), WatchError> {
        let mut listed = BTreeSet::new();
        let mut query = format!("limit={PAGE_SIZE}");
        loop {
            let request = self.request(&query, "PartialObjectMetadataList")?;
            let text = within(PAGE_TIMEOUT, self.cluster.client.request_text(request)).await?;
            let page: ListPage<'_> = serde_json::from_str(&text)
                .map_err(|e| WatchError::Broken(format!("invalid list: {e}")))?;
            self.add_page(page.items.unwrap_or_default(), &mut listed);
            if page.metadata.r#continue.is_empty() {
                self.position = Some(page.metadata.resource_version);
                break;
            }
            let token = query_value(&page.metadata.r#continue);
            query = format!("limit={PAGE_SIZE}&continue={token}");
        }
        self.cluster.objects().retain(self.watched.kind, &listed);
        self.cluster.listed(self.watched.kind);
        self.recover();
        Ok(())
    }

    fn add_page(&self, items: Vec<&RawValue>, listed: &mut BTreeSet<Name>) {
        // Decoded before the lock is taken, because others wait for it.
        let decoded: Vec<_> = items
            .into_iter()
            .map(|item| import::text(self.watched.kind, item.get()))
            .collect();
        let mut objects = self.cluster.objects();
        for object in decoded {
            listed.insert(name_of(&object));
            match object {
                Ok(object) => objects.apply(object),
                Err(skipped) => objects.skip(self.watched.kind, skipped),
            }
        }
    }

    /// Watches from a resource version until the API server ends the watch.
    async fn watch(&mut self, position: String) -> Result<(), WatchError> {
        let query = format!(
            "watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={}",
            query_value(&position)
        );
        let request = self.request(&query, "PartialObjectMetadata")?;
        let stream = within(START_TIMEOUT, self.cluster.client.request_stream(request)).await?;
        self.recover();
        let mut stream = pin!(stream);
        let mut line = Vec::new();
        while next_line(&mut stream, &mut line).await? {
            self.handle_line(&line)?;
            self.losses = 0;
        }
        self.losses = 0;
        Ok(())
    }

    /// Applies one line of a watch. After a line that is not an event, only a new list shows the
    /// current state.
    fn handle_line(&mut self, line: &[u8]) -> Result<(), WatchError> {
        let parsed = serde_json::from_slice(line);
        let WatchEvent { event, object } =
            parsed.map_err(|e| self.lose_position(format!("invalid watch event: {e}")))?;
        if event == "ERROR" {
            let status: WatchStatus = serde_json::from_str(object.get()).unwrap_or_default();
            return Err(if status.code == 410 {
                WatchError::Expired
            } else {
                self.lose_position(status.message)
            });
        }
        if event != "BOOKMARK" {
            self.apply(&event, object.get());
        }
        if let Some(version) = resource_version(object.get()) {
            self.position = Some(version);
        }
        Ok(())
    }

    fn lose_position(&mut self, why: String) -> WatchError {
        self.position = None;
        WatchError::Broken(why)
    }

    fn apply(&self, event: &str, object: &str) {
        let kind = self.watched.kind;
        let decoded = import::text(kind, object);
        let mut objects = self.cluster.objects();
        match decoded {
            decoded if event == "DELETED" => objects.delete(kind, &name_of(&decoded)),
            Ok(object) => objects.apply(object),
            Err(skipped) => objects.skip(kind, skipped),
        }
    }

    fn request(&self, query: &str, shape: &str) -> Result<Request<Vec<u8>>, WatchError> {
        let accept = if self.watched.metadata_only {
            // A server without this format sends whole objects, of which only the metadata is read.
            format!("application/json;as={shape};g=meta.k8s.io;v=v1,application/json")
        } else {
            "application/json".to_owned()
        };
        Request::get(format!("{}?{query}", self.watched.path))
            .header(ACCEPT, accept)
            .body(Vec::new())
            .map_err(|e| WatchError::Broken(e.to_string()))
    }

    /// Records that the API server responds.
    fn recover(&mut self) {
        self.failures = 0;
        if self.cluster.recovered(self.watched.kind) {
            info!("all watches work again");
        }
    }

    /// Records a failure and returns the pause before the next attempt.
    fn fail(&mut self, error: WatchError, watching: bool) -> Duration {
        let (why, silent_for) = match error {
            WatchError::Expired => {
                self.position = None;
                (
                    "resource version expired, listing again".to_owned(),
                    Duration::ZERO,
                )
            }
            WatchError::Silent(time) => (format!("no response for {} s", time.as_secs()), time),
            WatchError::Broken(why) => (why, Duration::ZERO),
        };
        self.failures += 1;
        // Lists are expensive, so they slow down as well when each following watch fails at once.
        self.losses += u32::from(watching && self.position.is_none());
        let attempts = self.failures.max(self.losses);
        self.report(&why, silent_for, attempts);
        pause_after(attempts)
    }

    /// Logs a failure: as a warning if it is news, because one outage usually fails every watch.
    fn report(&self, why: &str, silent_for: Duration, attempts: u32) {
        let kind = self.watched.kind;
        let outage = Outage {
            since: now() - silent_for,
            why: why.to_owned(),
        };
        if self.cluster.failed(kind, outage, attempts > 1) {
            warn!(
                kind = kind.name(),
                why, "watch failed; evictions stop until it works again, retrying"
            );
        } else {
            debug!(kind = kind.name(), why, attempts, "watch failed");
        }
    }
}

/// The pause after this many consecutive failures. Jitter keeps the watches from reconnecting at
/// the same moment.
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

fn name_of(decoded: &Result<Object, Skipped>) -> Name {
    match decoded {
        Ok(object) => object.key().1,
        Err(skipped) => (skipped.namespace.clone(), skipped.name.clone()),
    }
}

/// Reads a line; returns `false` at the end of the stream.
async fn next_line(
    stream: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> Result<bool, WatchError> {
    line.clear();
    match timeout(SILENCE_LIMIT, stream.read_until(b'\n', line)).await {
        Err(_) => Err(WatchError::Silent(SILENCE_LIMIT)),
        Ok(Ok(bytes)) => Ok(bytes > 0),
        // Servers and proxies cut streams without closing them properly. All lines so far were
        // complete.
        Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof && line.is_empty() => Ok(false),
        Ok(Err(error)) => Err(WatchError::Broken(error.to_string())),
    }
}

async fn within<T>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, WatchError> {
    match timeout(limit, request).await {
        Err(_) => Err(WatchError::Silent(limit)),
        Ok(Err(error)) if status_code(&error) == Some(410) => Err(WatchError::Expired),
        Ok(Err(error)) => Err(WatchError::Broken(error_message(&error))),
        Ok(Ok(response)) => Ok(response),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the edge, where the clock is read"
)]
fn now() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests;
