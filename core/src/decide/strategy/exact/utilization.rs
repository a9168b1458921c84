//! LowNodeUtilization and HighNodeUtilization as descheduler chooses, for policies in the exact
//! mode.
//!
//! Usage is read once. The room of all destinations together shrinks with each evicted pod. Whether
//! one destination can take the pod is checked only if the profile asks for it (`nodeFit`). The
//! sources are sorted as in descheduler: by the plain sum of millicores, bytes and counts, in which
//! memory outweighs everything else. The order decides which node gets the room.
//!
//! Three defects of descheduler are not copied: how it counts tolerations, that soft taints exclude
//! a node, and that one node without metrics ends the strategy.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::strategy::listing::not_moved;
use crate::decide::strategy::{ResourceLevel, SelectPods, StrategyRun};
use crate::model::plan::{Class, Idle, NotSelected, Reason, Refusal};
use crate::model::snapshot::facts::Role;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{Basis, Thresholds};
use crate::values::ResourceId;

use percent::weight;

mod percent;
mod start;

/// One cycle of either strategy.
#[derive(Debug)]
pub(super) struct ExactUtilizationRun<'w> {
    position: usize,
    /// Only pods that request one of these resources are moved; `None` if all are.
    requested: Option<&'w Thresholds>,
    pools: VecDeque<SourcePool>,
    classes: BTreeMap<NodeId, Class>,
    /// Why nothing is done with these nodes.
    idle: BTreeMap<NodeId, Idle>,
    /// The ratios and thresholds of each node.
    levels: BTreeMap<NodeId, Vec<ResourceLevel>>,
    /// Sources that are no longer above their targets.
    relieved: BTreeSet<NodeId>,
}

/// The sources of one pool of nodes, and the room that is left on the destinations.
#[derive(Debug)]
struct SourcePool {
    basis: Basis,
    /// Whether to evict every pod (HighNodeUtilization), or only until the source is below its
    /// targets.
    to_the_last: bool,
    sources: VecDeque<SourceNode>,
    free: BTreeMap<ResourceId, i128>,
}

/// A node from which pods are evicted.
#[derive(Debug)]
struct SourceNode {
    node: NodeId,
    reason: Reason,
    usage: BTreeMap<ResourceId, i128>,
    targets: BTreeMap<ResourceId, i128>,
    pods: VecDeque<PodId>,
}

impl ExactUtilizationRun<'_> {
    /// Decides about a pod, given the draft in which the strategy began. The room that is left does
    /// not matter here.
    fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<(), NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        let node = facts.node.ok_or(NotSelected::Nowhere)?;
        if facts.finished() {
            return Err(NotSelected::Finished);
        }
        match (self.classes.get(&node), self.idle.get(&node)) {
            (Some(Class::Hot { .. } | Class::Underused), None) => {}
            (Some(Class::Hot { .. } | Class::Underused) | None, Some(idle)) => {
                return Err(NotSelected::Idle(idle.clone()));
            }
            (Some(class), _) => return Err(NotSelected::Node(class.clone())),
            (None, None) => return Err(NotSelected::Node(Class::NotSelected)),
        }
        let requested = self.requested;
        if requested.is_some_and(|thresholds| !requests_any(facts, thresholds)) {
            return Err(NotSelected::RequestsNothing);
        }
        not_moved(draft, pod)
    }
}

impl SelectPods for ExactUtilizationRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        loop {
            let pool = self.pools.front_mut()?;
            let Some(source) = pool.sources.front_mut() else {
                self.pools.pop_front();
                continue;
            };
            if draft.is_closed(self.position, source.node) {
                pool.sources.pop_front();
                continue;
            }
            let goes_on = pool.to_the_last || source.is_above_target();
            let has_free = pool.free.values().all(|left| *left > 0);
            if goes_on
                && has_free
                && let Some(pod) = source.pods.pop_front()
            {
                return Some(Candidate::new(pod, self.position, source.reason.clone()));
            }
            if !goes_on {
                self.relieved.insert(source.node);
            }
            pool.sources.pop_front();
        }
    }

    fn answered(&mut self, draft: &Draft<'_>, pod: PodId, refusal: Option<&Refusal>) {
        if let Some(pool) = self.pools.front_mut()
            && refusal.is_none()
        {
            pool.gives(draft, pod);
        }
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        let snapshot = run.after.world.snapshot;
        let node = snapshot.pod(pod).node;
        if let Err(why) = self.judge(run.before, pod) {
            why
        } else if run.is_late(pod) {
            run.late(pod)
        } else if let Some(node) = node.filter(|n| self.relieved.contains(n)) {
            let going = run.after.going(node).count();
            NotSelected::Enough { going, waiting: 0 }
        } else {
            NotSelected::RoomUsedUp
        }
    }

    fn levels(&self, _run: &StrategyRun<'_, '_>, node: NodeId) -> Vec<ResourceLevel> {
        self.levels.get(&node).cloned().unwrap_or_default()
    }
}

impl SourcePool {
    /// Counts a pod that leaves the first source.
    fn gives(&mut self, draft: &Draft<'_>, pod: PodId) {
        let Some(source) = self.sources.front_mut() else {
            return;
        };
        for (resource, used) in &mut source.usage {
            let weight = weight(draft, self.basis, pod, *resource).unwrap_or_default();
            let weight = i128::from(weight.get());
            *used -= weight;
            self.free.entry(*resource).and_modify(|left| *left -= weight);
        }
    }
}

impl SourceNode {
    fn is_above_target(&self) -> bool {
        self.usage.iter().any(|(resource, used)| *used > self.targets[resource])
    }
}

/// Whether a pod requests one of the resources that have a threshold.
fn requests_any(pod: &Pod, thresholds: &Thresholds) -> bool {
    let containers = pod.containers.iter().filter(|c| c.role != Role::Ephemeral);
    let mut requested = containers.flat_map(|c| &c.requested);
    requested.any(|name| thresholds.iter().any(|(threshold, _)| threshold == name))
}
