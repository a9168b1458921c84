//! The nodes to empty: nodes that HighNodeUtilization finds underused, if their pods have room
//! elsewhere.
//!
//! Only room matters here, not where the scheduler would place the pods. Without the taint they
//! might return, which is what the taint prevents. A node is skipped if a pod on it has to stay, or
//! if cluster-autoscaler may not remove it, because half an emptied node saves nothing. An emptied
//! node stays chosen as long as it is underused, so that it stays empty until it is removed.

use std::cmp::Reverse;

use crate::decide::draft::{Candidate, Draft, Landing};
use crate::decide::gate;
use crate::decide::scheduler;
use crate::decide::strategy::high_node_utilization;
use crate::model::plan::{Class, Refusal, SteerReason, Verdict};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, HighNodeUtilization};
use crate::values::{Ratio, ResourceId};

/// The nodes to empty: those with the taint first, then the emptiest.
pub(super) fn choose(
    now: &Draft<'_>,
    verdicts: &[Verdict],
    has_taint: impl Fn(NodeId) -> bool,
) -> Vec<(NodeId, SteerReason)> {
    let mut chosen = Chosen {
        ahead: now.trial(),
        nodes: Vec::new(),
    };
    for (position, strategy) in now.world.policy.strategies.iter().enumerate() {
        if let Some(rule) = HighNodeUtilization::of(&strategy.rule) {
            chosen.add(now, verdicts, &has_taint, position, rule);
        }
    }
    chosen.nodes
}

/// The nodes chosen so far, and the draft in which they are empty.
struct Chosen<'w> {
    ahead: Draft<'w>,
    nodes: Vec<(NodeId, SteerReason)>,
}

impl Chosen<'_> {
    /// Adds the nodes of one HighNodeUtilization.
    fn add(
        &mut self,
        now: &Draft<'_>,
        verdicts: &[Verdict],
        has_taint: &impl Fn(NodeId) -> bool,
        position: usize,
        rule: &HighNodeUtilization,
    ) {
        let sources = sources(now, verdicts, has_taint);
        if u32::try_from(sources.len()).is_ok_and(|n| n <= rule.number_of_nodes) {
            return;
        }
        let mut takers = of_class(now, verdicts, &Class::InUse);
        takers.retain(|node| !self.contains(*node));
        let mut filled: Vec<NodeId> = Vec::new();
        for (behind, source) in sources.iter().copied().enumerate() {
            if filled.contains(&source) || self.contains(source) {
                continue;
            }
            // Nodes in use come first, then fuller underused nodes. Nodes with the taint come last:
            // a node that receives pods is not emptied, so the taints would wander.
            let mut fuller = sources[behind + 1..].to_vec();
            fuller.retain(|n| !high_node_utilization::is_empty(now.world.snapshot, *n));
            fuller.sort_by_key(|n| has_taint(*n));
            let destinations: Vec<NodeId> = takers.iter().chain(&fuller).copied().collect();
            let emptied = empty(
                &self.ahead,
                position,
                rule,
                source,
                has_taint(source),
                &destinations,
            );
            if let Some((after, landings)) = emptied {
                let why = if landings.is_empty() {
                    SteerReason::Empty
                } else {
                    SteerReason::Emptying
                };
                self.nodes.push((source, why));
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

/// The nodes of a class by the verdicts of HighNodeUtilization.
fn of_class(now: &Draft<'_>, verdicts: &[Verdict], class: &Class) -> Vec<NodeId> {
    let these = verdicts
        .iter()
        .filter(|v| v.class == *class && v.strategy == HighNodeUtilization::NAME);
    these
        .filter_map(|v| now.world.snapshot.find_node(&v.node))
        .collect()
}

/// The larger ratio of cpu and memory requests.
fn fullness(now: &Draft<'_>, node: NodeId) -> Ratio {
    let [cpu, memory] = [ResourceId::CPU, ResourceId::MEMORY].map(|resource| {
        now.ratio(node, resource, Basis::Requests)
            .unwrap_or(Ratio::ONE)
    });
    if cpu > memory { cpu } else { memory }
}

/// The draft with the node empty, and the nodes that its pods go to; `None` if a pod has to stay.
fn empty<'w>(
    ahead: &Draft<'w>,
    position: usize,
    rule: &HighNodeUtilization,
    source: NodeId,
    has_taint: bool,
    destinations: &[NodeId],
) -> Option<(Draft<'w>, Vec<NodeId>)> {
    let snapshot = ahead.world.snapshot;
    if high_node_utilization::unremovable(ahead, source).is_some() {
        return None;
    }
    let leaving = ahead.pods_on(source);
    let leaving =
        leaving.filter(|pod| !high_node_utilization::goes_with_its_node(snapshot.pod(*pod)));
    let mut pods: Vec<PodId> = leaving.collect();
    if pods
        .iter()
        .any(|pod| !may_go(ahead, position, *pod, has_taint))
    {
        return None;
    }
    // Large pods first, because small ones fit into the remaining gaps.
    pods.sort_by_key(|p| (Reverse(snapshot.pod(*p).requests[ResourceId::CPU]), *p));
    let (mut after, mut landings) = (ahead.trial(), Vec::new());
    for pod in pods {
        let mut nodes = destinations.iter().copied();
        let node = nodes.find(|node| takes(&after, position, rule, pod, *node))?;
        let landing = Landing {
            on: Some(node),
            ..Landing::default()
        };
        after.accept(Candidate::counted(pod, position), landing);
        landings.push(node);
    }
    Some((after, landings))
}

/// Whether a node has room for a pod, and its usage stays below the limits of this strategy and of
/// the others.
fn takes(
    after: &Draft<'_>,
    position: usize,
    rule: &HighNodeUtilization,
    pod: PodId,
    node: NodeId,
) -> bool {
    rule.ceilings
        .iter()
        .all(|(name, target)| stays_below(after, pod, node, name, *target))
        && gate::stays_cool(pod, position, after, node)
        && scheduler::fits(after, pod, node).is_ok()
}

/// Whether the node's usage with the pod is at most a target. Unknown usage counts as below.
fn stays_below(after: &Draft<'_>, pod: PodId, node: NodeId, name: &str, target: Ratio) -> bool {
    let Some(resource) = after.world.snapshot.resources.find(name) else {
        return true;
    };
    let more = after.weight(pod, resource, Basis::Actual);
    let ratio = after.ratio_with(node, resource, Basis::Actual, more.unwrap_or_default());
    ratio.is_none_or(|ratio| ratio <= target)
}

/// Whether a pod may be evicted now or later.
///
/// Whether the refusal ends when earlier replacements are Ready.
const fn awaits_replacements(why: &Refusal) -> bool {
    matches!(
        why,
        Refusal::LastReady { .. } | Refusal::Budget { .. } | Refusal::StaleBudget(_)
    )
}

/// Other pods may have to wait until the replacements of earlier evictions are Ready. A node keeps
/// its taint meanwhile.
fn may_go(ahead: &Draft<'_>, position: usize, pod: PodId, has_taint: bool) -> bool {
    let answers = [
        gate::evictable(pod, position, ahead),
        gate::disruption(pod, position, ahead),
    ];
    answers
        .into_iter()
        .filter_map(Result::err)
        .all(|why| why.is_temporary() || (has_taint && awaits_replacements(&why)))
}
