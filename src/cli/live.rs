//! A live cluster, observed once.

use std::time::Duration;

use anyhow::bail;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::cluster::clock::{self, LocalTime};
use crate::cluster::ledger_store::LedgerStore;
use crate::cluster::release;
use crate::cluster::usage_source::guards::GuardSource;
use crate::cluster::usage_source::{Source, SourceError};
use crate::model::guard::GuardReading;
use crate::model::ledger::Ledger;
use crate::model::snapshot::Snapshot;
use crate::model::usage::Readings;
use crate::policy::{KubernetesRelease, Policy};
use crate::values::text::count;

use super::Shared;

/// The state of a cluster from which a plan is made.
#[derive(Debug)]
pub(super) struct Observation {
    pub(super) snapshot: Snapshot,
    /// Sorted by time; the last one is the present.
    pub(super) readings: Vec<(Timestamp, Readings)>,
    /// Earlier evictions; empty if there is no ledger to read.
    pub(super) ledger: Ledger,
    pub(super) now: Timestamp,
    /// The answers to the guards of the policy; `None` where no server can be asked.
    pub(super) guards: Option<Vec<GuardReading>>,
    /// The release of the API server, unless the command line names one.
    pub(super) release: Option<KubernetesRelease>,
    /// The first lines of the output: the source, the time and all failures to read something.
    pub(super) head: Vec<String>,
    /// Usage sources that could not be read, each with the reason.
    pub(super) usage_failures: Vec<SourceError>,
}

/// The most time that the first list of all objects may take.
const LIST_TIMEOUT: Duration = Duration::from_secs(120);

/// Reads the objects, the ledger and the usage of a live cluster.
///
/// The usage is the past that the source keeps, its readings during `look`, and one more at the
/// end.
pub(super) async fn observe(
    shared: &Shared,
    policy: &Policy,
    look: SignedDuration,
) -> anyhow::Result<Observation> {
    let cluster = Cluster::connect(shared.kubeconfig.as_deref()).await?;
    let stop = CancellationToken::new();
    let _stop_on_return = stop.clone().drop_guard();
    cluster.start(&stop);
    wait_for_lists(&cluster).await?;
    let mut notes = Vec::new();
    let mut readings = past_usage(&cluster, policy, look, &mut notes).await;
    let mut usage_failures = Vec::new();
    let newest = present_usage(&cluster, policy, &mut notes, &mut usage_failures).await;
    readings.push((clock::now(), newest));
    let guards = Some(GuardSource::new(policy).ask(clock::now()).await);
    let ledger = load_ledger(&cluster, shared).await.unwrap_or_else(|error| {
        notes.push(format!("ledger: ignored, earlier evictions do not count: {error:#}"));
        Ledger::default()
    });
    let release = match shared.scheduler.release() {
        Some(_) => None,
        None => ask_release(&cluster, &mut notes).await,
    };
    let snapshot = cluster.snapshot(policy.resources());
    let now = clock::now();
    let polls = match readings.len() {
        1 => "one reading; `evenkeel run` averages several".to_owned(),
        polls => count(polls, "reading"),
    };
    let mut head = vec![
        format!(
            "the live cluster: {}, {}",
            count(snapshot.nodes.len(), "node"),
            count(snapshot.pods.len(), "pod")
        ),
        format!("time: {now:.0}; usage from {polls}"),
    ];
    head.extend(notes);
    Ok(Observation { snapshot, readings, ledger, now, guards, release, head, usage_failures })
}

/// The past that the first source keeps, if any, and its readings during `look`.
async fn past_usage(
    cluster: &Cluster,
    policy: &Policy,
    look: SignedDuration,
    notes: &mut Vec<String>,
) -> Vec<(Timestamp, Readings)> {
    let source = Source::first(&policy.usage, cluster.client());
    let (mut readings, samples) = (Vec::new(), cluster.measured_objects());
    let take = |at, past| readings.push((at, past));
    let addresses = cluster.node_addresses();
    if let Err(error) = source.read_past(&addresses, None, samples, take).await {
        notes.push(format!("usage: cannot read the past window: {error}"));
        readings.clear();
    }
    let began = LocalTime::now();
    let poll = policy.usage.poll.unsigned_abs();
    // The end is checked against the clock, because a slow source may answer later than the next
    // poll is due.
    while began.elapsed() < look {
        // A failure shows in the reading at the end, which is made in any case.
        if let Ok(newest) = source.read(&cluster.node_addresses()).await {
            readings.push((clock::now(), newest));
        }
        let left = (look - began.elapsed()).max(SignedDuration::ZERO);
        tokio::time::sleep(poll.min(left.unsigned_abs())).await;
    }
    readings
}

/// One reading from the first source with fresh usage; the notes name the failures of the others.
async fn present_usage(
    cluster: &Cluster,
    policy: &Policy,
    notes: &mut Vec<String>,
    failures: &mut Vec<SourceError>,
) -> Readings {
    let first = Source::first(&policy.usage, cluster.client());
    let fallback = Source::fallback(&policy.usage, cluster.client());
    let mut stale = None;
    for source in std::iter::once(first).chain(fallback) {
        match source.read(&cluster.node_addresses()).await {
            Ok(readings) if is_fresh(&readings, policy) => {
                notes.push(format!("usage: from {}", source.kind().label()));
                return readings;
            }
            // Stale usage is better than none: the plan then says how old it is.
            Ok(readings) => stale = stale.or(Some(readings)),
            Err(error) => {
                notes.push(format!("usage: {error}"));
                failures.push(error);
            }
        }
    }
    stale.unwrap_or_else(|| {
        notes.push("usage: unknown, which does not count as idle".to_owned());
        Readings::default()
    })
}

fn is_fresh(readings: &Readings, policy: &Policy) -> bool {
    let newest = readings.newest_node(clock::now(), policy.usage.stale_after);
    newest.is_some_and(|at| clock::now().duration_since(at) <= policy.usage.stale_after)
}

/// The release of the API server; a note says so if it is unknown.
async fn ask_release(cluster: &Cluster, notes: &mut Vec<String>) -> Option<KubernetesRelease> {
    match release::read(cluster.client()).await {
        Ok(release) => {
            notes.push(format!("scheduler: kube-scheduler {release}"));
            notes.extend(release.warning());
            Some(release)
        }
        Err(error) => {
            let assumed = KubernetesRelease::default();
            notes.push(format!("scheduler: release unknown, {assumed} assumed: {error}"));
            None
        }
    }
}

/// Waits until every kind is listed once. Fails at once for a kind that cannot be listed.
async fn wait_for_lists(cluster: &Cluster) -> anyhow::Result<()> {
    tokio::select! {
        () = cluster.wait_synced() => Ok(()),
        // A daemon would retry for ever. A person wants the reason at once.
        failure = first_failure(cluster) => bail!("{failure}"),
        () = tokio::time::sleep(LIST_TIMEOUT) => {
            bail!("listing the cluster took longer than {} s", LIST_TIMEOUT.as_secs())
        }
    }
}

async fn first_failure(cluster: &Cluster) -> String {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Some(failure) = cluster.cut_off(LocalTime::now()) {
            return cluster.unlisted().unwrap_or_else(|| failure.to_string());
        }
    }
}

async fn load_ledger(cluster: &Cluster, shared: &Shared) -> anyhow::Result<Ledger> {
    let mut store = LedgerStore::new(cluster.client().clone(), &shared.namespace, &shared.ledger);
    Ok(store.load().await?)
}
