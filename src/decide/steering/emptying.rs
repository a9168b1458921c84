//! The nodes that are to be emptied: those that HighNodeUtilization finds underused, as far as what is on them has room
//! elsewhere.
//!
//! It asks for room alone, not for where the scheduler would put the pods: without the taint they might well come back,
//! and that is what the taint is for. A node on which something has to stay, or that cluster-autoscaler may not take away,
//! is passed over: half an emptied node saves nothing. An emptied node stays chosen as long as it is underused, so that it
//! stays empty until it is switched off.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::decide::draft::{Candidate, Draft, Landing};
use crate::decide::gate;
use crate::decide::scheduler;
use crate::decide::strategy::high_node_utilization;
use crate::model::plan::{Class, Reason, Refusal, SteerReason, Verdict};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, HighNodeUtilization};
use crate::values::{Ratio, ResourceId};

/// The nodes, those that have the taint first and then the emptiest.
pub(super) fn choose(
    now: &Draft<'_>,
    verdicts: &[Verdict],
    has: impl Fn(NodeId) -> bool,
) -> Vec<(NodeId, SteerReason)> {
    let strategies = now.world.policy.strategies.iter().enumerate();
    let rules =
        strategies.filter_map(|(position, s)| Some((position, HighNodeUtilization::of(&s.rule)?)));
    let mut ahead = now.trial();
    let mut chosen: Vec<(NodeId, SteerReason)> = Vec::new();
    for (position, rule) in rules {
        let named = |class: &Class| of_class(now, verdicts, class);
        let mut sources = named(&Class::Underused);
        if u32::try_from(sources.len()).is_ok_and(|n| n <= rule.number_of_nodes) {
            continue;
        }
        let taken =
            |chosen: &[(NodeId, SteerReason)], node: NodeId| chosen.iter().any(|(n, _)| *n == node);
        let mut takers = named(&Class::InUse);
        takers.retain(|node| !taken(&chosen, *node));
        sources.sort_by(|a, b| {
            has(*b)
                .cmp(&has(*a))
                .then(fullness(now, *a).order(fullness(now, *b)))
                .then(a.cmp(b))
        });
        let is_bare = |n: &NodeId| high_node_utilization::is_empty(now.world.snapshot, *n);
        let bare: BTreeSet<NodeId> = sources.iter().copied().filter(is_bare).collect();
        let mut filled: Vec<NodeId> = Vec::new();
        for (behind, source) in sources.iter().copied().enumerate() {
            if filled.contains(&source) || taken(&chosen, source) {
                continue;
            }
            // Nodes in use first, and then those that are underused, but less so. Those that have the taint come last, for
            // who is filled is not emptied: the taints would go round.
            let mut later: Vec<NodeId> = sources[behind + 1..]
                .iter()
                .copied()
                .filter(|n| !bare.contains(n))
                .collect();
            later.sort_by_key(|n| has(*n));
            let goals: Vec<NodeId> = takers.iter().chain(&later).copied().collect();
            if let Some((after, landed)) =
                empty(&ahead, position, rule, (source, has(source)), &goals)
            {
                let why = if landed.is_empty() {
                    SteerReason::Empty
                } else {
                    SteerReason::Emptying
                };
                chosen.push((source, why));
                filled.extend(landed);
                ahead = after;
            }
        }
    }
    chosen
}

fn of_class(now: &Draft<'_>, verdicts: &[Verdict], class: &Class) -> Vec<NodeId> {
    let these = verdicts
        .iter()
        .filter(|v| v.class == *class && v.strategy == HighNodeUtilization::NAME);
    these
        .filter_map(|v| now.world.snapshot.find_node(&v.node))
        .collect()
}

/// By requests, in the resource that the node has least left of.
fn fullness(now: &Draft<'_>, node: NodeId) -> Ratio {
    let ratio = |r| now.ratio(node, r, Basis::Requests).unwrap_or(Ratio::ONE);
    let (cpu, memory) = (ratio(ResourceId::CPU), ratio(ResourceId::MEMORY));
    if cpu > memory { cpu } else { memory }
}

/// The draft as it would be with the node empty, and where its pods would go; `None` where one has to stay.
fn empty<'w>(
    ahead: &Draft<'w>,
    position: usize,
    rule: &HighNodeUtilization,
    (source, has_taint): (NodeId, bool),
    goals: &[NodeId],
) -> Option<(Draft<'w>, Vec<NodeId>)> {
    let snapshot = ahead.world.snapshot;
    if high_node_utilization::unremovable(ahead, source).is_some() {
        return None;
    }
    let leaves = |pod: &PodId| !high_node_utilization::goes_with_its_node(snapshot.pod(*pod));
    let mut pods: Vec<PodId> = ahead.pods_on(source).filter(leaves).collect();
    if pods
        .iter()
        .any(|pod| !may_go(ahead, position, *pod, has_taint))
    {
        return None;
    }
    // The large ones first, for the small ones find a gap.
    pods.sort_by_key(|p| (Reverse(snapshot.pod(*p).requests[ResourceId::CPU]), *p));
    let (mut after, mut landed) = (ahead.trial(), Vec::new());
    for pod in pods {
        let goal = goals
            .iter()
            .copied()
            .find(|goal| takes(&after, (position, rule), pod, *goal))?;
        let candidate = Candidate {
            pod,
            strategy: position,
            reason: Reason::Counted,
            room: None,
        };
        after.accept(
            candidate,
            Landing {
                on: Some(goal),
                among: Vec::new(),
            },
        );
        landed.push(goal);
    }
    Some((after, landed))
}

/// Whether a node has room for a pod, without being filled above what the strategy, or another of the policy, allows by
/// what it uses.
fn takes(
    after: &Draft<'_>,
    (position, rule): (usize, &HighNodeUtilization),
    pod: PodId,
    goal: NodeId,
) -> bool {
    let below = |name: &str, ceiling: Ratio| {
        let Some(resource) = after.world.snapshot.resources.find(name) else {
            return true;
        };
        let more = after
            .weight(pod, resource, Basis::Actual)
            .unwrap_or_default();
        after
            .ratio_with(goal, resource, Basis::Actual, more)
            .is_none_or(|ratio| ratio <= ceiling)
    };
    let cool = rule
        .ceilings
        .iter()
        .all(|(name, ceiling)| below(name, *ceiling));
    cool && gate::stays_cool(pod, position, after, goal)
        && scheduler::fits(after, pod, goal).is_ok()
}

/// Whether a pod may go, now or later. While the replacements of those that have left a node are on their way, others may
/// have to wait for them: a node that has the taint keeps it meanwhile.
fn may_go(ahead: &Draft<'_>, position: usize, pod: PodId, has_taint: bool) -> bool {
    let awaits = |why: &Refusal| {
        matches!(
            why,
            Refusal::LastReady { .. } | Refusal::Budget { .. } | Refusal::StaleBudget(_)
        )
    };
    let answers = [
        gate::evictable(pod, position, ahead),
        gate::disruption(pod, position, ahead),
    ];
    answers
        .into_iter()
        .filter_map(Result::err)
        .all(|why| why.is_temporary() || (has_taint && awaits(&why)))
}
