//! Topology spread constraints that the strategy keeps, each once in its namespace.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::decide::draft::Draft;
use crate::decide::scheduler;
use crate::model::plan::NotSelected;
use crate::model::snapshot::facts::Spread;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::TopologySpread;
use crate::values::selector::Selector;

/// A constraint of the pods in one namespace.
#[derive(Clone, Debug)]
pub(in crate::decide::strategy) struct Constraint {
    /// The first pod that carries it.
    pod: PodId,
    /// Its position among the constraints of that pod.
    position: usize,
    /// The pods of the namespace that count, if the constraint selects them, in order.
    pods: Rc<[PodId]>,
}

/// The parts of a constraint that are equal in all constraints with the same demand.
type Demand<'w> = (&'w str, Numbers, Option<&'w Selector>);

type Numbers = (bool, u32, Option<u32>, bool, bool);

impl Constraint {
    pub(in crate::decide::strategy) fn spread<'w>(&self, draft: &Draft<'w>) -> &'w Spread {
        &draft.world.snapshot.pod(self.pod).spread[self.position]
    }

    /// Whether the constraint counts a pod, if the pod's node has a domain.
    pub(in crate::decide::strategy) fn selects(&self, draft: &Draft<'_>, pod: PodId) -> bool {
        let selector = self.spread(draft).pods.as_ref();
        let labels = &draft.world.snapshot.pod(pod).labels;
        self.counts(pod) && selector.is_some_and(|s| s.matches(labels))
    }

    /// Whether a pod has the constraint. Others that it counts may have none, so that nothing keeps
    /// their replacements from where they were.
    pub(super) fn is_of(&self, draft: &Draft<'_>, pod: PodId) -> bool {
        draft.world.snapshot.pod(pod).spread.contains(self.spread(draft))
    }

    /// The pods that the constraint counts, if their nodes have a domain, in order.
    pub(in crate::decide::strategy) fn selected(&self, draft: &Draft<'_>) -> Vec<PodId> {
        let snapshot = draft.world.snapshot;
        let Some(selector) = &self.spread(draft).pods else {
            return Vec::new();
        };
        let namespace = &snapshot.pod(self.pod).namespace;
        let found = draft.index().selected(namespace, selector);
        let counted = found.iter().filter(|pod| self.counts(**pod));
        let mut pods: Vec<PodId> = counted.copied().collect();
        pods.sort_unstable();
        pods
    }

    fn counts(&self, pod: PodId) -> bool {
        self.pods.binary_search(&pod).is_ok()
    }

    /// Whether the constraint counts a node: by its `nodeAffinityPolicy` and `nodeTaintsPolicy`,
    /// and, unless descheduler is followed, by the keys of all constraints of its pod
    /// (`nodeLabelsMatchSpreadConstraints` in kube-scheduler).
    pub(in crate::decide::strategy) fn admits(
        &self,
        draft: &Draft<'_>,
        node: NodeId,
        by_all_keys: bool,
    ) -> bool {
        let snapshot = draft.world.snapshot;
        let (spread, pod, node) = (self.spread(draft), snapshot.pod(self.pod), snapshot.node(node));
        let has_key = |key: &str| node.labels.contains_key(key);
        (!by_all_keys || self.keys(draft).all(has_key))
            && (!spread.honours_affinity || scheduler::admits(pod, node))
            && (!spread.honours_taints || scheduler::tolerates_all(pod, node))
    }

    /// The topology keys of the pod's constraints of this kind, hard or soft.
    fn keys<'w>(&self, draft: &Draft<'w>) -> impl Iterator<Item = &'w str> {
        let hard = self.spread(draft).hard;
        let all = draft.world.snapshot.pod(self.pod).spread.iter();
        all.filter(move |spread| spread.hard == hard).map(|spread| spread.topology_key.as_str())
    }

    /// Whether two constraints admit the same nodes.
    pub(super) fn admits_as(&self, other: &Self, draft: &Draft<'_>) -> bool {
        let (a, b) = (self.spread(draft), other.spread(draft));
        let snapshot = draft.world.snapshot;
        let (pod_a, pod_b) = (snapshot.pod(self.pod), snapshot.pod(other.pod));
        let policies = |s: &Spread| (s.honours_affinity, s.honours_taints);
        let same_affinity = pod_a.node_selector == pod_b.node_selector
            && pod_a.required_nodes == pod_b.required_nodes;
        policies(a) == policies(b)
            && self.keys(draft).eq(other.keys(draft))
            && (!a.honours_affinity || same_affinity)
            && (!a.honours_taints || pod_a.tolerations == pod_b.tolerations)
    }
}

const fn demand(spread: &Spread) -> Demand<'_> {
    let Spread { hard, max_skew, min_domains, honours_affinity, honours_taints, .. } = *spread;
    let numbers = (hard, max_skew, min_domains, honours_affinity, honours_taints);
    (spread.topology_key.as_str(), numbers, spread.pods.as_ref())
}

/// The constraints of pods on these nodes, in the order of their namespaces, with the pods that
/// `counts` admits. `kept` says whether the strategy keeps a constraint of a pod.
pub(in crate::decide::strategy) fn collect(
    draft: &Draft<'_>,
    nodes: &[NodeId],
    counts: impl Fn(PodId) -> Result<(), NotSelected>,
    kept: impl Fn(&Pod, &Spread) -> bool,
) -> Vec<Constraint> {
    let snapshot = draft.world.snapshot;
    let mut by_namespace: BTreeMap<&str, Vec<PodId>> = BTreeMap::new();
    for pod in nodes.iter().flat_map(|n| draft.pods_on(*n)) {
        if counts(pod).is_ok() {
            let namespace = &snapshot.pod(pod).namespace;
            by_namespace.entry(namespace).or_default().push(pod);
        }
    }
    let namespaces = by_namespace.into_values();
    namespaces.flat_map(|pods| in_namespace(draft, &kept, pods)).collect()
}

fn in_namespace(
    draft: &Draft<'_>,
    kept: impl Fn(&Pod, &Spread) -> bool,
    mut pods: Vec<PodId>,
) -> Vec<Constraint> {
    let snapshot = draft.world.snapshot;
    pods.sort_unstable();
    let pods: Rc<[PodId]> = pods.into();
    let mut constraints: Vec<Constraint> = Vec::new();
    let mut known: BTreeMap<Demand<'_>, Vec<usize>> = BTreeMap::new();
    for &pod in pods.iter() {
        let facts = snapshot.pod(pod);
        let all = facts.spread.iter().enumerate();
        for (position, spread) in all.filter(|(_, spread)| kept(facts, spread)) {
            let constraint = Constraint { pod, position, pods: Rc::clone(&pods) };
            let alike = known.entry(demand(spread)).or_default();
            let is_known = |c: &usize| constraints[*c].admits_as(&constraint, draft);
            if !alike.iter().any(is_known) {
                alike.push(constraints.len());
                constraints.push(constraint);
            }
        }
    }
    constraints
}

/// Whether the strategy keeps a constraint of a pod.
pub(in crate::decide::strategy) fn is_kept(
    rule: &TopologySpread,
    pod: &Pod,
    spread: &Spread,
) -> bool {
    let kind = if spread.hard { rule.hard } else { rule.soft };
    kind && rule.scope.admits(pod)
}

/// Whether a pod counts when domains are compared. The scheduler counts every pod that stays.
pub(in crate::decide::strategy) fn counts(
    draft: &Draft<'_>,
    rule: &TopologySpread,
    pod: PodId,
) -> Result<(), NotSelected> {
    let facts = draft.world.snapshot.pod(pod);
    NotSelected::unless_gone(facts)?;
    if rule.scope.namespaces.admit(&facts.namespace) { Ok(()) } else { Err(NotSelected::Namespace) }
}

/// Whether a pod asks for certain nodes, so that it has fewer destinations than others.
pub(in crate::decide::strategy) fn prefers_nodes(pod: &Pod) -> bool {
    !pod.node_selector.is_empty() || pod.required_nodes.is_some() || !pod.preferred_nodes.is_empty()
}
