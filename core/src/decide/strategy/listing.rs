//! The pods and nodes that a strategy looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::decide::draft::{DestinationLimits, Draft};
use crate::decide::targets::{absent, unfit};
use crate::model::plan::{Class, NoGain, NotSelected};
use crate::model::snapshot::facts::{Container, Role};
use crate::model::snapshot::{NodeId, Pod, PodId, WorkloadId};
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

/// The pods in scope: node by node, and on each node the workloads in turn.
///
/// The turns keep a limit that cuts the list short from falling on one workload alone.
pub(super) fn pods(draft: &Draft<'_>, scope: &Scope) -> Vec<PodId> {
    let snapshot = draft.world.snapshot;
    let in_scope = |pod| Some((in_scope(draft, scope, pod).ok()?, pod));
    let by_node: BTreeSet<(NodeId, PodId)> = snapshot.pod_ids().filter_map(in_scope).collect();
    let mut seen: BTreeMap<(NodeId, WorkloadId), usize> = BTreeMap::new();
    let mut in_turn = Vec::new();
    for (node, pod) in by_node {
        let mut turn = 0;
        if let Some(workload) = snapshot.pod(pod).workload {
            let count = seen.entry((node, workload)).or_default();
            turn = *count;
            *count += 1;
        }
        in_turn.push((node, turn, pod));
    }
    in_turn.sort_unstable();
    in_turn.into_iter().map(|(_, _, pod)| pod).collect()
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
