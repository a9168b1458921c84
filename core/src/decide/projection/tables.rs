//! Tables of the world. Each is made when it is first asked for, and shared by all trials.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::model::ledger::LedgerSize;
use crate::model::plan::{OrderCause, StartFlaw};
use crate::model::snapshot::facts::{NodeClosure, Owner, UidHash};
use crate::model::snapshot::{NodeId, PodId, WorkloadId};
use crate::policy::Basis;
use crate::values::{Ratio, ResourceId};

use super::failing::FailingCreation;
use super::refused::{RefusedPods, refused};
use super::starting::starting_nothing;
use super::{Projection, World};

/// The ordinal of a pod that a StatefulSet waits for, and the reason; `None` if it has no pod.
pub type WaitingOrdinal = (u32, Option<OrderCause>);
/// The namespace, kind and name of an owner, and the hash of its uid.
type CountedOwner = (String, String, String, Option<UidHash>);
/// A target that is relative to the mean, as a share of the node.
pub type TargetByMean = (Basis, ResourceId, Ratio);

#[derive(Debug, Default)]
pub(super) struct Tables {
    uncounted: OnceCell<Vec<Vec<PodId>>>,
    starting_nothing: OnceCell<BTreeSet<NodeId>>,
    refused: OnceCell<RefusedPods>,
    failing: OnceCell<FailingCreation>,
    ledger_size: OnceCell<LedgerSize>,
    /// For each strategy and pod.
    permitted: OnceCell<Vec<Vec<OnceCell<bool>>>>,
    pods_of_owner: OnceCell<BTreeMap<CountedOwner, u32>>,
    /// By the first pod of each StatefulSet.
    lowest_waiting: RefCell<BTreeMap<PodId, Option<WaitingOrdinal>>>,
    /// By the first pod of each controller.
    failing_starts: RefCell<BTreeMap<PodId, Option<(PodId, StartFlaw)>>>,
    /// By the first pod of each Job.
    failed_of_job: RefCell<BTreeMap<PodId, (u32, u32)>>,
    targets_by_mean: OnceCell<Vec<Vec<TargetByMean>>>,
}

impl Projection<'_> {
    /// Returns the pods that count on a node although its load does not include them: terminating
    /// ones until they have ended, and expected replacements that do not run yet.
    pub fn uncounted(&self, node: NodeId) -> &[PodId] {
        let by_node = self.tables.uncounted.get_or_init(|| uncounted(self.world));
        &by_node[node.0]
    }

    /// Returns why a node takes no new pods; `None` if it does.
    pub fn closure(&self, node: NodeId) -> Option<NodeClosure> {
        let nodes = || self.tables.starting_nothing.get_or_init(|| starting_nothing(self.world));
        let starts_nothing = || nodes().contains(&node).then_some(NodeClosure::StartsNothing);
        self.world.snapshot.node(node).closure().or_else(starts_nothing)
    }

    /// Returns why the kubelet of a node has refused a pod of a workload; `None` if it has not.
    pub fn refused_at(&self, node: NodeId, workload: WorkloadId) -> Option<&str> {
        let refused = self.tables.refused.get_or_init(|| refused(self.world));
        refused.get(&(node, workload)).map(String::as_str)
    }

    /// Returns the workloads and namespaces whose new pods the API server refuses.
    pub fn failing(&self) -> &FailingCreation {
        self.tables.failing.get_or_init(|| FailingCreation::of(self.world.snapshot))
    }

    /// Returns whether a strategy may evict a pod, as far as that does not depend on moves.
    pub fn permitted(&self, strategy: usize, pod: PodId, ask: impl FnOnce() -> bool) -> bool {
        let all = self.tables.permitted.get_or_init(|| {
            let unknown = vec![OnceCell::new(); self.world.snapshot.pods.len()];
            vec![unknown; self.world.policy.strategies.len()]
        });
        *all[strategy][pod.0].get_or_init(ask)
    }

    /// Returns the lowest ordinal that a StatefulSet waits for, given its first pod.
    pub fn lowest_waiting(
        &self,
        first: PodId,
        find: impl FnOnce() -> Option<WaitingOrdinal>,
    ) -> Option<WaitingOrdinal> {
        let mut known = self.tables.lowest_waiting.borrow_mut();
        *known.entry(first).or_insert_with(find)
    }

    /// Returns the pod of a controller that shows that new ones do not start, and why it does not,
    /// given its first pod.
    pub fn failing_start(
        &self,
        first: PodId,
        find: impl FnOnce() -> Option<(PodId, StartFlaw)>,
    ) -> Option<(PodId, StartFlaw)> {
        let mut known = self.tables.failing_starts.borrow_mut();
        known.entry(first).or_insert_with(find).clone()
    }

    /// Returns how many pods of a Job have failed, and how many will have failed when they have
    /// ended, given its first pod. Moves do not count.
    pub fn failed_of_job(&self, first: PodId, count: impl FnOnce() -> (u32, u32)) -> (u32, u32) {
        let mut known = self.tables.failed_of_job.borrow_mut();
        *known.entry(first).or_insert_with(count)
    }

    /// Returns how many pods have an owner, in every phase.
    pub fn pods_of_owner(&self, namespace: &str, owner: &Owner) -> u32 {
        let key = |namespace: &str, owner: &Owner| {
            (namespace.to_owned(), owner.kind.clone(), owner.name.clone(), owner.uid)
        };
        let counts = self.tables.pods_of_owner.get_or_init(|| {
            let mut counts = BTreeMap::new();
            for pod in &self.world.snapshot.pods {
                for owner in &pod.owners {
                    *counts.entry(key(&pod.namespace, owner)).or_default() += 1;
                }
            }
            counts
        });
        counts.get(&key(namespace, owner)).copied().unwrap_or(0)
    }

    /// Returns the targets of a node that are relative to the mean, given how to find them for each
    /// node. Moves do not count: they hardly change a mean.
    pub fn targets_by_mean(
        &self,
        node: NodeId,
        find: impl FnOnce() -> Vec<Vec<TargetByMean>>,
    ) -> &[TargetByMean] {
        &self.tables.targets_by_mean.get_or_init(find)[node.0]
    }

    /// Returns the size of the ledger before the moves.
    pub fn ledger_size(&self) -> LedgerSize {
        let size = &self.tables.ledger_size;
        *size.get_or_init(|| self.world.ledger.size())
    }
}

fn uncounted(world: World<'_>) -> Vec<Vec<PodId>> {
    let (snapshot, ledger) = (world.snapshot, world.ledger);
    let terminating = |pods: &[PodId]| {
        let pods = pods.iter().copied();
        pods.filter(|pod| snapshot.pod(*pod).terminating).collect()
    };
    let nodes = snapshot.nodes.iter();
    let mut by_node: Vec<Vec<PodId>> = nodes.map(|node| terminating(&node.pods)).collect();
    for (pod, names) in ledger.pending_replacements(snapshot) {
        for node in names.iter().filter_map(|name| snapshot.find_node(name)) {
            by_node[node.0].push(pod);
        }
    }
    by_node
}
