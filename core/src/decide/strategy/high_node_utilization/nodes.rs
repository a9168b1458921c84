//! Which nodes may be emptied, and which may receive pods.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::decide::targets::unfit;
use crate::model::plan::{Class, Idle, SteerValue};
use crate::model::snapshot::NodeId;
use crate::model::snapshot::facts::NodeClosure;
use crate::policy::{Basis, HighNodeUtilization};

use super::is_empty;
use super::rule::EmptyingRule;

/// The soft taint by which cluster-autoscaler announces that it may remove a node.
const CANDIDATE: &str = "DeletionCandidateOfClusterAutoscaler";

/// Sources and destinations, and the changes made while nodes are emptied.
#[derive(Clone, Debug, Default)]
pub(super) struct EmptyingNodes {
    /// Nodes below the thresholds that are not emptied yet. The last ones request most, so a
    /// scheduler that packs prefers them.
    pub(super) sources: Vec<NodeId>,
    /// The same nodes at the beginning, in the order in which they are emptied.
    pub(super) order: Vec<NodeId>,
    /// Nodes in use, which may receive pods.
    takers: Vec<NodeId>,
    /// Sources that receive pods, so that they are not emptied.
    pub(super) filled: BTreeSet<NodeId>,
    /// Sources that the search did not reach.
    pub(super) not_reached: BTreeSet<NodeId>,
    /// Sources that were empty from the beginning.
    empty: BTreeSet<NodeId>,
}

/// The class of each node; also recorded as verdicts.
pub(super) fn classify(draft: &mut Draft<'_>, rule: &EmptyingRule<'_>) -> BTreeMap<NodeId, Class> {
    let mut classes = BTreeMap::new();
    for node in draft.world.snapshot.node_ids() {
        let class = class(draft, rule, node);
        draft.add_verdict(HighNodeUtilization::NAME, node, class.clone());
        classes.insert(node, class);
    }
    classes
}

fn class(draft: &Draft<'_>, rule: &EmptyingRule<'_>, node: NodeId) -> Class {
    let facts = draft.world.snapshot.node(node);
    match (unfit(draft, rule.basis(), node), draft.closure(node)) {
        (Some(class), _) => class,
        _ if !rule.judges(draft, node) => Class::Lacks(rule.weighs()),
        _ if rule.is_under(draft, node) => Class::Underused,
        _ if facts.is_closed_by(NodeClosure::Leaving) => Class::Leaving,
        (None, Some(closure)) => Class::InUseClosed(closure),
        _ if is_leaving(draft, node) => Class::Leaving,
        _ => Class::InUse,
    }
}

impl EmptyingNodes {
    pub(super) fn new(
        draft: &Draft<'_>,
        rule: &EmptyingRule<'_>,
        classes: &BTreeMap<NodeId, Class>,
    ) -> Self {
        let of_class = |wanted: &Class| -> Vec<NodeId> {
            let nodes = classes.iter().filter(|(_, class)| *class == wanted);
            nodes.map(|(node, _)| *node).collect()
        };
        let mut sources = of_class(&Class::Underused);
        sources.reverse();
        rule.sort_emptiest_first(draft, &mut sources, Basis::Requests);
        // Pods that use little are the best ones for nodes that are full by requests.
        let mut order = sources.clone();
        rule.sort_emptiest_first(draft, &mut order, Basis::Actual);
        // Nodes that are already being emptied or removed come first.
        for nodes in [&mut sources, &mut order] {
            nodes.sort_by_key(|n| !(is_leaving(draft, *n) || is_steered(draft, *n)));
        }
        let snapshot = draft.world.snapshot;
        let empty = sources.iter().copied().filter(|n| is_empty(snapshot, *n));
        EmptyingNodes {
            empty: empty.collect(),
            order,
            sources,
            takers: of_class(&Class::InUse),
            filled: BTreeSet::new(),
            not_reached: BTreeSet::new(),
        }
    }

    /// Why nothing is done; `None` if something is.
    pub(super) fn idle(&self, rule: &HighNodeUtilization) -> Option<Idle> {
        let cold = self.sources.len();
        if cold == 0 {
            return Some(Idle::NothingUnderused);
        }
        let no_taker = self.takers.is_empty() && cold == 1;
        let no_taker = no_taker.then_some(Idle::NoDestination);
        Idle::few_cold(cold, rule.number_of_nodes).or(no_taker)
    }

    /// Why no node is emptied, if some were not reached.
    pub(super) fn unfinished(&self) -> Option<Idle> {
        let (left, underused) = (self.not_reached.len(), self.order.len());
        let of = "underused nodes";
        (left > 0).then(|| Idle::SearchUnfinished { tried: underused - left, left, of })
    }

    /// The nodes to which the pods of a source may go: nodes in use, fuller sources, and sources
    /// that already receive pods. A move to an emptier node would gain nothing.
    pub(super) fn destinations(&self, draft: &Draft<'_>, source: NodeId) -> Vec<NodeId> {
        let position = self.sources.iter().position(|n| *n == source);
        let behind = position.unwrap_or_default();
        let stays = |n: &NodeId| !is_leaving(draft, *n) && !is_steered(draft, *n);
        // Nodes that were empty from the beginning stay empty.
        let fuller = self.sources.iter().skip(behind + 1);
        let fuller = fuller.filter(|n| stays(n) && !self.empty.contains(n));
        let emptier = self.sources.iter().take(behind);
        let mut filled: Vec<&NodeId> = emptier.filter(|n| self.filled.contains(n)).collect();
        filled.sort_unstable();
        let all = self.takers.iter().chain(fuller).chain(filled).copied();
        let takes = |n: &NodeId| draft.closure(*n).is_none();
        all.filter(|n| *n != source && takes(n)).collect()
    }

    /// Records that a source is emptied, and that its pods go to these nodes.
    pub(super) fn emptied(&mut self, source: NodeId, landings: Vec<NodeId>) {
        let sources = &self.sources;
        let landings = landings.into_iter();
        self.filled.extend(landings.filter(|n| sources.contains(n)));
        self.sources.retain(|n| *n != source);
    }
}

/// Whether an autoscaler is about to remove a node.
fn is_leaving(draft: &Draft<'_>, node: NodeId) -> bool {
    let facts = draft.world.snapshot.node(node);
    facts.is_closed_by(NodeClosure::Leaving) || facts.taints.iter().any(|t| t.key == CANDIDATE)
}

/// Whether a steering taint keeps pods away from a node so that it can be emptied.
pub(super) fn is_steered(draft: &Draft<'_>, node: NodeId) -> bool {
    SteerValue::Emptying.is_set(&draft.world.snapshot.node(node).taints)
}
