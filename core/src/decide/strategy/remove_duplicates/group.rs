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
}

impl ReplicaGroup {
    pub(super) fn new(
        draft: &Draft<'_>,
        nodes: &[NodeId],
        by_node: &ByNode<'_>,
        details: &DuplicateRules,
    ) -> Self {
        let sets = || by_node.values().flat_map(BTreeMap::values);
        let initial: BTreeMap<NodeId, usize> =
            by_node.iter().map(|(n, equals)| (*n, equals.values().map(Vec::len).sum())).collect();
        let all = initial.values().sum();
        let has_duplicates = sets().any(|pods| pods.len() > 1);
        let spared = usize::from(details.by_duplicates);
        let deciding = sets().flat_map(|pods| pods.iter().skip(spared).copied());
        let may_take = |n: &NodeId| details.closed || draft.closure(*n).is_none();
        let targets = if has_duplicates {
            let nodes: Vec<NodeId> = nodes.iter().copied().filter(may_take).collect();
            targets(draft, &nodes, deciding)
        } else {
            Vec::new()
        };
        ReplicaGroup {
            all,
            has_duplicates,
            share: usize::div_ceil(all, targets.len().max(1)),
            targets,
            current: initial.clone(),
            initial,
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
    pub(super) fn below_share(&self) -> Rc<[NodeId]> {
        let targets = self.targets.iter().copied();
        targets.filter(|node| count_on(&self.current, *node) < self.share).collect()
    }

    /// The nodes where the replicas are spread more evenly with one from this node: those that even
    /// then have fewer than this one now. Each such move lowers the sum of the squares of the
    /// counts, so the moves end.
    pub(super) fn more_even(&self, from: NodeId) -> Rc<[NodeId]> {
        let here = count_on(&self.current, from);
        let targets = self.targets.iter().copied();
        targets.filter(|node| count_on(&self.current, *node) + 1 < here).collect()
    }

    /// Counts a replica that moves from one node to another.
    pub(super) fn moved(&mut self, from: NodeId, to: Option<NodeId>) {
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
fn targets(draft: &Draft<'_>, nodes: &[NodeId], pods: impl Iterator<Item = PodId>) -> Vec<NodeId> {
    let mut seen: Vec<&Pod> = Vec::new();
    let mut targets = BTreeSet::new();
    for pod in pods.map(|p| draft.world.snapshot.pod(p)) {
        if seen.iter().any(|other| same_nodes(pod, other)) {
            continue;
        }
        seen.push(pod);
        let admitted = nodes.iter().filter(|n| admits(draft, **n, pod));
        let own: Vec<NodeId> = admitted.copied().collect();
        // A pod that can only run on one node does not show where the others may go.
        if own.len() > 1 {
            targets.extend(own);
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
