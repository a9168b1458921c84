//! The cluster: watches of its objects, evictions, and everything else that goes through the API
//! server.
//!
//! [`Cluster::start`] lists and watches every kind that decisions need. Each object is reduced to a
//! few facts on arrival, which saves memory. [`Cluster::snapshot`] returns the current state.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;
use kube::Client;
use tokio::sync::Semaphore;
use tokio::sync::watch::Sender;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::model::plan::UnknownObjects;
use crate::model::snapshot::Snapshot;
use crate::model::snapshot::lacking::Lack;
use crate::model::snapshot::node_addresses::NodeAddresses;
#[cfg(test)]
use crate::model::snapshot::objects::Object;
use crate::model::snapshot::objects::{ObjectKind, Objects};
use crate::model::snapshot::pause::Pauses;
use crate::values::text;

use self::client::ConnectError;
use self::clock::{ClockDifference, LocalTime, ServerClock};
use self::failures::{Failures, Request};
use self::request_metrics::RequestMetrics;
use self::watch::{WATCHED_KINDS, Watcher};

pub mod client;
pub mod clock;
pub mod error_text;
pub mod failures;
pub mod request_metrics;
pub mod secret_file;
pub mod access;
pub mod usage_source;
pub mod events;
pub mod evict;
pub mod instances;
pub mod known_pods;
pub mod lease;
pub mod ledger_store;
pub mod pauses;
pub mod proposal_store;
pub mod taints;
mod proxy;
mod stream;
pub mod list;
pub mod release;
mod watch;
#[doc(hidden)]
pub mod from_memory;

/// After this time without a working watch, the facts about its kind may be wrong and evictions
/// stop. A restart of the API server behind a load balancer takes less.
const LONGEST_OUTAGE: SignedDuration = SignedDuration::from_secs(10);

/// Pages of lists that are read at once. More would not be faster, and the API server has other
/// clients.
const LISTS_AT_ONCE: usize = 4;
/// The most kinds of one cause that are named.
const NAMED: usize = 2;

/// A cluster and the facts about its objects. Clones share everything.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    request_metrics: RequestMetrics,
    clock: ServerClock,
    failures: Failures,
    state: Arc<ClusterState>,
}

struct ClusterState {
    objects: Mutex<Objects>,
    /// The turns to read a page of a list.
    lists: Semaphore,
    health: Sender<BTreeMap<ObjectKind, WatchHealth>>,
}

/// The state of the watch of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchHealth {
    /// Whether all objects have been listed at least once.
    pub synced: bool,
    /// The current outage, if there is one.
    pub outage: Option<Outage>,
    /// The reason why no object of the kind is known, if the API server refuses to list it.
    /// Everything that depends on the kind is then unknown, and the rest is decided without it.
    pub lacking: Option<Lack>,
    /// When a list began that replaces known objects; `None` while they are watched.
    pub listed_since: Option<LocalTime>,
}

impl WatchHealth {
    /// The period without news: an outage, or a list that is not complete.
    fn without_news(self) -> Option<Outage> {
        let listed = self.listed_since.map(|since| Outage {
            since,
            why: "all objects are listed again, and the list is not complete".to_owned(),
        });
        self.outage.into_iter().chain(listed).min_by_key(|outage| outage.since)
    }
}

/// A period in which a watch fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The time of the last news.
    pub since: LocalTime,
    /// The reason of the newest failure.
    pub why: String,
}

/// A kind whose watch has failed for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleKind {
    /// The kind.
    pub kind: ObjectKind,
    /// The outage of its watch.
    pub outage: Outage,
}

impl fmt::Display for StaleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "watch of {} disconnected since {:.0}: {}",
            self.kind.name(),
            self.outage.since.wall(),
            self.outage.why
        )
    }
}

impl Cluster {
    /// Creates a client from a kubeconfig, see [`client::connect`]. It sends no request.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Self, ConnectError> {
        let request_metrics = RequestMetrics::default();
        let clock = ServerClock::default();
        let client = client::connect(kubeconfig, &request_metrics, &clock).await?;
        Ok(Cluster { request_metrics, clock, ..Cluster::new(client) })
    }

    /// Creates a cluster without any facts from a client.
    pub fn new(client: Client) -> Self {
        let health = WATCHED_KINDS.iter().map(|w| (w.kind, WatchHealth::default())).collect();
        let state = ClusterState {
            objects: Mutex::default(),
            lists: Semaphore::new(LISTS_AT_ONCE),
            health: Sender::new(health),
        };
        Cluster {
            client,
            request_metrics: RequestMetrics::default(),
            clock: ServerClock::default(),
            failures: Failures::default(),
            state: Arc::new(state),
        }
    }

    /// The request counters of the client that [`Cluster::connect`] created.
    pub const fn request_metrics(&self) -> &RequestMetrics {
        &self.request_metrics
    }

    /// The requests that keep failing.
    pub const fn failures(&self) -> &Failures {
        &self.failures
    }

    /// The client, for evictions and writes.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Starts one task per kind that lists and watches it until `stop`, and one that logs failures.
    pub fn start(&self, stop: &CancellationToken) {
        tokio::spawn(self.failures.clone().say(stop.clone()));
        for watched in WATCHED_KINDS {
            let watcher = Watcher::new(self.clone(), watched);
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(watcher.run()).await });
        }
    }

    /// Whether every kind has been listed at least once, or cannot be. Before that, a pod may seem
    /// to have no budget.
    pub fn synced(&self) -> bool {
        all_synced(&self.state.health.borrow())
    }

    /// Waits until [`Cluster::synced`].
    pub async fn wait_synced(&self) {
        // An error means that the sender is gone, but `self` owns it.
        let _ = self.state.health.subscribe().wait_for(all_synced).await;
    }

    /// The kinds that have not been listed yet, with the reason of a failure; `None` if none has
    /// failed.
    pub fn unlisted(&self) -> Option<String> {
        let health = self.state.health.borrow();
        let waits = |health: &WatchHealth| !health.synced && health.lacking.is_none();
        let unlisted = health.iter().filter(|(_, health)| waits(health));
        // One outage usually fails every list.
        let mut causes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (kind, health) in unlisted {
            if let Some(outage) = &health.outage {
                causes.entry(&outage.why).or_default().push(kind.name());
            }
        }
        let causes = causes.iter();
        let failing = causes.map(|(why, kinds)| format!("{}: {why}", text::list(kinds, NAMED)));
        let failing: Vec<String> = failing.collect();
        (!failing.is_empty()).then(|| format!("the first list of {}", failing.join("; of ")))
    }

    /// The state of the watches by kind.
    pub fn health(&self) -> BTreeMap<ObjectKind, WatchHealth> {
        self.state.health.borrow().clone()
    }

    /// The kind whose watch has failed for longest, if it is too long to evict: the effects would
    /// go unseen.
    pub fn cut_off(&self, now: LocalTime) -> Option<StaleKind> {
        let health = self.health();
        let outages = health
            .into_iter()
            .filter(|(_, health)| health.lacking.is_none())
            .filter_map(|(kind, h)| h.without_news().map(|outage| StaleKind { kind, outage }));
        outages
            .filter(|c| now.after(c.outage.since) > LONGEST_OUTAGE)
            .min_by_key(|c| c.outage.since)
    }

    /// The reason why pauses are unknown; `None` if they are known. They are annotations of
    /// Namespaces, so no eviction is safe without these.
    pub fn unknown_pauses(&self) -> Option<Lack> {
        self.lacking(ObjectKind::Namespace)
    }

    /// The difference between the local clock and that of the API server, if it is too large to
    /// evict: ages and rests would be wrong.
    pub fn clock_difference(&self, now: LocalTime) -> Option<ClockDifference> {
        self.clock.difference(now)
    }

    /// The current state of the cluster. `named` are the resources that the policy weighs.
    pub fn snapshot<'a>(&self, named: impl IntoIterator<Item = &'a str>) -> Snapshot {
        let named: Vec<&str> = named.into_iter().collect();
        Snapshot::join(&self.copy(), named.iter().copied())
    }

    /// The current state of the cluster, with the pods of an earlier snapshot of this cluster that
    /// have not changed. It takes a fraction of the time.
    pub fn snapshot_after<'a>(
        &self,
        earlier: Snapshot,
        named: impl IntoIterator<Item = &'a str>,
    ) -> Snapshot {
        let named: Vec<&str> = named.into_iter().collect();
        earlier.rejoined(&self.copy(), named.iter().copied())
    }

    /// The evictions that people have stopped by now. Much cheaper than a snapshot.
    pub fn pauses(&self) -> Pauses {
        self.objects().pauses().clone()
    }

    /// A copy, so that the watches do not wait while the tables are joined. It shares the large
    /// maps.
    fn copy(&self) -> Objects {
        self.objects().clone()
    }

    /// The names of the nodes that can take pods: Ready and not cordoned.
    pub fn usable_nodes(&self) -> BTreeSet<String> {
        let objects = self.objects();
        let usable = objects.nodes();
        let usable = usable.filter(|n| n.ready && n.closures.is_empty());
        usable.map(|node| node.name.clone()).collect()
    }

    /// The number of nodes and pods, which have usage.
    pub fn measured_objects(&self) -> usize {
        let objects = self.objects();
        objects.count(ObjectKind::Node) + objects.count(ObjectKind::Pod)
    }

    /// The names and addresses of the nodes.
    pub fn node_addresses(&self) -> NodeAddresses {
        self.objects().node_addresses()
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        lock(&self.state.objects)
    }

    /// Stores objects as if a watch had delivered them.
    #[cfg(test)]
    pub(crate) fn apply(&self, objects: impl IntoIterator<Item = Object>) {
        let mut known = self.objects();
        objects.into_iter().for_each(|object| known.apply(object));
    }

    /// Reads this date as if a response of the API server had had it now.
    #[cfg(test)]
    pub(crate) fn see_date(&self, date: jiff::Timestamp) {
        self.clock.see(date);
    }

    /// Records an outage of the watch of pods as if it had begun at this time.
    #[cfg(test)]
    pub(crate) fn interrupt(&self, since: LocalTime) {
        let why = "refused".to_owned();
        self.failed(ObjectKind::Pod, Outage { since, why });
    }

    /// Records that every kind has been listed.
    #[cfg(test)]
    pub(crate) fn list_all(&self) {
        for watched in WATCHED_KINDS {
            self.listed(watched.kind);
        }
    }

    /// Records the answer to a list of Namespaces: they may not be listed, or have been.
    #[cfg(test)]
    pub(crate) fn list_namespaces(&self, may: bool) {
        if may {
            self.listed(ObjectKind::Namespace);
        } else {
            self.lacks(ObjectKind::Namespace, Some(Lack::Forbidden));
        }
    }

    fn listed(&self, kind: ObjectKind) {
        self.objects().set_lacking(kind, None);
        self.state.health.send_modify(|health| {
            let health = health.entry(kind).or_default();
            (health.synced, health.lacking, health.listed_since) = (true, None, None);
        });
    }

    /// Records that the API server refuses to list a kind, and returns true if decisions can do
    /// without it. The facts of the kind no longer hold and are removed, except for pauses, which
    /// hold until they are seen to end.
    fn lacks(&self, kind: ObjectKind, lack: Option<Lack>) -> bool {
        let Some(lack) = lack.filter(|_| kind.is_optional()) else {
            return false;
        };
        let mut objects = self.objects();
        let mut known = objects.names(kind);
        let pauses = objects.pauses().clone();
        known.retain(|name| kind != ObjectKind::Namespace || !pauses.come_from(&name.1));
        objects.delete_all(kind, &known);
        objects.set_lacking(kind, Some(lack));
        drop(objects);
        self.state.health.send_modify(|health| {
            health.entry(kind).or_default().lacking = Some(lack);
        });
        true
    }

    /// Records that a kind is listed, and not watched meanwhile. Its facts get old, unless they are
    /// the first.
    fn begins_list(&self, kind: ObjectKind) {
        self.state.health.send_if_modified(|health| {
            let health = health.entry(kind).or_default();
            let began = health.synced && health.listed_since.is_none();
            if began {
                health.listed_since = Some(LocalTime::now());
            }
            began
        });
    }

    /// Records that a watch failed.
    fn failed(&self, kind: ObjectKind, outage: Outage) {
        let silent = LocalTime::now().after(outage.since).unsigned_abs();
        let since = Instant::now().checked_sub(silent);
        let since = since.unwrap_or_else(Instant::now);
        let request = Request::Watch(kind);
        self.failures.failed(request, &outage.why, since);
        if let Some(lack) = self.lacking(kind) {
            let effect = UnknownObjects::all(kind, lack).consequence();
            self.failures.change_effect(request, effect);
        }
        self.state.health.send_modify(|health| {
            let health = health.entry(kind).or_default();
            let since = health
                .outage
                .as_ref()
                .map_or(outage.since, |before| before.since.min(outage.since));
            health.outage = Some(Outage { since, ..outage });
        });
    }

    fn lacking(&self, kind: ObjectKind) -> Option<Lack> {
        self.state.health.borrow().get(&kind)?.lacking
    }

    /// Records that a watch works.
    fn recovered(&self, kind: ObjectKind) {
        self.failures.works(Request::Watch(kind));
        self.state
            .health
            .send_if_modified(|health| health.entry(kind).or_default().outage.take().is_some());
    }
}

/// Ignores poisoning: no holder leaves the data half changed. No lock is held across an await.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn all_synced(health: &BTreeMap<ObjectKind, WatchHealth>) -> bool {
    health.values().all(|h| h.synced || h.lacking.is_some())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::snapshot::facts::NamespaceFacts;

    fn cluster() -> Cluster {
        Cluster::new(client::tests::client_of("http://127.0.0.1:1"))
    }

    /// An outage that began this many seconds before a time.
    fn outage(now: LocalTime, seconds: u64, why: &str) -> Outage {
        Outage { since: now.minus(Duration::from_secs(seconds)), why: why.to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_not_served_stops_no_evictions_and_what_follows_is_said() {
        let cluster = cluster();
        let kinds = [ObjectKind::CsiNode, ObjectKind::StatefulSet];
        for kind in kinds.into_iter().cycle().take(4) {
            cluster.lacks(kind, Some(Lack::NotServed));
            cluster.failed(kind, outage(LocalTime::now(), 0, "not found"));
            tokio::time::advance(Duration::from_secs(30)).await;
        }
        assert_eq!(cluster.cut_off(LocalTime::now()), None);
        let failures = cluster.failures().lasting();
        let reported = failures.iter().map(|f| format!("{}: {}", f.request, f.effect));
        assert_eq!(
            reported.collect::<Vec<_>>(),
            [
                "watch of CSINode: pods whose replacements depend on them stay",
                "watch of StatefulSet: their pods may move, and whether the controller still \
                 wants them is not checked"
            ]
        );
        for kind in kinds {
            cluster.recovered(kind);
        }
        assert!(cluster.failures().lasting().is_empty());
    }

    #[tokio::test]
    async fn the_kinds_that_one_outage_keeps_from_being_listed_share_a_cause() {
        let (cluster, now) = (cluster(), LocalTime::now());
        assert_eq!(cluster.unlisted(), None);
        for kind in [ObjectKind::Node, ObjectKind::Pod, ObjectKind::Job] {
            cluster.failed(kind, outage(now, 1, "refused"));
        }
        cluster.failed(ObjectKind::Service, outage(now, 1, "timeout"));
        assert_eq!(
            cluster.unlisted().unwrap(),
            "the first list of Node, Pod and 1 more: refused; of Service: timeout"
        );
    }

    #[tokio::test]
    async fn a_pause_holds_when_namespaces_can_no_longer_be_listed() {
        let cluster = cluster();
        cluster.apply(["shop", "kube-system", "web"].map(|name| {
            let paused = match name {
                "shop" => Some("evenkeel.io/pause"),
                "kube-system" => Some("evenkeel.io/pause-all"),
                _ => None,
            };
            let annotations = paused.map(|key| (key.to_owned(), "release".to_owned()));
            let facts = NamespaceFacts {
                annotations: annotations.into_iter().collect(),
                ..NamespaceFacts::default()
            };
            Object::Namespace(name.to_owned(), facts)
        }));
        assert!(cluster.lacks(ObjectKind::Namespace, Some(Lack::Forbidden)));
        let objects = cluster.objects();
        let now = jiff::Timestamp::UNIX_EPOCH;
        assert!(objects.pauses().of("shop", now).is_some());
        assert!(objects.pauses().of_cluster(now).is_some());
        let known = objects.names(ObjectKind::Namespace);
        let names: BTreeSet<&str> = known.iter().map(|name| name.1.as_str()).collect();
        assert_eq!(names, BTreeSet::from(["kube-system", "shop"]));
    }

    #[tokio::test]
    async fn a_kind_is_stale_when_its_watch_has_failed_for_long_enough() {
        let (cluster, now) = (cluster(), LocalTime::now());
        cluster.failed(ObjectKind::Pod, outage(now, 14, "refused"));
        cluster.failed(ObjectKind::Node, outage(now, 11, "refused"));
        cluster.failed(ObjectKind::Pod, outage(now, 6, "still refused"));
        assert_eq!(cluster.cut_off(now.minus(Duration::from_secs(4))), None);
        let stale = cluster.cut_off(now).unwrap();
        let since = now.wall() - Duration::from_secs(14);
        assert_eq!(
            stale.to_string(),
            format!("watch of Pod disconnected since {since:.0}: still refused")
        );
        cluster.recovered(ObjectKind::Pod);
        assert_eq!(cluster.cut_off(now).map(|c| c.kind), Some(ObjectKind::Node));
        cluster.recovered(ObjectKind::Node);
        assert_eq!(cluster.cut_off(now), None);
    }

    #[tokio::test]
    async fn a_kind_is_stale_when_it_is_listed_again_for_long() {
        let (cluster, now) = (cluster(), LocalTime::now());
        let listed_since = |cluster: &Cluster| {
            let health = cluster.health();
            health[&ObjectKind::Pod].listed_since
        };
        // Nothing is known before the first list.
        cluster.begins_list(ObjectKind::Pod);
        assert_eq!(listed_since(&cluster), None);
        cluster.listed(ObjectKind::Pod);
        cluster.begins_list(ObjectKind::Pod);
        assert!(listed_since(&cluster).is_some());
        assert_eq!(cluster.cut_off(now), None);
        cluster.state.health.send_modify(|health| {
            let pods = health.get_mut(&ObjectKind::Pod).unwrap();
            pods.listed_since = Some(now.minus(Duration::from_secs(11)));
        });
        // The answer to one page says nothing about the others.
        cluster.recovered(ObjectKind::Pod);
        let stale = cluster.cut_off(now).unwrap().to_string();
        assert!(stale.ends_with("listed again, and the list is not complete"), "{stale}");
        cluster.listed(ObjectKind::Pod);
        assert_eq!(cluster.cut_off(now), None);
    }
}
