//! A live cluster, looked at once.

use std::time::Duration;

use anyhow::bail;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::cluster::ledger_store::LedgerStore;
use crate::cluster::usage_source::Source;
use crate::model::ledger::Ledger;
use crate::model::usage::Readings;
use crate::policy::Policy;

use super::Shared;
use super::plan::Seen;

/// How long the first list of everything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a live cluster shows now, what it shows while we watch for so long before, and the window of a source that has a past.
pub(super) async fn look(
    shared: &Shared,
    policy: &Policy,
    watch: SignedDuration,
) -> anyhow::Result<Seen> {
    let cluster = Cluster::connect(shared.kubeconfig.as_deref()).await?;
    let stop = CancellationToken::new();
    let _stop_with_us = stop.clone().drop_guard();
    cluster.start(&stop);
    listed(&cluster).await?;
    let mut head = Vec::new();
    let mut readings = watched(&cluster, policy, watch, &mut head).await;
    let newest = usage(&cluster, policy, &mut head).await;
    readings.push((present(), newest));
    let ledger = remembered(&cluster, shared).await.unwrap_or_else(|error| {
        head.push(format!("ledger: left out of account: {error:#}"));
        Ledger::default()
    });
    let snapshot = cluster.snapshot(policy.resources());
    let now = present();
    let counts = format!(
        "{} nodes, {} pods",
        snapshot.nodes.len(),
        snapshot.pods.len()
    );
    head.insert(0, format!("the cluster as it is: {counts}"));
    let by = match readings.len() {
        1 => "one reading, where run would watch for longer".to_owned(),
        polls => format!("{polls} readings"),
    };
    head.insert(1, format!("time: {now:.0}; usage by {by}"));
    Ok(Seen {
        snapshot,
        readings,
        ledger,
        now,
        head,
    })
}

/// The past of the first source, if it has one; and what it tells while we wait.
async fn watched(
    cluster: &Cluster,
    policy: &Policy,
    watch: SignedDuration,
    head: &mut Vec<String>,
) -> Vec<(Timestamp, Readings)> {
    let source = Source::first(&policy.usage, cluster.client());
    let mut readings = source
        .read_past(&cluster.node_addresses(), None)
        .await
        .unwrap_or_else(|error| {
            head.push(format!("usage: the window is not to be had: {error}"));
            Vec::new()
        });
    let end = present().saturating_add(watch).unwrap_or(Timestamp::MAX);
    let poll = policy.usage.poll.unsigned_abs();
    while present() < end {
        if let Ok(newest) = source.read(&cluster.node_addresses()).await {
            readings.push((present(), newest));
        }
        let left = end
            .duration_since(present())
            .max(SignedDuration::ZERO)
            .unsigned_abs();
        tokio::time::sleep(poll.min(left)).await;
    }
    readings
}

/// One reading of the first source that has fresh usage; what is wrong with the others goes to the head of the page.
async fn usage(cluster: &Cluster, policy: &Policy, head: &mut Vec<String>) -> Readings {
    let first = Source::first(&policy.usage, cluster.client());
    let fallback = Source::fallback(&policy.usage, cluster.client());
    let mut stale = None;
    for source in std::iter::once(first).chain(fallback) {
        let name = source.kind().label();
        match source.read(&cluster.node_addresses()).await {
            Ok(readings) => {
                let newest = readings.nodes.values().map(|s| s.at).max();
                if newest.is_some_and(|at| present().duration_since(at) <= policy.usage.stale_after)
                {
                    head.push(format!("usage: by {name}"));
                    return readings;
                }
                stale = stale.or(Some(readings));
            }
            Err(error) => head.push(format!("usage: unknown, and unknown is not idle: {error}")),
        }
    }
    stale.unwrap_or_default()
}

/// Waits for the first list of everything; what cannot be listed is named rather than waited for.
async fn listed(cluster: &Cluster) -> anyhow::Result<()> {
    let broken = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if let Some(cut_off) = cluster.cut_off(present()) {
                return cut_off;
            }
        }
    };
    tokio::select! {
        () = cluster.wait_synced() => Ok(()),
        cut_off = broken => bail!("{cut_off}"),
        () = tokio::time::sleep(PATIENCE) => bail!("listing the cluster took longer than {} s", PATIENCE.as_secs()),
    }
}

async fn remembered(cluster: &Cluster, shared: &Shared) -> anyhow::Result<Ledger> {
    let mut store = LedgerStore::new(cluster.client().clone(), &shared.namespace, &shared.ledger);
    let text = store.load().await?.text;
    Ok(text.map_or(Ok(Ledger::default()), |text| Ledger::parse(&text))?)
}

#[expect(
    clippy::disallowed_methods,
    reason = "an edge: the time of a plan is that of its making"
)]
fn present() -> Timestamp {
    Timestamp::now()
}
