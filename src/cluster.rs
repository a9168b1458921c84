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
use tokio_util::sync::CancellationToken;

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::node_addresses::NodeAddresses;
#[cfg(test)]
use crate::model::snapshot::objects::Object;
use crate::model::snapshot::objects::{ObjectKind, Objects};

use self::client::ConnectError;
use self::clock::{ClockDifference, LocalTime, ServerClock};
use self::request_metrics::RequestMetrics;
use self::watch::{WATCHED_KINDS, Watcher};

pub mod client;
pub mod clock;
pub mod error_text;
pub mod request_metrics;
pub mod access;
pub mod usage_source;
pub mod events;
pub mod evict;
pub mod instances;
pub mod known_pods;
pub mod lease;
pub mod ledger_store;
pub mod taints;
mod stream;
pub mod list;
pub mod release;
mod watch;
#[doc(hidden)]
pub mod from_memory;

/// After this time without a working watch, the facts about its kind may be wrong and evictions
/// stop. A restart of the API server behind a load balancer takes less.
const LONGEST_OUTAGE: SignedDuration = SignedDuration::from_secs(10);

/// The most reasons that are logged in one outage.
const MOST_LOGGED: usize = 100;
/// Pages of lists that are read at once. More would not be faster, and the API server has other
/// clients.
const LISTS_AT_ONCE: usize = 4;

/// A cluster and the facts about its objects. Clones share everything.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    request_metrics: RequestMetrics,
    clock: ServerClock,
    state: Arc<ClusterState>,
}

struct ClusterState {
    objects: Mutex<Objects>,
    /// The turns to read a page of a list.
    lists: Semaphore,
    health: Sender<BTreeMap<ObjectKind, WatchHealth>>,
    /// Reasons of the current outage that have been logged. Empty while all watches work.
    logged: Mutex<BTreeSet<String>>,
}

/// The state of the watch of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchHealth {
    /// Whether all objects have been listed at least once.
    pub synced: bool,
    /// The current outage, if there is one.
    pub outage: Option<Outage>,
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
        Ok(Cluster {
            request_metrics,
            clock,
            ..Cluster::new(client)
        })
    }

    /// Creates a cluster without any facts from a client.
    pub fn new(client: Client) -> Self {
        let health = WATCHED_KINDS
            .iter()
            .map(|w| (w.kind, WatchHealth::default()))
            .collect();
        let state = ClusterState {
            objects: Mutex::default(),
            lists: Semaphore::new(LISTS_AT_ONCE),
            health: Sender::new(health),
            logged: Mutex::default(),
        };
        Cluster {
            client,
            request_metrics: RequestMetrics::default(),
            clock: ServerClock::default(),
            state: Arc::new(state),
        }
    }

    /// The request counters of the client that [`Cluster::connect`] created.
    pub const fn calls(&self) -> &RequestMetrics {
        &self.request_metrics
    }

    /// The client, for evictions and writes.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Starts one task per kind that lists and watches it until `stop`.
    pub fn start(&self, stop: &CancellationToken) {
        for watched in WATCHED_KINDS {
            let watcher = Watcher::new(self.clone(), watched);
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(watcher.run()).await });
        }
    }

    /// Whether every kind has been listed at least once. Before that, a pod may seem to have no
    /// budget.
    pub fn synced(&self) -> bool {
        all_synced(&self.state.health.borrow())
    }

    /// Waits until [`Cluster::synced`].
    pub async fn wait_synced(&self) {
        // An error means that the sender is gone, but `self` owns it.
        let _ = self.state.health.subscribe().wait_for(all_synced).await;
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
            .filter_map(|(kind, h)| h.outage.map(|outage| StaleKind { kind, outage }));
        outages
            .filter(|c| now.after(c.outage.since) > LONGEST_OUTAGE)
            .min_by_key(|c| c.outage.since)
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

    /// A copy, so that the watches do not wait while the tables are joined. It shares the large
    /// maps.
    fn copy(&self) -> Objects {
        self.objects().clone()
    }

    /// The names of the nodes that can take pods: Ready and not cordoned.
    pub fn usable_nodes(&self) -> BTreeSet<String> {
        let objects = self.objects();
        let usable = objects.nodes();
        let usable = usable.filter(|n| n.ready && n.closures.is_empty() && !n.cordoned);
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
        self.failed(ObjectKind::Pod, Outage { since, why }, false);
    }

    fn listed(&self, kind: ObjectKind) {
        self.state
            .health
            .send_modify(|health| health.entry(kind).or_default().synced = true);
    }

    /// Records that a watch failed. Returns whether to log it.
    ///
    /// The first failure in a row is not logged, because connections break now and then. Each
    /// reason is logged once, because one outage usually fails every watch.
    fn failed(&self, kind: ObjectKind, outage: Outage, repeatedly: bool) -> bool {
        let why = outage.why.clone();
        self.state.health.send_modify(|health| {
            let health = health.entry(kind).or_default();
            let since = health
                .outage
                .as_ref()
                .map_or(outage.since, |before| before.since.min(outage.since));
            health.outage = Some(Outage { since, ..outage });
        });
        let mut logged = lock(&self.state.logged);
        // Some reasons contain numbers that change each time.
        repeatedly && logged.len() < MOST_LOGGED && logged.insert(why)
    }

    /// Records that a watch works. Returns whether to log it: the last failed watch works again.
    fn recovered(&self, kind: ObjectKind) -> bool {
        let mut all_work = false;
        self.state.health.send_if_modified(|health| {
            let ended = health.entry(kind).or_default().outage.take();
            all_work = ended.is_some() && health.values().all(|h| h.outage.is_none());
            ended.is_some()
        });
        all_work && !std::mem::take(&mut *lock(&self.state.logged)).is_empty()
    }
}

/// Ignores poisoning: no holder leaves the data half changed. No lock is held across an await.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn all_synced(health: &BTreeMap<ObjectKind, WatchHealth>) -> bool {
    health.values().all(|h| h.synced)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn cluster() -> Cluster {
        Cluster::new(client::tests::client_of("http://127.0.0.1:1"))
    }

    /// An outage that began this many seconds before a time.
    fn outage(now: LocalTime, seconds: u64, why: &str) -> Outage {
        Outage {
            since: now.minus(Duration::from_secs(seconds)),
            why: why.to_owned(),
        }
    }

    #[tokio::test]
    async fn a_kind_is_stale_when_its_watch_has_failed_for_long_enough() {
        let (cluster, now) = (cluster(), LocalTime::now());
        cluster.failed(ObjectKind::Pod, outage(now, 14, "refused"), false);
        cluster.failed(ObjectKind::Node, outage(now, 11, "refused"), false);
        cluster.failed(ObjectKind::Pod, outage(now, 6, "still refused"), true);
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
    async fn an_outage_is_logged_once_and_its_end_once() {
        let (cluster, now) = (cluster(), LocalTime::now());
        let outage = |seconds, why: &str| outage(now, seconds, why);
        assert!(!cluster.failed(ObjectKind::Pod, outage(1, "refused"), false));
        assert!(cluster.failed(ObjectKind::Pod, outage(2, "refused"), true));
        assert!(!cluster.failed(ObjectKind::Node, outage(2, "refused"), true));
        assert!(cluster.failed(ObjectKind::Job, outage(2, "forbidden"), true));
        assert_eq!(
            [ObjectKind::Pod, ObjectKind::Node, ObjectKind::Job].map(|k| cluster.recovered(k)),
            [false, false, true]
        );
        assert!(!cluster.recovered(ObjectKind::Pod));
        let logged = (0..1000)
            .filter(|port| {
                cluster.failed(ObjectKind::Pod, outage(3, &format!("port {port}")), true)
            })
            .count();
        assert_eq!(logged, MOST_LOGGED, "a long outage fills no memory");
        cluster.recovered(ObjectKind::Pod);
        cluster.failed(ObjectKind::Pod, outage(3, "refused"), false);
        assert!(
            !cluster.recovered(ObjectKind::Pod),
            "an outage that was not logged needs no end"
        );
    }
}
