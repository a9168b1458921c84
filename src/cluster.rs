//! The cluster: what is watched of it, and what is done to it.
//!
//! [`Cluster::start`] lists and watches every kind that decisions look at. Each object is turned into facts as it comes,
//! so that nothing else of it stays in memory, and [`Cluster::snapshot`] gives the picture of now.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use tokio::sync::watch::Sender;
use tokio_util::sync::CancellationToken;

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::snapshot::objects::{Kind, Objects};

use self::client::ConnectError;
use self::watch::{Feed, WATCHED};
use crate::cluster::request_metrics::RequestMetrics;

pub mod client;
pub mod error_text;
pub mod request_metrics;
pub mod usage_source;
pub mod events;
pub mod evict;
pub mod lease;
pub mod ledger_store;
pub mod taints;
pub mod list;
mod watch;

/// A watch that fails for longer than this is cut off: what is known by it may be wrong. A restart of the API server
/// behind a load balancer takes less.
const PATIENCE: SignedDuration = SignedDuration::from_secs(10);

/// A cluster, and what is known of it. Clones share everything.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    calls: RequestMetrics,
    shared: Arc<Shared>,
}

struct Shared {
    objects: Mutex<Objects>,
    health: Sender<BTreeMap<Kind, Health>>,
    /// Why watches fail, as far as it has been logged. Empty while all work.
    told: Mutex<BTreeSet<String>>,
}

/// How the watch of one kind is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether all objects have been listed once.
    pub synced: bool,
    /// The outage that it is in, if any.
    pub outage: Option<Outage>,
}

/// A watch that fails again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Since when nothing is heard of the kind.
    pub since: Timestamp,
    /// The newest reason.
    pub why: String,
}

/// A kind of which nothing has been heard for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// The kind.
    pub kind: Kind,
    /// Since when, and why.
    pub outage: Outage,
}

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the watch of {} is cut off since {:.0}: {}",
            self.kind.name(),
            self.outage.since,
            self.outage.why
        )
    }
}

impl Cluster {
    /// Connects as a kubeconfig says; see [`client::connect`]. No request is made yet.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Self, ConnectError> {
        let calls = RequestMetrics::default();
        let client = client::connect(kubeconfig, &calls).await?;
        Ok(Cluster {
            calls,
            ..Cluster::new(client)
        })
    }

    /// A cluster that a client leads to, of which nothing is known yet.
    pub fn new(client: Client) -> Self {
        let health = WATCHED
            .iter()
            .map(|w| (w.kind, Health::default()))
            .collect();
        let shared = Shared {
            objects: Mutex::default(),
            health: Sender::new(health),
            told: Mutex::default(),
        };
        Cluster {
            client,
            calls: RequestMetrics::default(),
            shared: Arc::new(shared),
        }
    }

    /// The requests of the client that [`Cluster::connect`] has made.
    pub const fn calls(&self) -> &RequestMetrics {
        &self.calls
    }

    /// The client, to evict and write with.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Starts to list and watch, in tasks of their own, until `stop`.
    pub fn start(&self, stop: &CancellationToken) {
        for watched in WATCHED {
            let feed = Feed::new(self.clone(), watched);
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(feed.follow()).await });
        }
    }

    /// Whether every kind has been listed once: before that, a pod may be missing its budget.
    pub fn synced(&self) -> bool {
        all_synced(&self.shared.health.borrow())
    }

    /// Waits until [`Cluster::synced`].
    pub async fn wait_synced(&self) {
        // It fails when the sender is gone, and that lives as long as we do.
        let _ = self.shared.health.subscribe().wait_for(all_synced).await;
    }

    /// How the watches are doing, by kind.
    pub fn health(&self) -> BTreeMap<Kind, Health> {
        self.shared.health.borrow().clone()
    }

    /// The kind that has been cut off for longest, if any: whoever evicts then does not know what became of it.
    pub fn cut_off(&self, now: Timestamp) -> Option<CutOff> {
        let health = self.health();
        let outages = health
            .into_iter()
            .filter_map(|(kind, h)| h.outage.map(|outage| CutOff { kind, outage }));
        outages
            .filter(|c| now.duration_since(c.outage.since) > PATIENCE)
            .min_by_key(|c| c.outage.since)
    }

    /// The cluster as it is now; `named` are resources that the policy weighs.
    pub fn snapshot<'a>(&self, named: impl IntoIterator<Item = &'a str>) -> Snapshot {
        // Cloned first, as the watches must not wait for the tables to be joined.
        let objects = self.objects().clone();
        let named: Vec<&str> = named.into_iter().collect();
        Snapshot::join(&objects, named.iter().copied())
    }

    /// By which names and addresses its nodes go.
    pub fn node_addresses(&self) -> NodeAddresses {
        self.objects().node_addresses()
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        lock(&self.shared.objects)
    }

    fn listed(&self, kind: Kind) {
        self.shared
            .health
            .send_modify(|health| health.entry(kind).or_default().synced = true);
    }

    /// Notes that a watch has failed. Whether that is to be told: not the first time in a row, for a connection breaks now
    /// and then, and the same reason only once, for one outage mostly hits every watch.
    fn failed(&self, kind: Kind, outage: Outage, repeatedly: bool) -> bool {
        let why = outage.why.clone();
        self.shared.health.send_modify(|health| {
            let health = health.entry(kind).or_default();
            let since = health
                .outage
                .as_ref()
                .map_or(outage.since, |before| before.since.min(outage.since));
            health.outage = Some(Outage { since, ..outage });
        });
        repeatedly && lock(&self.shared.told).insert(why)
    }

    /// Notes that a watch works. Whether that is to be told: it is the last of those that failed.
    fn recovered(&self, kind: Kind) -> bool {
        let mut well = false;
        self.shared.health.send_if_modified(|health| {
            let ended = health.entry(kind).or_default().outage.take();
            well = ended.is_some() && health.values().all(|h| h.outage.is_none());
            ended.is_some()
        });
        well && !std::mem::take(&mut *lock(&self.shared.told)).is_empty()
    }
}

/// No lock is ever held over an await, and a panic of another holder leaves behind what was so before.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn all_synced(health: &BTreeMap<Kind, Health>) -> bool {
    health.values().all(|h| h.synced)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> Cluster {
        Cluster::new(client::tests::client_of("http://127.0.0.1:1"))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn outage(second: i64, why: &str) -> Outage {
        Outage {
            since: at(second),
            why: why.to_owned(),
        }
    }

    #[tokio::test]
    async fn a_kind_is_cut_off_when_its_watch_has_failed_for_long_enough() {
        let cluster = cluster();
        cluster.failed(Kind::Pod, outage(100, "refused"), false);
        cluster.failed(Kind::Node, outage(103, "refused"), false);
        cluster.failed(Kind::Pod, outage(108, "still refused"), true);
        assert_eq!(cluster.cut_off(at(110)), None);
        let cut_off = cluster.cut_off(at(114)).unwrap();
        assert_eq!(
            cut_off.to_string(),
            "the watch of Pod is cut off since 1970-01-01T00:01:40Z: still refused"
        );
        cluster.recovered(Kind::Pod);
        assert_eq!(cluster.cut_off(at(114)).map(|c| c.kind), Some(Kind::Node));
        cluster.recovered(Kind::Node);
        assert_eq!(cluster.cut_off(at(999)), None);
    }

    #[tokio::test]
    async fn an_outage_is_told_once_and_its_end_once() {
        let cluster = cluster();
        assert!(!cluster.failed(Kind::Pod, outage(1, "refused"), false));
        assert!(cluster.failed(Kind::Pod, outage(2, "refused"), true));
        assert!(!cluster.failed(Kind::Node, outage(2, "refused"), true));
        assert!(cluster.failed(Kind::Job, outage(2, "forbidden"), true));
        assert_eq!(
            [Kind::Pod, Kind::Node, Kind::Job].map(|k| cluster.recovered(k)),
            [false, false, true]
        );
        assert!(!cluster.recovered(Kind::Pod));
        cluster.failed(Kind::Pod, outage(3, "refused"), false);
        assert!(
            !cluster.recovered(Kind::Pod),
            "what was not told needs no end"
        );
    }
}
