//! Which nodes may be emptied, and which may receive pods.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::decide::targets::unfit;
use crate::model::plan::{Class, Disruption, Idle, Refusal, Replacement, SteerValue};
use crate::model::snapshot::facts::NodeClosure;
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, HighNodeUtilization};

use super::rule::EmptyingRule;
use super::unremovable;

/// Sources and destinations, and the changes made while nodes are emptied.
#[derive(Clone, Debug)]
pub struct EmptyingNodes {
    /// Nodes below the thresholds that can be emptied and are not yet. The last ones request most,
    /// so a scheduler that packs prefers them.
    sources: Vec<NodeId>,
    /// All nodes that were below the thresholds at the beginning, in the order in which they are
    /// emptied.
    pub order: Vec<NodeId>,
    /// Nodes that stay, which may receive pods: those in use, then those that cannot be emptied.
    takers: Vec<NodeId>,
    /// Sources that receive pods, so that they are not emptied.
    pub(super) filled: BTreeSet<NodeId>,
    /// Sources that the search did not reach.
    pub(super) not_reached: BTreeSet<NodeId>,
    /// Sources that were empty from the beginning.
    empty: BTreeSet<NodeId>,
}

/// The class of each node.
pub fn classify(draft: &Draft<'_>, rule: &EmptyingRule<'_>) -> BTreeMap<NodeId, Class> {
    draft.world.snapshot.node_ids().map(|node| (node, class(draft, rule, node))).collect()
}

fn class(draft: &Draft<'_>, rule: &EmptyingRule<'_>, node: NodeId) -> Class {
    match (unfit(draft, rule.basis(), node), draft.closure(node)) {
        (Some(class), _) => class,
        _ if !rule.judges(draft, node) => Class::Lacks(rule.weighs()),
        _ if rule.is_under(draft, node) => Class::Underused,
        _ if is_leaving(draft, node) => Class::Leaving,
        (None, Some(closure)) => Class::InUseClosed(closure),
        _ => Class::InUse,
    }
}

impl EmptyingNodes {
    /// Returns the nodes of these classes.
    pub fn new(
        draft: &Draft<'_>,
        rule: &EmptyingRule<'_>,
        classes: &BTreeMap<NodeId, Class>,
    ) -> Self {
        let of_class = |wanted: &Class| -> Vec<NodeId> {
            let nodes = classes.iter().filter(|(_, class)| *class == wanted);
            nodes.map(|(node, _)| *node).collect()
        };
        let mut underused = of_class(&Class::Underused);
        underused.reverse();
        rule.sort_emptiest_first(draft, &mut underused, Basis::Requests);
        // Pods that use little are the best ones for nodes that are full by requests.
        let mut order = underused.clone();
        rule.sort_emptiest_first(draft, &mut order, Basis::Actual);
        // Nodes that are already being emptied or removed, or are closed, come first.
        for nodes in [&mut underused, &mut order] {
            nodes.sort_by_key(|n| takes(draft, *n));
        }
        let (staying, sources): (Vec<NodeId>, Vec<NodeId>) =
            underused.into_iter().partition(|node| leaving_pods(draft, rule, *node).is_none());
        let empty = sources.iter().copied().filter(|node| rule.is_empty(draft, *node));
        let in_use = of_class(&Class::InUse).into_iter();
        EmptyingNodes {
            empty: empty.collect(),
            takers: in_use.chain(staying.into_iter().filter(|n| takes(draft, *n))).collect(),
            order,
            sources,
            filled: BTreeSet::new(),
            not_reached: BTreeSet::new(),
        }
    }

    /// Why nothing is done; `None` if something is.
    pub fn idle(&self, rule: &HighNodeUtilization) -> Option<Idle> {
        let cold = self.order.len();
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
    ///
    /// They are in the order in which they are filled, if the scheduler does not decide.
    pub fn destinations(&self, draft: &Draft<'_>, source: NodeId) -> Vec<NodeId> {
        let position = self.sources.iter().position(|n| *n == source);
        let (emptier, fuller) = self.sources.split_at(position.unwrap_or_default());
        let filled = emptier.iter().filter(|n| self.filled.contains(n));
        // Nodes that were empty from the beginning stay empty.
        let fuller = fuller.iter().rev();
        let fuller = fuller.filter(|n| takes(draft, **n) && !self.empty.contains(n));
        let all = self.takers.iter().chain(filled).chain(fuller).copied();
        all.filter(|n| *n != source).collect()
    }

    /// Whether a node may be emptied: it holds no pod that has to stay, and receives none.
    pub fn may_be_emptied(&self, node: NodeId) -> bool {
        self.sources.contains(&node) && !self.filled.contains(&node)
    }

    /// Whether a node was empty from the beginning.
    pub fn is_empty(&self, node: NodeId) -> bool {
        self.empty.contains(&node)
    }

    /// Records that a source is emptied, and that its pods go to these nodes.
    pub fn emptied(&mut self, source: NodeId, landings: Vec<NodeId>) {
        let sources = &self.sources;
        let landings = landings.into_iter();
        self.filled.extend(landings.filter(|n| sources.contains(n)));
        self.sources.retain(|n| *n != source);
    }
}

/// The pods that have to leave an underused node, large ones first, and last those that go once
/// earlier replacements are Ready; `None` if it stays in any case: one of them may not go, or an
/// autoscaler may not remove the node.
pub fn leaving_pods(
    draft: &Draft<'_>,
    rule: &EmptyingRule<'_>,
    node: NodeId,
) -> Option<Vec<PodId>> {
    let (mut pods, held) = rule.pods(draft, node);
    let goes_later = |(pod, why)| awaits_replacements(draft, node, &why).then_some(pod);
    pods.extend(held.into_iter().map(goes_later).collect::<Option<Vec<PodId>>>()?);
    unremovable(draft, node, &pods).is_none().then_some(pods)
}

/// Whether the refusal ends when earlier replacements are Ready. Meanwhile a node that is being
/// emptied keeps its taint.
pub fn awaits_replacements(draft: &Draft<'_>, node: NodeId, why: &Refusal) -> bool {
    let awaits = matches!(
        why,
        Refusal::Disruption(
            Disruption::LastReady { .. } | Disruption::Budget { .. } | Disruption::StaleBudget(_)
        ) | Refusal::Replacement(Replacement::WaitsInOrder { .. })
    );
    awaits && is_steered(draft, node)
}

/// Whether a node may take pods of others.
fn takes(draft: &Draft<'_>, node: NodeId) -> bool {
    draft.closure(node).is_none() && !is_leaving(draft, node) && !is_steered(draft, node)
}

/// Whether an autoscaler is about to remove a node.
fn is_leaving(draft: &Draft<'_>, node: NodeId) -> bool {
    let facts = draft.world.snapshot.node(node);
    facts.is_closed_by(NodeClosure::Leaving)
        || facts.taints.iter().any(|t| t.key == NodeClosure::CANDIDATE)
}

/// Whether steering keeps pods away from a node so that it can be emptied. A node that is closed
/// needs no taint for that.
pub(super) fn is_steered(draft: &Draft<'_>, node: NodeId) -> bool {
    let closed = draft.world.policy.steering.emptying && draft.closure(node).is_some();
    closed || SteerValue::Emptying.is_set(&draft.world.snapshot.node(node).taints)
}
