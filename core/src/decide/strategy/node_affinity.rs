//! RemovePodsViolatingNodeAffinity: evicts pods whose node does not match their node affinity.
//!
//! Required affinity: the pod's own node does not match, and the gates check that another node can
//! take the pod. Preferred affinity: a node with a higher weight exists, and only such a node
//! counts as destination. Without that condition a pod would be evicted again and again in favour
//! of a node that is full (descheduler issue 1707).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::decide::draft::Draft;
use crate::decide::scheduler;
use crate::model::plan::{NoGain, NotSelected, Reason};
use crate::model::snapshot::facts::address;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{AffinityKind, NodeAffinity, Scope};
use crate::values::selector::NodeTerm;

use super::listing::{only_on, ready_nodes};
use super::per_pod::{JudgePod, Selected};

/// The rule, and the nodes that may be destinations.
#[derive(Debug)]
pub(super) struct NodeAffinityRule<'w> {
    rule: &'w NodeAffinity,
    nodes: Rc<[NodeId]>,
    preferred: BetterNodes,
}

/// The nodes that pods prefer to others, found once for equal pods on nodes of equal weight. The
/// list has up to all nodes, and in a large cluster thousands of pods wait with one.
#[derive(Debug, Default)]
struct BetterNodes {
    /// By the address of the pod's spec, as the pods of one controller share it in memory.
    by_spec: RefCell<BTreeMap<(usize, i64), Option<Better>>>,
    by_terms: RefCell<BTreeMap<Vec<(i32, NodeTerm)>, ByWeight>>,
}

/// The nodes that are better than one of each weight, if any.
type ByWeight = BTreeMap<i64, Option<Better>>;

/// Nodes with a higher weight than another, and the highest weight.
#[derive(Clone, Debug)]
struct Better {
    best: i64,
    nodes: Rc<[NodeId]>,
}

impl<'w> NodeAffinityRule<'w> {
    pub(super) fn new(draft: &Draft<'w>, rule: &'w NodeAffinity) -> Self {
        NodeAffinityRule {
            rule,
            nodes: ready_nodes(draft).into(),
            preferred: BetterNodes::default(),
        }
    }

    /// Why a pod should leave its node because of one kind of affinity; `None` if it may stay.
    fn violated(
        &self,
        draft: &Draft<'_>,
        node: NodeId,
        pod: &Pod,
        kind: AffinityKind,
    ) -> Option<Selected> {
        let (reason, destinations) = match kind {
            AffinityKind::Required => {
                let mismatch = required(draft, node, pod);
                mismatch.then(|| (Reason::WrongNode, Rc::clone(&self.nodes)))
            }
            AffinityKind::Preferred => self.preferred(draft, node, pod),
        }?;
        Some(Selected { reason, destinations: Some(only_on(destinations, NoGain::NodeAffinity)) })
    }

    /// The nodes that the pod prefers to its own.
    fn preferred(
        &self,
        draft: &Draft<'_>,
        node: NodeId,
        pod: &Pod,
    ) -> Option<(Reason, Rc<[NodeId]>)> {
        if pod.preferred_nodes.is_empty() {
            return None;
        }
        let weight = weight_on(draft, pod, node);
        let Better { best, nodes } = self.preferred.of(draft, pod, weight, &self.nodes)?;
        Some((Reason::LessPreferred { weight, best }, nodes))
    }
}

impl JudgePod for NodeAffinityRule<'_> {
    fn scope(&self) -> &Scope {
        &self.rule.scope
    }

    fn judge(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> Result<Selected, NotSelected> {
        let (pod, kinds) = (draft.world.snapshot.pod(pod), &self.rule.kinds);
        if pod.finished() {
            return Err(NotSelected::Finished);
        }
        let mut violated = kinds.iter().filter_map(|kind| self.violated(draft, node, pod, *kind));
        violated.next().ok_or_else(|| {
            if kinds.iter().any(|kind| has_affinity(pod, *kind)) {
                NotSelected::SuitableNode
            } else {
                NotSelected::NoNodeAffinity
            }
        })
    }

    /// All pods of the first kind of affinity that the policy names come before those of the
    /// second.
    fn sort(&self, _draft: &Draft<'_>, selected: &mut Vec<(PodId, Selected)>) {
        let kinds = &self.rule.kinds;
        selected.sort_by_key(|(_, s)| kinds.iter().position(|kind| *kind == kind_of(&s.reason)));
    }
}

fn kind_of(reason: &Reason) -> AffinityKind {
    if *reason == Reason::WrongNode { AffinityKind::Required } else { AffinityKind::Preferred }
}

fn has_affinity(pod: &Pod, kind: AffinityKind) -> bool {
    match kind {
        AffinityKind::Required => pod.required_nodes.is_some(),
        AffinityKind::Preferred => !pod.preferred_nodes.is_empty(),
    }
}

/// Whether the pod's own node does not match. A node selector alone is no affinity, but counts
/// together with one.
fn required(draft: &Draft<'_>, node: NodeId, pod: &Pod) -> bool {
    pod.required_nodes.is_some() && !scheduler::admits(pod, draft.world.snapshot.node(node))
}

impl BetterNodes {
    /// The nodes that a pod prefers to a node of this weight; `None` without such a node.
    fn of(&self, draft: &Draft<'_>, pod: &Pod, weight: i64, nodes: &[NodeId]) -> Option<Better> {
        let like = (address(&pod.spec), weight);
        if let Some(known) = self.by_spec.borrow().get(&like) {
            return known.clone();
        }
        let terms = pod.preferred_nodes.as_slice();
        let mut by_terms = self.by_terms.borrow_mut();
        let known = by_terms.get(terms).and_then(|by_weight| by_weight.get(&weight)).cloned();
        let found = known.unwrap_or_else(|| {
            let found = better_nodes(draft, pod, weight, nodes);
            by_terms.entry(terms.to_vec()).or_default().insert(weight, found.clone());
            found
        });
        self.by_spec.borrow_mut().insert(like, found.clone());
        found
    }
}

fn better_nodes(draft: &Draft<'_>, pod: &Pod, weight: i64, nodes: &[NodeId]) -> Option<Better> {
    let weights = nodes.iter().map(|n| (weight_on(draft, pod, *n), *n));
    let better: Vec<(i64, NodeId)> = weights.filter(|(w, _)| *w > weight).collect();
    let best = better.iter().map(|(w, _)| *w).max()?;
    Some(Better { best, nodes: better.into_iter().map(|(_, n)| n).collect() })
}

fn weight_on(draft: &Draft<'_>, pod: &Pod, node: NodeId) -> i64 {
    scheduler::preference(pod, draft.world.snapshot.node(node))
}
