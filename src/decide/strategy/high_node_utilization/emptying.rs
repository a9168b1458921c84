//! How nodes are emptied: every pod of a node gets a destination, or none is evicted.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft, Landing};
use crate::decide::gate;
use crate::decide::strategy::importance::eviction_order;
use crate::decide::strategy::listing::not_moved;
use crate::model::plan::{NotSelected, Reason, Refusal};
use crate::model::snapshot::facts::Role;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{Basis, HighNodeUtilization, Thresholds};
use crate::values::{Amount, Ratio, ResourceId};

use super::nodes::EmptyingNodes;
use super::{goes_with_its_node, unremovable};

/// The rule, with the resources of this cluster.
#[derive(Debug)]
pub(super) struct EmptyingRule<'w> {
    position: usize,
    rule: &'w HighNodeUtilization,
    thresholds: Vec<(ResourceId, Ratio)>,
    /// No destination may be fuller than this by the rule's basis.
    ceiling: Rc<[(ResourceId, Ratio)]>,
    /// No destination may use more than this.
    cool: Rc<[(ResourceId, Ratio)]>,
}

/// Pods that stay, and why.
type Refusals = Vec<(Candidate, Refusal)>;

impl<'w> EmptyingRule<'w> {
    pub(super) fn new(draft: &Draft<'_>, position: usize, rule: &'w HighNodeUtilization) -> Self {
        let thresholds = known(draft, &rule.thresholds);
        EmptyingRule {
            position,
            rule,
            ceiling: thresholds.iter().map(|(r, _)| (*r, Ratio::ONE)).collect(),
            thresholds,
            cool: known(draft, &rule.ceilings).into(),
        }
    }

    pub(super) const fn basis(&self) -> Basis {
        self.rule.basis
    }

    pub(super) fn thresholds(&self) -> &[(ResourceId, Ratio)] {
        &self.thresholds
    }

    /// Whether a node is at or below every threshold.
    pub(super) fn is_under(&self, draft: &Draft<'_>, node: NodeId) -> bool {
        self.thresholds.iter().all(|(r, threshold)| {
            let ratio = draft.ratio(node, *r, self.basis());
            ratio.is_some_and(|ratio| ratio <= *threshold)
        })
    }

    pub(super) fn sort_emptiest_first(&self, draft: &Draft<'_>, nodes: &mut [NodeId]) {
        nodes.sort_by(|a, b| {
            let (fullness_a, fullness_b) = (self.fullness(draft, *a), self.fullness(draft, *b));
            fullness_a.order(fullness_b).then(b.cmp(a))
        });
    }

    /// The largest ratio of a node.
    fn fullness(&self, draft: &Draft<'_>, node: NodeId) -> Ratio {
        let resources = self.thresholds.iter();
        let ratios = resources.filter_map(|(r, _)| draft.ratio(node, *r, self.basis()));
        ratios.max_by(|a, b| a.order(*b)).unwrap_or_default()
    }

    /// Decides about a pod on a node that is to be emptied.
    pub(super) fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<(), NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        if goes_with_its_node(facts) {
            return Err(NotSelected::GoesWithNode);
        }
        if self.rule.only_thresholding_resources && !self.requests_any(facts) {
            return Err(NotSelected::RequestsNothing);
        }
        not_moved(draft, pod)?;
        match gate::evictable(pod, self.position, draft) {
            Err(why) if !why.is_temporary() => Err(NotSelected::MayNotGo(Box::new(why))),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Whether a pod requests one of the resources that have a threshold.
    fn requests_any(&self, pod: &Pod) -> bool {
        let containers = pod.containers.iter().filter(|c| c.role != Role::Ephemeral);
        let mut requested = containers.flat_map(|c| &c.requested);
        let thresholds = &self.rule.thresholds;
        requested.any(|name| thresholds.iter().any(|(threshold, _)| threshold == name))
    }

    /// A pod as a candidate for these destinations.
    pub(super) fn candidate(
        &self,
        pod: PodId,
        reason: &Reason,
        destinations: &[NodeId],
    ) -> Candidate {
        Candidate {
            pod,
            strategy: self.position,
            reason: reason.clone(),
            room: Some(DestinationLimits {
                nodes: destinations.into(),
                ceiling: Rc::clone(&self.ceiling),
                basis: self.basis(),
                cool: Rc::clone(&self.cool),
            }),
        }
    }

    /// Empties one source after the other on a copy of the draft, until no more can be emptied.
    pub(super) fn empty_all(
        &self,
        draft: &mut Draft<'_>,
        nodes: &mut EmptyingNodes,
    ) -> VecDeque<Candidate> {
        let mut queue = VecDeque::new();
        let mut ahead = draft.trial();
        let mut left: Vec<NodeId> = nodes.sources.clone();
        loop {
            let mut stuck = Vec::new();
            for source in &left {
                if nodes.filled.contains(source) {
                    continue;
                }
                let destinations = nodes.destinations(&ahead, *source);
                match self.empty(&ahead, *source, &destinations) {
                    Ok((after, moves)) => {
                        if !moves.is_empty() {
                            let landings = moves.iter().filter_map(|c| after.landing(c.pod));
                            nodes.emptied(*source, landings);
                        }
                        ahead = after;
                        queue.extend(moves);
                    }
                    Err(refusals) => stuck.push((*source, refusals)),
                }
            }
            if stuck.len() == left.len() || stuck.is_empty() {
                for (candidate, why) in stuck.into_iter().flat_map(|(_, refusals)| refusals) {
                    draft.refuse(&candidate, why);
                }
                return queue;
            }
            // An emptied node changes the destinations of the others, so they get another try.
            left = stuck.iter().map(|(source, _)| *source).collect();
        }
    }

    /// The draft with the node empty and the moves that empty it, or why each of its pods stays.
    fn empty<'d>(
        &self,
        ahead: &Draft<'d>,
        source: NodeId,
        destinations: &[NodeId],
    ) -> Result<(Draft<'d>, Vec<Candidate>), Refusals> {
        let snapshot = ahead.world.snapshot;
        let reason = self.reason(ahead, source);
        let candidate = |pod: PodId| self.candidate(pod, &reason, destinations);
        let (mut pods, held) = self.pods(ahead, source);
        // Large pods first, because small ones fit into the remaining gaps.
        pods.sort_by_cached_key(|p| (Reverse(self.size(ahead, source, *p)), *p));
        if let Some(why) = unremovable(ahead, source) {
            let why = Refusal::Unremovable(why);
            return Err(pods.iter().map(|p| (candidate(*p), why.clone())).collect());
        }
        if let Some((held, why)) = held.filter(|_| !pods.is_empty()) {
            let mut refusals = not_alone(&snapshot.pod(held).name, &pods, candidate);
            refusals.push((candidate(held), why));
            return Err(refusals);
        }
        let (mut after, mut moves) = (ahead.trial(), Vec::new());
        for &pod in &pods {
            let candidate_of_pod = candidate(pod);
            match land(&after, &candidate_of_pod) {
                Ok(landing) => {
                    after.accept(candidate_of_pod.clone(), landing);
                    moves.push(candidate_of_pod);
                }
                Err(why) => {
                    let mut refusals = not_alone(&snapshot.pod(pod).name, &pods, candidate);
                    let own = refusals.iter_mut().find(|(c, _)| c.pod == pod);
                    own.into_iter()
                        .for_each(|(_, refusal)| *refusal = why.clone());
                    return Err(refusals);
                }
            }
        }
        Ok(in_eviction_order(ahead, moves, after))
    }

    /// Why the pods of a node are evicted: the resource that is nearest to its threshold.
    fn reason(&self, draft: &Draft<'_>, node: NodeId) -> Reason {
        let ratio = |r: ResourceId| draft.ratio(node, r, self.basis()).unwrap_or_default();
        let left = |(r, threshold): &(ResourceId, Ratio)| threshold.minus(ratio(*r));
        let thresholds = self.thresholds.iter();
        let nearest = thresholds.min_by(|a, b| left(a).order(left(b))).copied();
        let (resource, threshold) = nearest.unwrap_or((ResourceId::CPU, Ratio::ZERO));
        Reason::UnderusedNode {
            resource: draft.world.snapshot.resources.name(resource).to_owned(),
            ratio: ratio(resource),
            threshold,
            basis: self.basis(),
        }
    }

    /// The pods that have to leave a node before it is empty, and the first that may not leave, with the reason.
    fn pods(&self, ahead: &Draft<'_>, source: NodeId) -> (Vec<PodId>, Option<(PodId, Refusal)>) {
        let (mut leaving, mut held) = (Vec::new(), None);
        for &pod in &ahead.world.snapshot.node(source).pods {
            match self.judge(ahead, pod) {
                Ok(()) => leaving.push(pod),
                Err(NotSelected::MayNotGo(why)) => held = held.or(Some((pod, *why))),
                Err(_) => {}
            }
        }
        (leaving, held)
    }

    /// The largest share of its node that a pod takes of any resource with a threshold, in millionths.
    fn size(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> u64 {
        let whole = &draft.world.snapshot.node(node).allocatable;
        let shares = self.thresholds.iter().filter_map(|(r, _)| {
            let weight = draft.weight(pod, *r, self.basis()).unwrap_or_default();
            weight.share_of(whole[*r])
        });
        let largest = shares.max_by(|a, b| a.order(*b)).unwrap_or_default();
        Amount::new(1_000_000).times(largest).get()
    }
}

/// The thresholds of resources that the cluster has.
fn known(draft: &Draft<'_>, thresholds: &Thresholds) -> Vec<(ResourceId, Ratio)> {
    let resources = &draft.world.snapshot.resources;
    thresholds
        .iter()
        .filter_map(|(name, ratio)| Some((resources.find(name)?, *ratio)))
        .collect()
}

/// Refuses every pod, because the named one stays and the node would not become empty.
fn not_alone(name: &str, pods: &[PodId], candidate: impl Fn(PodId) -> Candidate) -> Refusals {
    let why = Refusal::NotAlone(name.to_owned());
    pods.iter().map(|p| (candidate(*p), why.clone())).collect()
}

/// Where a candidate would land. A pod that only has to wait for a limit counts as moved.
fn land(draft: &Draft<'_>, candidate: &Candidate) -> Result<Landing, Refusal> {
    match gate::admit(candidate, draft) {
        Err(why) if why.is_temporary() => gate::landing(candidate, draft),
        verdict => verdict,
    }
}

/// The same moves with the least important pods first, if they all still land.
///
/// Where pods affect each other, for example by topology spread, not every order is possible.
fn in_eviction_order<'d>(
    ahead: &Draft<'d>,
    moves: Vec<Candidate>,
    after: Draft<'d>,
) -> (Draft<'d>, Vec<Candidate>) {
    let mut sorted = moves.clone();
    sorted.sort_by_key(|c| (eviction_order(ahead.world.snapshot.pod(c.pod)), c.pod));
    match replay(ahead, &sorted) {
        Some(after) => (after, sorted),
        None => (after, moves),
    }
}

/// The draft after these moves in this order; `None` if one of them has no destination then.
fn replay<'d>(ahead: &Draft<'d>, moves: &[Candidate]) -> Option<Draft<'d>> {
    let mut after = ahead.trial();
    for candidate in moves {
        let landing = gate::landing(candidate, &after).ok()?;
        after.accept(candidate.clone(), landing);
    }
    Some(after)
}
