//! The replicas of one owner with the same images: how many are where, and which nodes may take
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::decide::draft::Draft;
use crate::decide::scheduler;
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::{NodeId, Pod, PodId};

use super::{ByNode, DuplicateRules};

/// The replicas of one owner with the same images.
#[derive(Debug)]
pub(super) struct ReplicaGroup {
    all: usize,
    /// Whether a node has two equal pods.
    has_duplicates: bool,
    /// The nodes that may take the pods; empty if there are no duplicates.
    targets: Vec<NodeId>,
    /// How many replicas a node may keep.
    share: usize,
    /// How many replicas a node had when the strategy began.
    initial: BTreeMap<NodeId, usize>,
    /// How many replicas a node has after the moves so far.
    current: BTreeMap<NodeId, usize>,
    /// The nodes with fewer replicas than so many now. Every candidate asks for them.
    below: BTreeMap<usize, Rc<[NodeId]>>,
}

/// The nodes that pods may go to, by their taints and labels. Pods that are equal in these are
/// asked about once.
#[derive(Debug)]
pub(super) struct AdmittedNodes<'w> {
    /// All nodes that may take pods.
    nodes: Vec<NodeId>,
    known: Vec<(&'w Pod, Rc<[NodeId]>)>,
}

impl<'w> AdmittedNodes<'w> {
    pub(super) const fn new(nodes: Vec<NodeId>) -> Self {
        AdmittedNodes { nodes, known: Vec::new() }
    }

    fn of(&mut self, draft: &Draft<'w>, pod: &'w Pod) -> Rc<[NodeId]> {
        if let Some((_, nodes)) = self.known.iter().find(|(other, _)| same_nodes(pod, other)) {
            return Rc::clone(nodes);
        }
        let admitted = self.nodes.iter().copied().filter(|node| admits(draft, *node, pod));
        let admitted: Rc<[NodeId]> = admitted.collect();
        self.known.push((pod, Rc::clone(&admitted)));
        admitted
    }
}

impl ReplicaGroup {
    pub(super) fn new<'w>(
        draft: &Draft<'w>,
        admitted: &mut AdmittedNodes<'w>,
        by_node: &ByNode<'_>,
        details: &DuplicateRules,
    ) -> Self {
        let sets = || by_node.values().flat_map(BTreeMap::values);
        let initial: BTreeMap<NodeId, usize> =
            by_node.iter().map(|(n, equals)| (*n, equals.values().map(Vec::len).sum())).collect();
        let all = initial.values().sum();
        let has_duplicates = sets().any(|pods| pods.len() > 1);
        let spared = usize::from(details.as_descheduler);
        let deciding = sets().flat_map(|pods| pods.iter().skip(spared).copied());
        let targets = if has_duplicates { targets(draft, admitted, deciding) } else { Vec::new() };
        ReplicaGroup {
            all,
            has_duplicates,
            share: usize::div_ceil(all, targets.len().max(1)),
            targets,
            current: initial.clone(),
            initial,
            below: BTreeMap::new(),
        }
    }

    /// How many replicas a node may keep; `None` if there is nothing to spread, or nowhere to
    /// spread it.
    pub(super) fn share(&self) -> Option<usize> {
        (self.targets.len() > 1).then_some(self.share)
    }

    /// Why a replica on this node stays; `Ok` if the node has more than its share.
    pub(super) fn judge(&self, node: NodeId) -> Result<(), NotSelected> {
        let (here, share) = (count_on(&self.initial, node), self.share);
        match self.nearness(node) {
            (false, ..) => Err(NotSelected::NoDuplicate),
            (true, false, _) => Err(NotSelected::OneNode),
            (true, true, false) => Err(NotSelected::WithinShare { here, share }),
            (true, true, true) => Ok(()),
        }
    }

    /// Which conditions of being selected a replica on this node meets, in the order in which they
    /// are checked.
    pub(super) fn nearness(&self, node: NodeId) -> (bool, bool, bool) {
        (self.has_duplicates, self.targets.len() > 1, count_on(&self.initial, node) > self.share)
    }

    /// Why a replica leaves this node now.
    pub(super) fn reason(&self, node: NodeId) -> Reason {
        Reason::Duplicate { here: count_on(&self.current, node), of: self.all, share: self.share }
    }

    /// The nodes that have less than their share now.
    pub(super) fn below_share(&mut self) -> Rc<[NodeId]> {
        self.below(self.share)
    }

    /// The nodes where the replicas are spread more evenly with one from this node: those that even
    /// then have fewer than this one now. Each such move lowers the sum of the squares of the
    /// counts, so the moves end.
    pub(super) fn more_even(&mut self, from: NodeId) -> Rc<[NodeId]> {
        self.below(count_on(&self.current, from).saturating_sub(1))
    }

    /// The nodes that may take replicas and have fewer than so many now.
    fn below(&mut self, count: usize) -> Rc<[NodeId]> {
        let (targets, current) = (&self.targets, &self.current);
        let few = || targets.iter().copied().filter(|node| count_on(current, *node) < count);
        Rc::clone(self.below.entry(count).or_insert_with(|| few().collect()))
    }

    /// Counts a replica that moves from one node to another.
    pub(super) fn moved(&mut self, from: NodeId, to: Option<NodeId>) {
        self.below.clear();
        self.current.entry(from).and_modify(|n| *n -= 1);
        if let Some(to) = to {
            *self.current.entry(to).or_default() += 1;
        }
    }
}

fn count_on(counts: &BTreeMap<NodeId, usize>, node: NodeId) -> usize {
    counts.get(&node).copied().unwrap_or_default()
}

/// The nodes that at least one of the pods may go to.
fn targets<'w>(
    draft: &Draft<'w>,
    admitted: &mut AdmittedNodes<'w>,
    pods: impl Iterator<Item = PodId>,
) -> Vec<NodeId> {
    let mut seen: Vec<&Pod> = Vec::new();
    let mut targets = BTreeSet::new();
    for pod in pods.map(|p| draft.world.snapshot.pod(p)) {
        if seen.iter().any(|other| same_nodes(pod, other)) {
            continue;
        }
        seen.push(pod);
        let own = admitted.of(draft, pod);
        // A pod that can only run on one node does not show where the others may go.
        if own.len() > 1 {
            targets.extend(own.iter().copied());
        }
    }
    targets.into_iter().collect()
}

/// Whether two pods may run on the same nodes.
fn same_nodes(a: &Pod, b: &Pod) -> bool {
    a.tolerations == b.tolerations
        && a.node_selector == b.node_selector
        && a.required_nodes == b.required_nodes
}

/// Whether a pod may go to a node, by its taints and labels.
fn admits(draft: &Draft<'_>, node: NodeId, pod: &Pod) -> bool {
    let facts = draft.world.snapshot.node(node);
    scheduler::tolerates_all(pod, facts) && scheduler::admits(pod, facts)
}
