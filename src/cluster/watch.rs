//! Lists one kind and then watches it until the program ends.
//!
//! kube's own watcher is not used, for three reasons. It fails a whole page for one object that
//! does not decode. After an outage, it does not report that the watch works again until an object
//! changes. And it decodes and passes on whole objects, while this module keeps only a few facts of
//! each.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::{debug, info};

use crate::cluster::clock::LocalTime;
use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::import;
use crate::model::snapshot::objects::{Name, Object, ObjectKind, Objects};

use super::client::query_value;
use super::stream::{Format, Pages, StreamError, WatchBody, get, jittered};
use super::{Cluster, Outage};

/// Objects that are stored at once, because others wait for the lock meanwhile.
const BATCH: usize = 100;
/// The API server ends a watch after this time, up to twice as long with jitter. A short watch
/// detects a dead connection early and costs one request per kind.
const WATCH_TIME: Duration = Duration::from_secs(20);
/// The time of a watch after one that broke without news. A bookmark, or else a new list, then
/// comes before the outage stops evictions.
const SHORT_WATCH: Duration = Duration::from_secs(5);
/// A watch that sends nothing for this long after its end is dead.
const GRACE: Duration = Duration::from_secs(10);
/// The least time between the starts of two successful requests, up to twice as long with jitter.
const SHORTEST_ROUND: Duration = Duration::from_millis(500);
/// A watch that lasted this long worked, even if it failed in the end.
const STEADY: Duration = Duration::from_secs(15);
/// After this many errors without progress, only a new list can help.
const MOST_ERRORS: u32 = 3;
/// The status by which the API server refuses a request because it is busy (priority and fairness).
const BUSY: u16 = 429;
/// Everything is listed again after this time, up to twice as long with jitter, so that a lost
/// event does no harm forever.
const LIST_AGAIN: Duration = Duration::from_secs(60 * 60);

/// A kind that is watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchedKind {
    pub(super) kind: ObjectKind,
    pub(super) path: &'static str,
}

pub(super) const WATCHED_KINDS: [WatchedKind; 15] = [
    watched(ObjectKind::Node, "/api/v1/nodes"),
    watched(ObjectKind::Pod, "/api/v1/pods"),
    watched(ObjectKind::Budget, "/apis/policy/v1/poddisruptionbudgets"),
    watched(ObjectKind::Namespace, "/api/v1/namespaces"),
    watched(ObjectKind::Class, "/apis/scheduling.k8s.io/v1/priorityclasses"),
    watched(ObjectKind::Claim, "/api/v1/persistentvolumeclaims"),
    watched(ObjectKind::Volume, "/api/v1/persistentvolumes"),
    watched(ObjectKind::StorageClass, "/apis/storage.k8s.io/v1/storageclasses"),
    watched(ObjectKind::CsiNode, "/apis/storage.k8s.io/v1/csinodes"),
    watched(ObjectKind::Attachment, "/apis/storage.k8s.io/v1/volumeattachments"),
    watched(ObjectKind::Service, "/api/v1/services"),
    watched(ObjectKind::ReplicaSet, "/apis/apps/v1/replicasets"),
    watched(ObjectKind::ReplicationController, "/api/v1/replicationcontrollers"),
    watched(ObjectKind::StatefulSet, "/apis/apps/v1/statefulsets"),
    watched(ObjectKind::Job, "/apis/batch/v1/jobs"),
];

const fn watched(kind: ObjectKind, path: &'static str) -> WatchedKind {
    WatchedKind { kind, path }
}

/// Keeps the facts about one kind up to date.
pub(super) struct Watcher {
    cluster: Cluster,
    watched: WatchedKind,
    /// The format to ask for. Some servers and proxies cannot send protobuf.
    accepted: Format,
    /// Whether to list page by page. A whole list takes a third of the time, but it cannot be
    /// resumed, so pages follow where it fails.
    by_page: bool,
    /// The resource version to continue from; `None` if everything has to be listed.
    position: Option<String>,
    /// The time of the next list.
    list_again: Instant,
    /// Failures since a watch last worked.
    failures: u32,
    /// Refusals since the position last changed.
    errors: u32,
    /// Watches that began and broke without an event or a bookmark, since one had news or
    /// everything was listed.
    unheard: u32,
}

/// The course of a watch.
struct Watched {
    since: Instant,
    /// Whether there was an event or a bookmark.
    news: bool,
}

impl Watcher {
    pub(super) fn new(cluster: Cluster, watched: WatchedKind) -> Self {
        Watcher {
            cluster,
            watched,
            accepted: Format::Protobuf,
            by_page: false,
            position: None,
            list_again: Instant::now(),
            failures: 0,
            errors: 0,
            unheard: 0,
        }
    }

    /// Lists and watches forever.
    pub(super) async fn run(mut self) {
        loop {
            let start = Instant::now();
            if start >= self.list_again {
                self.position = None;
            }
            let result = match self.position.clone() {
                None => self.list().await,
                Some(position) => self.watch(&position).await,
            };
            let pause = match result {
                Ok(()) => jittered(SHORTEST_ROUND).saturating_sub(start.elapsed()),
                Err(error) => self.fail(&error),
            };
            sleep(pause).await;
        }
    }

    /// Lists every object and forgets those that no longer exist. A page that fails is asked for
    /// again. Returns an error only if the list has to start again.
    async fn list(&mut self) -> Result<(), StreamError> {
        self.cluster.begins_list(self.watched.kind);
        let mut gone: BTreeSet<Name> = self.cluster.objects().names(self.watched.kind);
        let (path, accepted) = (self.watched.path, self.accepted);
        let mut pages =
            if self.by_page { Pages::new(path, accepted) } else { Pages::whole(path, accepted) };
        let mut attempts = 0;
        let position = loop {
            match self.page(&mut pages, &mut gone).await {
                Ok(None) => attempts = 0,
                Ok(Some(position)) => break position,
                Err(error) if self.ends_the_list(&error) => {
                    // A busy server refuses a list before it reads anything. A hundred pages would
                    // make it busier, and be refused as often.
                    self.by_page |= error.code != Some(BUSY);
                    return Err(error);
                }
                Err(error) => {
                    attempts += 1;
                    self.note(&error);
                    pages.accept(self.accepted);
                    sleep(error.pause(attempts)).await;
                    continue;
                }
            }
            self.respond();
        };
        self.cluster.objects().delete_all(self.watched.kind, &gone);
        self.cluster.listed(self.watched.kind);
        self.by_page = false;
        self.hear();
        self.move_to(position);
        self.list_again = Instant::now() + jittered(LIST_AGAIN);
        Ok(())
    }

    /// Whether the list has to start again after this error: its token is too old, or it came as a
    /// whole, or the kind is refused, so that the objects of the earlier pages are forgotten.
    fn ends_the_list(&self, error: &StreamError) -> bool {
        let is_refused = error.lack().is_some() && self.watched.kind.is_optional();
        error.is_expired() || !self.by_page || is_refused
    }

    /// Reads one page. Removes the names of its objects from `gone`.
    async fn page(
        &self,
        pages: &mut Pages,
        gone: &mut BTreeSet<Name>,
    ) -> Result<Option<String>, StreamError> {
        // An error means that the semaphore is closed, which never happens.
        let _turn = self.cluster.state.lists.acquire().await;
        let mut batch = Vec::with_capacity(BATCH);
        let each = |format, item: &[u8]| {
            let decoded = decode(self.watched.kind, format, item);
            if !gone.is_empty() {
                gone.remove(&name_of(&decoded));
            }
            batch.push(decoded);
            if batch.len() == BATCH {
                self.store(&mut batch);
            }
        };
        let result = pages.next(&self.cluster.client, each).await;
        self.store(&mut batch);
        // Every list of an API server has a version. An answer without one says nothing about the
        // objects, so none of them is forgotten.
        match result {
            Ok(Some(version)) if version.is_empty() => {
                Err(StreamError::invalid("invalid list: it has no resource version"))
            }
            result => result,
        }
    }

    fn store(&self, batch: &mut Vec<Result<Object, Skipped>>) {
        let mut objects = self.cluster.objects();
        for decoded in batch.drain(..) {
            match decoded {
                Ok(object) => objects.apply(object),
                Err(skipped) => objects.skip(self.watched.kind, skipped),
            }
        }
    }

    /// Watches from a resource version until the API server ends the watch.
    async fn watch(&mut self, position: &str) -> Result<(), StreamError> {
        let time = if self.unheard == 0 { jittered(WATCH_TIME) } else { SHORT_WATCH };
        let uri = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
            self.watched.path,
            time.as_secs(),
            query_value(position)
        );
        let mut watched = Watched { since: Instant::now(), news: false };
        let reply = get(&self.cluster.client, &uri, self.accepted).await?;
        self.respond();
        let mut body = WatchBody::new(reply, time + GRACE);
        let result = loop {
            match body.next().await {
                Ok(None) => break Ok(()),
                Ok(Some(event)) => {
                    if !std::mem::replace(&mut watched.news, true) {
                        self.hear();
                    }
                    if event.kind != "BOOKMARK" {
                        self.apply(&event.kind, event.format, &event.object);
                    }
                    if let Some(version) = event.resource_version() {
                        self.move_to(version);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        self.judge(&watched, result)
    }

    /// Judges a watch that has ended. The API server sends a bookmark before it ends a watch, so
    /// one without any news shows nothing: objects may have changed unseen, and are listed again.
    /// That is no failure if the watch lasted, because an API server has no bookmark to send for a
    /// kind of which it has seen no event since its start.
    ///
    /// A watch that breaks soon starts again from its position, as when an API server restarts. But
    /// a proxy may answer and break each of them, so that no event would ever arrive.
    fn judge(
        &mut self,
        watched: &Watched,
        result: Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        let lasted = watched.since.elapsed() >= STEADY;
        if lasted || watched.news && result.is_ok() {
            self.failures = 0;
        }
        if watched.news {
            return result;
        }
        self.unheard += u32::from(result.is_err());
        if lasted || result.is_ok() || self.unheard >= MOST_ERRORS {
            self.position = None;
        }
        if lasted || result.is_err() {
            return result;
        }
        Err(StreamError::broken("watch ended early, without an event or a bookmark, listing again"))
    }

    fn apply(&self, event: &str, format: Format, object: &[u8]) {
        let kind = self.watched.kind;
        let decoded = decode(kind, format, object);
        apply(&mut self.cluster.objects(), kind, event, decoded);
    }

    fn move_to(&mut self, position: String) {
        self.position = Some(position);
        self.errors = 0;
    }

    /// Records that the API server responds. This does not end the backoff: only a watch that works
    /// does. An outage in which watches broke without news does not end either.
    fn respond(&self) {
        if self.unheard == 0 {
            self.cluster.recovered(self.watched.kind);
        }
    }

    /// Records that the API server has told something about the objects.
    fn hear(&mut self) {
        self.unheard = 0;
        self.respond();
    }

    /// Records a failure and returns the pause before the next attempt.
    fn fail(&mut self, error: &StreamError) -> Duration {
        self.note(error);
        self.failures += 1;
        error.pause(self.failures)
    }

    /// Records an error. The position stays valid, except after 410 and after an answer that is not
    /// understood.
    fn note(&mut self, error: &StreamError) {
        self.errors += u32::from(error.code.is_some());
        let lacks = self.cluster.lacks(self.watched.kind, error.lack());
        if lacks || error.is_expired() || error.invalid || self.errors >= MOST_ERRORS {
            self.position = None;
        }
        if self.accepted == Format::Protobuf && error.may_be_about_protobuf() {
            self.accepted = Format::Json;
            let (kind, why) = (self.watched.kind.name(), &error.why);
            info!(kind, why, "protobuf refused, reading JSON");
        }
        self.report(error);
    }

    /// Records a failure, which is logged if it lasts.
    fn report(&self, error: &StreamError) {
        let (kind, attempts) = (self.watched.kind, self.failures);
        let why =
            if error.is_expired() { "resource version expired, listing again" } else { &error.why };
        let outage = Outage {
            since: LocalTime::now().minus(error.silent_for.unwrap_or_default()),
            why: why.to_owned(),
        };
        debug!(kind = kind.name(), why, attempts, "watch failed");
        self.cluster.failed(kind, outage);
    }
}

pub(super) fn decode(kind: ObjectKind, format: Format, object: &[u8]) -> Result<Object, Skipped> {
    match format {
        Format::Json => import::json(kind, object),
        Format::Protobuf => import::protobuf(kind, object),
    }
}

/// Applies an event with its decoded object.
pub(super) fn apply(
    objects: &mut Objects,
    kind: ObjectKind,
    event: &str,
    decoded: Result<Object, Skipped>,
) {
    match decoded {
        decoded if event == "DELETED" => objects.delete(kind, &name_of(&decoded)),
        Ok(object) => objects.apply(object),
        Err(skipped) => objects.skip(kind, skipped),
    }
}

fn name_of(decoded: &Result<Object, Skipped>) -> Name {
    match decoded {
        Ok(object) => object.key().1,
        Err(skipped) => (skipped.namespace.clone(), skipped.name.clone()),
    }
}

#[cfg(test)]
mod tests;
