//! The nodes to empty: nodes that HighNodeUtilization finds underused, if their pods have room
//! elsewhere.
//!
//! A node with the taint is closed to the pods of hot nodes as well. Where these find no better
//! place, one such node for each hot node loses the taint.
//!
//! Only room matters here, not where the scheduler would place the pods. Without the taint they
//! might return, which is what the taint prevents. An emptied node stays chosen as long as it is
//! underused, so that it stays empty until it is removed. In a cluster of thousands of nodes, a
//! cycle tries only some of those that still have pods.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::scheduler;
use crate::decide::strategy::high_node_utilization::nodes::{
    EmptyingNodes, awaits_replacements, classify, leaving_pods,
};
use crate::decide::strategy::high_node_utilization::rule::EmptyingRule;
use crate::model::plan::{Idle, Refusal, SteerReason, SteerValue};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::HighNodeUtilization;

use super::Landings;

/// The nodes that should have a taint: full nodes first, then empty nodes, then nodes to empty. A
/// scheduler that spreads would prefer an empty node without the taint to all others. Nodes with
/// the taint come before others of their kind, then the emptiest.
///
/// `released` gets the nodes that lose the taint, each with the hot node that needs them.
pub(super) fn choose(
    now: &Draft<'_>,
    landings: &Landings,
    has: impl Fn(NodeId, SteerValue) -> bool,
    released: &mut BTreeMap<NodeId, NodeId>,
) -> Vec<(NodeId, SteerValue, SteerReason)> {
    let mut chosen = Chosen { ahead: now.fork(), nodes: Vec::new(), work: 0 };
    let mut full = BTreeSet::new();
    for (position, strategy) in now.world.policy.strategies.iter().enumerate() {
        if let Some(rule) = HighNodeUtilization::of(&strategy.rule) {
            let before = chosen.nodes.len();
            let emptying = EmptyingRule::new(now, position, rule);
            let mut nodes = EmptyingNodes::new(now, &emptying, &classify(now, &emptying));
            if matches!(nodes.idle(rule), None | Some(Idle::NoDestination)) {
                let has_taint = |node: &NodeId| has(*node, SteerValue::Emptying);
                let tainted = nodes.order.iter().copied().filter(has_taint).collect();
                let needed = needed(now, &emptying, tainted, &landings.stuck);
                nodes.order.retain(|node| !needed.contains_key(node));
                released.extend(needed);
                chosen.add(now, &emptying, nodes);
            }
            let leaving = leaving(now, &emptying, &chosen.nodes[before..]);
            let stay = now.world.snapshot.node_ids();
            full.extend(stay.filter(|node| {
                let full = landings.too_hot.contains(node) || has(*node, SteerValue::Full);
                full && !chosen.contains(*node) && is_full(now, &emptying, *node, &leaving)
            }));
        }
    }
    let full = full.into_iter();
    let full = full.map(|node| (node, SteerValue::Full, SteerReason::Full));
    chosen.nodes.sort_by_key(|(_, why)| *why != SteerReason::Empty);
    // A node that takes no pods anyway needs no taint.
    let emptying = chosen.nodes.into_iter().filter(|(node, _)| now.closure(*node).is_none());
    let emptying = emptying.map(|(node, why)| (node, SteerValue::Emptying, why));
    full.chain(emptying).collect()
}

/// The pods that have to leave these nodes.
fn leaving(
    now: &Draft<'_>,
    rule: &EmptyingRule<'_>,
    nodes: &[(NodeId, SteerReason)],
) -> Vec<PodId> {
    let pods = nodes.iter().flat_map(|(node, _)| now.pods_on(*node));
    pods.filter(|pod| rule.has_to_leave(now.world.snapshot.pod(*pod))).collect()
}

/// Whether one of the pods fits on a node by requests but not by usage. A scheduler that packs
/// would place it there.
fn is_full(now: &Draft<'_>, rule: &EmptyingRule<'_>, node: NodeId, leaving: &[PodId]) -> bool {
    leaving
        .iter()
        .any(|pod| !rule.stays_cool(now, *pod, node) && scheduler::fits(now, *pod, node).is_ok())
}

/// The nodes chosen so far, and the draft in which they are empty.
struct Chosen<'w> {
    ahead: Draft<'w>,
    nodes: Vec<(NodeId, SteerReason)>,
    /// The work so far, in nodes. To try a source takes longer than a forecast.
    work: usize,
}

impl Chosen<'_> {
    /// Adds the nodes of one HighNodeUtilization.
    fn add(&mut self, now: &Draft<'_>, rule: &EmptyingRule<'_>, mut nodes: EmptyingNodes) {
        for source in std::mem::take(&mut nodes.order) {
            if !nodes.may_be_emptied(source) || self.contains(source) {
                continue;
            }
            if nodes.is_empty(source) {
                self.nodes.push((source, SteerReason::Empty));
                continue;
            }
            if self.work >= scheduler::MOST_WORK {
                continue;
            }
            self.work += now.world.snapshot.nodes.len();
            let mut destinations = nodes.destinations(&self.ahead, source);
            destinations.retain(|node| !self.contains(*node));
            if let Some((after, landings)) = empty(&self.ahead, rule, source, &destinations) {
                self.nodes.push((source, SteerReason::Emptying));
                self.ahead = after;
                nodes.emptied(source, landings);
            }
        }
    }

    fn contains(&self, node: NodeId) -> bool {
        self.nodes.iter().any(|(n, _)| *n == node)
    }
}

/// The nodes with the taint that hot nodes need: one for each whose pods find no better place,
/// where one of these pods has room, with that hot node. An empty one is better than one that still
/// has pods.
fn needed(
    now: &Draft<'_>,
    rule: &EmptyingRule<'_>,
    mut tainted: Vec<NodeId>,
    stuck: &BTreeMap<NodeId, Vec<PodId>>,
) -> BTreeMap<NodeId, NodeId> {
    tainted.sort_by_key(|node| !rule.is_empty(now, *node));
    let mut needed = BTreeMap::new();
    for (hot, pods) in stuck {
        let pods = rule.candidates(now, *hot, pods, &tainted);
        let has_room = |node: NodeId| {
            pods.iter().any(|pod| rule.find_room(pod, now, std::iter::once(node)).is_some())
        };
        let mut free = tainted.iter().filter(|node| !needed.contains_key(*node));
        let found = free.find(|node| has_room(**node));
        needed.extend(found.map(|node| (*node, *hot)));
    }
    needed
}

/// The draft with the pods of a node elsewhere, and where they go; `None` if one of them has to
/// stay or has no room.
fn empty<'w>(
    ahead: &Draft<'w>,
    rule: &EmptyingRule<'_>,
    source: NodeId,
    destinations: &[NodeId],
) -> Option<(Draft<'w>, Vec<NodeId>)> {
    let pods = leaving_pods(ahead, rule, source)?;
    let candidates = rule.candidates(ahead, source, &pods, destinations);
    if !candidates.iter().all(|candidate| budgets_let_go(ahead, candidate, source)) {
        return None;
    }
    let (mut after, mut landings) = (ahead.fork(), Vec::new());
    for candidate in candidates {
        landings.push(rule.place(&candidate, &mut after, destinations)?);
    }
    Some((after, landings))
}

/// Whether the budgets let a pod go now or later.
fn budgets_let_go(ahead: &Draft<'_>, candidate: &Candidate, source: NodeId) -> bool {
    let answer = gate::disruption(candidate.pod, candidate.strategy, ahead);
    answer.map_err(Refusal::from).err().is_none_or(|why| {
        why.waits_for_its_turn(ahead.world.policy.interval)
            || awaits_replacements(ahead, source, &why)
    })
}
