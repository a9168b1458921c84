//! The pods and nodes that a strategy looks at.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::decide::draft::{DestinationLimits, Draft};
use crate::decide::targets::{absent, unfit};
use crate::model::plan::{Class, NoGain, NotSelected};
use crate::model::snapshot::facts::{Container, Role};
use crate::model::snapshot::{NodeId, Pod, PodId, Snapshot, WorkloadId};
use crate::policy::{Basis, Scope};

/// The Ready nodes that the policy selects, cordoned ones included.
pub(super) fn ready_nodes(draft: &Draft<'_>) -> Vec<NodeId> {
    let nodes = draft.world.snapshot.node_ids();
    nodes.filter(|n| ready_node(draft, *n).is_ok()).collect()
}

fn ready_node(draft: &Draft<'_>, node: NodeId) -> Result<(), Class> {
    let (policy, facts) = (draft.world.policy, draft.world.snapshot.node(node));
    if let Some(class) = absent(policy, facts) {
        Err(class)
    } else if !policy.selects(&facts.labels) {
        Err(Class::NotSelected)
    } else {
        Ok(())
    }
}

/// The fit node on which a pod stays, or why the pod does not count.
pub(super) fn stays_on(draft: &Draft<'_>, pod: PodId) -> Result<NodeId, NotSelected> {
    let facts = draft.world.snapshot.pod(pod);
    let node = facts.node.ok_or(NotSelected::Nowhere)?;
    match unfit(draft, Basis::Requests, node) {
        Some(class) => Err(NotSelected::Node(class)),
        None => NotSelected::unless_gone(facts).map(|()| node),
    }
}

/// Refuses a pod that a strategy earlier in the policy already moves.
pub(super) fn not_moved(draft: &Draft<'_>, pod: PodId) -> Result<(), NotSelected> {
    match draft.move_of(pod) {
        Some((by, _)) => {
            Err(NotSelected::MovedBefore(draft.world.strategy(by.strategy).rule.name()))
        }
        None => Ok(()),
    }
}

/// The node of a pod that a strategy with this scope looks at, or why it does not look at the pod.
///
/// Finished pods are in scope, terminating ones are not.
pub(super) fn in_scope(
    draft: &Draft<'_>,
    scope: &Scope,
    pod: PodId,
) -> Result<NodeId, NotSelected> {
    let facts = draft.world.snapshot.pod(pod);
    let node = facts.node.ok_or(NotSelected::Nowhere)?;
    ready_node(draft, node).map_err(NotSelected::Node)?;
    if facts.terminating {
        return Err(NotSelected::Terminating);
    }
    if let Some(why) = scope.leaves_out(facts) {
        return Err(why);
    }
    not_moved(draft, pod)?;
    Ok(node)
}

/// A pod in scope with terms of anti-affinity, and its node, or why the strategy does not move it.
pub(super) fn with_terms<'w>(
    draft: &Draft<'w>,
    scope: &Scope,
    pod: PodId,
    has_terms: fn(&Pod) -> bool,
) -> Result<(NodeId, &'w Pod), NotSelected> {
    let node = in_scope(draft, scope, pod)?;
    let facts = draft.world.snapshot.pod(pod);
    if facts.finished() {
        Err(NotSelected::Finished)
    } else if has_terms(facts) {
        Ok((node, facts))
    } else {
        Err(NotSelected::NoAntiAffinity)
    }
}

/// The pods in scope: node by node, and on each node the workloads [in proportion](in_proportion).
pub(super) fn pods(draft: &Draft<'_>, scope: &Scope) -> Vec<PodId> {
    let snapshot = draft.world.snapshot;
    let nodes = snapshot.pod_ids().filter_map(|pod| Some((in_scope(draft, scope, pod).ok()?, pod)));
    in_proportion(snapshot, nodes)
}

/// Sorts pods by their keys. Among pods with equal keys, each workload is spread evenly over the
/// whole list.
///
/// So a limit that cuts the list short takes about the same share of each workload. Descheduler
/// leaves the order of such pods to chance, which does the same on average.
pub(super) fn in_proportion<K: Ord>(
    snapshot: &Snapshot,
    pods: impl Iterator<Item = (K, PodId)>,
) -> Vec<PodId> {
    let mut by_key: BTreeMap<K, BTreeMap<Option<WorkloadId>, Vec<PodId>>> = BTreeMap::new();
    for (key, pod) in pods {
        let workloads = by_key.entry(key).or_default();
        workloads.entry(snapshot.pod(pod).workload).or_default().push(pod);
    }
    by_key.into_values().flat_map(|workloads| spread(workloads.into_values())).collect()
}

/// Spreads each group of pods evenly. The pod at position i of n has the place (i + ½) / n.
fn spread(groups: impl Iterator<Item = Vec<PodId>>) -> impl Iterator<Item = PodId> {
    let places = groups.flat_map(|pods| {
        let count = pods.len();
        pods.into_iter().enumerate().map(move |(i, pod)| (2 * i + 1, count, pod))
    });
    let mut places: Vec<(usize, usize, PodId)> = places.collect();
    places.sort_unstable_by(|(a, n, pod), (b, m, other)| (a * m, pod).cmp(&(b * n, other)));
    places.into_iter().map(|(_, _, pod)| pod)
}

impl Scope {
    /// Whether a strategy with this scope looks at a pod.
    pub fn admits(&self, pod: &Pod) -> bool {
        self.leaves_out(pod).is_none()
    }

    /// Why a strategy with this scope does not look at a pod; `None` if it does.
    pub fn leaves_out(&self, pod: &Pod) -> Option<NotSelected> {
        if !self.namespaces.admit(&pod.namespace) {
            return Some(NotSelected::Namespace);
        }
        let selector = self.pods.as_ref();
        selector.is_some_and(|s| !s.matches(&pod.labels)).then_some(NotSelected::Labels)
    }
}

/// The main containers of a pod, and those of the other roles that the policy adds.
pub(super) fn containers(
    pod: &Pod,
    init: bool,
    ephemeral: bool,
) -> impl Iterator<Item = &Container> {
    pod.containers.iter().filter(move |c| match c.role {
        Role::Main => true,
        Role::Init => init,
        Role::Ephemeral => ephemeral,
    })
}

/// The first exit code of a container that the policy lists.
pub(super) fn listed_code(pod: &Pod, init: bool, listed: &[i32]) -> Option<i32> {
    containers(pod, init, false)
        .filter_map(|c| c.ended.as_ref())
        .map(|(_, code)| *code)
        .find(|code| listed.contains(code))
}

/// Limits a replacement to these nodes, however full they become. A move to any other node gains
/// nothing for the given reason.
pub(super) fn only_on(nodes: Rc<[NodeId]>, others: NoGain) -> DestinationLimits {
    DestinationLimits {
        nodes,
        targets: Rc::new([]),
        basis: Basis::Requests,
        usage_targets: Rc::default(),
        others,
    }
}
