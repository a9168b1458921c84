//! The nodes that are to be emptied: those that HighNodeUtilization finds underused, as far as what is on them has room
//! elsewhere.
//!
//! It asks for room alone, not for where the scheduler would put the pods: without the taint they might well come back,
//! and that is what the taint is for. A node on which something has to stay, or that cluster-autoscaler may not take away,
//! is passed over: half an emptied node saves nothing. An emptied node stays chosen as long as it is underused, so that it stays empty until it is switched off.

use std::cmp::Reverse;

use crate::draft::{Candidate, Draft, Landing};
use crate::gate;
use crate::plan::{Class, Reason, Refusal, SteerReason, Verdict};
use crate::policy::{Basis, HighNodeUtilization};
use crate::scheduler;
use crate::snapshot::{NodeId, PodId};
use crate::strategy::high_node_utilization;
use crate::units::{Ratio, ResourceId};

/// The nodes, those that have the taint first and then the emptiest.
pub(super) fn choose(
    now: &Draft<'_>,
    verdicts: &[Verdict],
    has: impl Fn(NodeId) -> bool,
) -> Vec<(NodeId, SteerReason)> {
    let strategies = now.world.policy.strategies.iter().enumerate();
    let rules = strategies.filter_map(|(position, s)| Some((position, HighNodeUtilization::of(&s.rule)?)));
    let mut ahead = now.trial();
    let mut chosen: Vec<(NodeId, SteerReason)> = Vec::new();
    for (position, rule) in rules {
        let named = |class: &Class| of_class(now, verdicts, class);
        let mut sources = named(&Class::Underused);
        if u32::try_from(sources.len()).is_ok_and(|n| n <= rule.number_of_nodes) {
            continue;
        }
        let taken = |chosen: &[(NodeId, SteerReason)], node: NodeId| chosen.iter().any(|(n, _)| *n == node);
        let mut takers = named(&Class::InUse);
        takers.retain(|node| !taken(&chosen, *node));
        sources.sort_by(|a, b| has(*b).cmp(&has(*a)).then(fullness(now, *a).order(fullness(now, *b))).then(a.cmp(b)));
        let mut filled: Vec<NodeId> = Vec::new();
        for (behind, source) in sources.iter().copied().enumerate() {
            if filled.contains(&source) || taken(&chosen, source) {
                continue;
            }
            // Nodes in use first, and then those that are underused, but less so.
            let goals: Vec<NodeId> = takers.iter().chain(&sources[behind + 1..]).copied().collect();
            if let Some((after, landed)) = empty(&ahead, position, source, &goals) {
                let why = if landed.is_empty() { SteerReason::Empty } else { SteerReason::Emptying };
                chosen.push((source, why));
                filled.extend(landed);
                ahead = after;
            }
        }
    }
    chosen
}

fn of_class(now: &Draft<'_>, verdicts: &[Verdict], class: &Class) -> Vec<NodeId> {
    let these = verdicts.iter().filter(|v| v.class == *class && v.strategy == HighNodeUtilization::NAME);
    these.filter_map(|v| now.world.snapshot.find_node(&v.node)).collect()
}

/// By requests, in the resource that the node has least left of.
fn fullness(now: &Draft<'_>, node: NodeId) -> Ratio {
    let ratio = |r| now.ratio(node, r, Basis::Requests).unwrap_or(Ratio::ONE);
    let (cpu, memory) = (ratio(ResourceId::CPU), ratio(ResourceId::MEMORY));
    if cpu > memory { cpu } else { memory }
}

/// The draft as it would be with the node empty, and where its pods would go; `None` where one has to stay.
fn empty<'w>(ahead: &Draft<'w>, position: usize, source: NodeId, goals: &[NodeId]) -> Option<(Draft<'w>, Vec<NodeId>)> {
    let snapshot = ahead.world.snapshot;
    if high_node_utilization::unremovable(ahead, source).is_some() {
        return None;
    }
    let mut pods: Vec<PodId> = Vec::new();
    for pod in ahead.pods_on(source) {
        match gate::evictable(pod, position, ahead) {
            Ok(()) => pods.push(pod),
            // What a node always has does not keep it from being empty.
            Err(Refusal::DaemonSet | Refusal::Mirror | Refusal::Static | Refusal::Terminating) => {}
            Err(why) if why.is_for_now() => pods.push(pod),
            Err(_) => return None,
        }
    }
    // The large ones first, for the small ones find a gap.
    pods.sort_by_key(|p| (Reverse(snapshot.pod(*p).requests[ResourceId::CPU]), *p));
    let (mut after, mut landed) = (ahead.trial(), Vec::new());
    for pod in pods {
        let goal = goals.iter().copied().find(|goal| scheduler::fits(&after, pod, *goal).is_ok())?;
        let candidate = Candidate { pod, strategy: position, reason: Reason::Counted, room: None };
        after.accept(candidate, Landing { on: Some(goal), among: Vec::new() });
        landed.push(goal);
    }
    Some((after, landed))
}
