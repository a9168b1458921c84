//! The nodes to empty: nodes that HighNodeUtilization finds underused, if their pods have room
//! elsewhere.
//!
//! A node with the taint is closed to the pods of hot nodes as well. Where these find no better
//! place, one such node for each hot node loses the taint.
//!
//! Only room matters here, not where the scheduler would place the pods. Without the taint they
//! might return, which is what the taint prevents. A node is skipped if a pod on it has to stay, or
//! if cluster-autoscaler may not remove it, because half an emptied node saves nothing. An emptied
//! node stays chosen as long as it is underused, so that it stays empty until it is removed. In a
//! cluster of thousands of nodes, a cycle tries only some of those that still have pods.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::decide::gate;
use crate::decide::scheduler;
use crate::decide::strategy::high_node_utilization::room::Room;
use crate::decide::strategy::high_node_utilization::{has_to_leave, is_empty, unremovable};
use crate::model::plan::{
    Class, Disruption, Refusal, Replacement, SteerReason, SteerValue, Verdict,
};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, HighNodeUtilization};
use crate::values::{Ratio, ResourceId};

use super::Landings;

/// The nodes that should have a taint: full nodes first, then nodes to empty, then empty ones.
/// Nodes with the taint come before others of their kind, then the emptiest. `released` gets the
/// nodes that lose it, each with the hot node that needs them.
pub(super) fn choose(
    now: &Draft<'_>,
    verdicts: &[Verdict],
    landings: &Landings,
    has: impl Fn(NodeId, SteerValue) -> bool,
    released: &mut BTreeMap<NodeId, NodeId>,
) -> Vec<(NodeId, SteerValue, SteerReason)> {
    let mut chosen = Chosen { ahead: now.fork(), nodes: Vec::new(), work: 0 };
    let mut full = BTreeSet::new();
    let has_taint = &|node| has(node, SteerValue::Emptying);
    for (position, strategy) in now.world.policy.strategies.iter().enumerate() {
        if let Some(rule) = HighNodeUtilization::of(&strategy.rule) {
            let before = chosen.nodes.len();
            let room = Room::new(now, position, rule);
            let mut sources = sources(now, verdicts, has_taint);
            if u32::try_from(sources.len()).map_or(true, |nodes| nodes > rule.number_of_nodes) {
                let needed = needed(now, &room, &sources, &landings.stuck, has_taint);
                sources.retain(|node| !needed.contains_key(node));
                released.extend(needed);
                chosen.add(now, verdicts, &sources, has_taint, &room);
            }
            let leaving = leaving(now, &room, &chosen.nodes[before..]);
            let stay = now.world.snapshot.node_ids();
            full.extend(stay.filter(|node| {
                let full = landings.too_hot.contains(node) || has(*node, SteerValue::Full);
                full && !chosen.contains(*node) && is_full(now, &room, *node, &leaving)
            }));
        }
    }
    let full = full.into_iter();
    let full = full.map(|node| (node, SteerValue::Full, SteerReason::Full));
    chosen.nodes.sort_by_key(|(_, why)| *why == SteerReason::Empty);
    let emptying = chosen.nodes.into_iter();
    let emptying = emptying.map(|(node, why)| (node, SteerValue::Emptying, why));
    full.chain(emptying).collect()
}

/// The pods that have to leave these nodes.
fn leaving(now: &Draft<'_>, room: &Room<'_>, nodes: &[(NodeId, SteerReason)]) -> Vec<PodId> {
    let pods = nodes.iter().flat_map(|(node, _)| now.pods_on(*node));
    pods.filter(|pod| has_to_leave(room.rule, now.world.snapshot.pod(*pod))).collect()
}

/// Whether one of the pods fits on a node by requests but not by usage. A scheduler that packs
/// would place it there.
fn is_full(now: &Draft<'_>, room: &Room<'_>, node: NodeId, leaving: &[PodId]) -> bool {
    leaving
        .iter()
        .any(|pod| !room.stays_cool(now, *pod, node) && scheduler::fits(now, *pod, node).is_ok())
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
    fn add(
        &mut self,
        now: &Draft<'_>,
        verdicts: &[Verdict],
        sources: &[NodeId],
        has_taint: impl Fn(NodeId) -> bool,
        room: &Room<'_>,
    ) {
        let mut takers = of_class(now, verdicts, &Class::InUse);
        takers.retain(|node| !self.contains(*node));
        let mut filled: Vec<NodeId> = Vec::new();
        for (behind, source) in sources.iter().copied().enumerate() {
            if filled.contains(&source) || self.contains(source) {
                continue;
            }
            let leaving = leaving_pods(&self.ahead, room, source, has_taint(source));
            let Some(leaving) = leaving else {
                continue;
            };
            if leaving.is_empty() {
                self.nodes.push((source, SteerReason::Empty));
                continue;
            }
            if self.work >= scheduler::MOST_WORK {
                continue;
            }
            self.work += now.world.snapshot.nodes.len();
            // Nodes in use come first, then underused nodes, the fullest first. Nodes with the
            // taint come last: a node that receives pods is not emptied, so the taints would
            // wander.
            let mut fuller: Vec<NodeId> = sources[behind + 1..].iter().rev().copied().collect();
            fuller.retain(|n| !is_empty(now.world.snapshot, *n));
            fuller.sort_by_key(|n| has_taint(*n));
            let destinations: Vec<NodeId> = takers.iter().chain(&fuller).copied().collect();
            if let Some((after, landings)) = empty(&self.ahead, room, leaving, &destinations) {
                self.nodes.push((source, SteerReason::Emptying));
                self.ahead = after;
                filled.extend(landings);
            }
        }
    }

    fn contains(&self, node: NodeId) -> bool {
        self.nodes.iter().any(|(n, _)| *n == node)
    }
}

/// The underused nodes: those with the taint first, then the emptiest.
fn sources(
    now: &Draft<'_>,
    verdicts: &[Verdict],
    has_taint: impl Fn(NodeId) -> bool,
) -> Vec<NodeId> {
    let mut sources = of_class(now, verdicts, &Class::Underused);
    sources.sort_by(|a, b| {
        has_taint(*b)
            .cmp(&has_taint(*a))
            .then(fullness(now, *a).order(fullness(now, *b)))
            .then(a.cmp(b))
    });
    sources
}

/// The nodes with the taint that hot nodes need: one for each whose pods find no better place,
/// where one of these pods has room, with that hot node. An empty one is better than one that still
/// has pods.
fn needed(
    now: &Draft<'_>,
    room: &Room<'_>,
    sources: &[NodeId],
    stuck: &BTreeMap<NodeId, Vec<PodId>>,
    has_taint: impl Fn(NodeId) -> bool,
) -> BTreeMap<NodeId, NodeId> {
    let tainted = sources.iter().copied().filter(|node| has_taint(*node));
    let mut tainted: Vec<NodeId> = tainted.collect();
    tainted.sort_by_key(|node| !is_empty(now.world.snapshot, *node));
    let mut needed = BTreeMap::new();
    for (hot, pods) in stuck {
        let fits = |pod: &PodId, node: NodeId| {
            room.stays_cool(now, *pod, node) && scheduler::fits(now, *pod, node).is_ok()
        };
        let mut free = tainted.iter().filter(|node| !needed.contains_key(*node));
        let found = free.find(|node| pods.iter().any(|pod| fits(pod, **node)));
        needed.extend(found.map(|node| (*node, *hot)));
    }
    needed
}

/// The nodes of a class by the verdicts of HighNodeUtilization.
fn of_class(now: &Draft<'_>, verdicts: &[Verdict], class: &Class) -> Vec<NodeId> {
    let these =
        verdicts.iter().filter(|v| v.class == *class && v.strategy == HighNodeUtilization::NAME);
    these.filter_map(|v| now.world.snapshot.find_node(&v.node)).collect()
}

/// The larger ratio of cpu and memory requests.
fn fullness(now: &Draft<'_>, node: NodeId) -> Ratio {
    let [cpu, memory] = [ResourceId::CPU, ResourceId::MEMORY]
        .map(|resource| now.ratio(node, resource, Basis::Requests).unwrap_or(Ratio::ONE));
    cpu.at_least(memory)
}

/// The pods that have to leave a node; `None` if one of them has to stay, or an autoscaler may not
/// remove the node.
fn leaving_pods(
    ahead: &Draft<'_>,
    room: &Room<'_>,
    source: NodeId,
    has_taint: bool,
) -> Option<Vec<PodId>> {
    let snapshot = ahead.world.snapshot;
    let pods = ahead.pods_on(source);
    let mut pods: Vec<PodId> =
        pods.filter(|pod| has_to_leave(room.rule, snapshot.pod(*pod))).collect();
    if unremovable(ahead, source, &pods).is_some() {
        return None;
    }
    // Large pods first, because small ones fit into the remaining gaps.
    pods.sort_by_key(|p| (Reverse(snapshot.pod(*p).requests[ResourceId::CPU]), *p));
    let may_go = |pod: &PodId| may_go(ahead, room.position, *pod, has_taint);
    pods.iter().all(may_go).then_some(pods)
}

/// The draft with these pods elsewhere, and where they go; `None` if one of them has no room.
fn empty<'w>(
    ahead: &Draft<'w>,
    room: &Room<'_>,
    pods: Vec<PodId>,
    destinations: &[NodeId],
) -> Option<(Draft<'w>, Vec<NodeId>)> {
    let (mut after, mut landings) = (ahead.fork(), Vec::new());
    for pod in pods {
        landings.push(room.place(&mut after, pod, destinations.iter().copied())?);
    }
    Some((after, landings))
}

/// Whether the refusal ends when earlier replacements are Ready.
const fn awaits_replacements(why: &Refusal) -> bool {
    matches!(
        why,
        Refusal::Disruption(
            Disruption::LastReady { .. } | Disruption::Budget { .. } | Disruption::StaleBudget(_)
        ) | Refusal::Replacement(Replacement::WaitsInOrder { .. })
    )
}

/// Whether a pod may be evicted now or later. Other pods may have to wait until the replacements of
/// earlier evictions are Ready. A node keeps its taint meanwhile.
fn may_go(ahead: &Draft<'_>, position: usize, pod: PodId, has_taint: bool) -> bool {
    let answers = [
        gate::evictable(pod, position, ahead),
        gate::disruption(pod, position, ahead).map_err(Refusal::from),
    ];
    answers.into_iter().filter_map(Result::err).all(|why| {
        why.waits_for_its_turn(ahead.world.policy.interval)
            || (has_taint && awaits_replacements(&why))
    })
}
