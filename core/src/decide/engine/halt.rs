//! Nothing is evicted while the cluster itself is unhealthy, or while a person or a guard has
//! stopped it.

use jiff::Timestamp;

use crate::decide::targets::absent;
use crate::model::guard::{GuardCause, GuardReading, GuardStates, GuardStop};
use crate::model::ledger::GuardSignal;
use crate::model::plan::{Class, Halt};
use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{Node, Snapshot};
use crate::policy::Policy;
use crate::values::Ratio;

use super::Engine;

impl Engine {
    /// Records one poll of the guards.
    pub fn observe_guards(&mut self, snapshot: &Snapshot, readings: &[GuardReading]) {
        self.guards.record(snapshot, readings);
    }

    /// Returns the guards of the policy with their states.
    pub const fn guards(&self) -> &GuardStates {
        &self.guards
    }

    /// Why no eviction is considered; `None` if the cluster is healthy.
    pub(super) fn halt(&self, snapshot: &Snapshot, now: Timestamp) -> Option<Halt> {
        let policy = &self.policy;
        paused(snapshot, now)
            .or_else(|| guarded(&self.guards, now))
            .or_else(|| few_nodes(policy, snapshot))
            .or_else(|| not_ready(policy, snapshot))
            .or_else(|| pending(policy, snapshot, now))
    }
}

fn guarded(guards: &GuardStates, now: Timestamp) -> Option<Halt> {
    let stop = guards.stop_of_cluster(now)?;
    Some(Halt::Guarded(Box::new(stop)))
}

/// Returns how the guards judge a workload on trial.
pub(super) fn guard_signal(
    guards: &GuardStates,
    workload: &OwnerKey,
    now: Timestamp,
) -> GuardSignal {
    let stops = guards.stops_for(workload, now);
    let is_missing = |stop: &GuardStop| matches!(stop.cause, GuardCause::Missing(_));
    if stops.is_empty() {
        GuardSignal::Quiet
    } else if stops.iter().all(is_missing) {
        GuardSignal::Unknown
    } else {
        GuardSignal::Stops
    }
}

fn paused(snapshot: &Snapshot, now: Timestamp) -> Option<Halt> {
    let pause = snapshot.pauses.of_cluster(now)?;
    Some(Halt::Paused(pause.clone()))
}

/// With fewer than two nodes there is nowhere to move a pod.
fn few_nodes(policy: &Policy, snapshot: &Snapshot) -> Option<Halt> {
    let nodes = snapshot.nodes.iter().filter(|n| is_up(policy, n));
    let ready = nodes.filter(|n| policy.selects(&n.labels)).count();
    (ready < 2).then_some(Halt::FewNodes(ready))
}

fn not_ready(policy: &Policy, snapshot: &Snapshot) -> Option<Halt> {
    let not_ready = snapshot.nodes.iter().filter(|n| !is_up(policy, n)).count();
    let (of, most) = (snapshot.nodes.len(), policy.safety.max_not_ready);
    (share(not_ready, of) > most).then_some(Halt::NotReady { not_ready, of, most })
}

fn is_up(policy: &Policy, node: &Node) -> bool {
    absent(policy, node) != Some(Class::NotReady)
}

fn pending(policy: &Policy, snapshot: &Snapshot, now: Timestamp) -> Option<Halt> {
    // A pod with scheduling gates does not wait for room. It waits for the system that set the
    // gates, such as a job queue.
    let staying = snapshot.pods.iter().filter(|p| p.stays() && !p.gated);
    let (mut pending, mut of) = (0, 0);
    for pod in staying {
        pending += usize::from(pod.is_unplaced(now));
        of += 1;
    }
    let most = policy.safety.max_pending;
    (share(pending, of) > most).then_some(Halt::Pending { pending, of, most })
}

/// A part of a whole; zero of an empty whole.
fn share(part: usize, whole: usize) -> Ratio {
    Ratio::of_counts(part, whole).unwrap_or_default()
}
