//! Empties nodes: every pod of a node gets a destination, or none of them is evicted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::placement::Landing;
use crate::decide::scheduler;
use crate::decide::strategy::importance::eviction_order;
use crate::model::plan::{NotSelected, Reason, Refusal, Stop};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Ratio, ResourceId};

use super::nodes::{EmptyingNodes, is_steered};
use super::rule::EmptyingRule;
use super::search::Search;
use super::unremovable;

/// Pods that stay, and why.
type Refusals = Vec<(Candidate, Refusal)>;

/// A node that is emptied.
struct Emptied<'w> {
    /// The draft in which it is empty.
    after: Draft<'w>,
    /// The moves of this cycle.
    moves: Vec<Candidate>,
    /// The pods that have room elsewhere and wait until steering lets them land there. Only a node
    /// with the steering taint has such pods.
    waiting: Refusals,
    /// Where its pods go.
    landings: Vec<NodeId>,
}

impl EmptyingRule<'_> {
    /// Empties one source after the other on a copy of the draft, until no more can be emptied or
    /// the search has used up its work.
    pub(super) fn empty_all(
        &self,
        draft: &mut Draft<'_>,
        nodes: &mut EmptyingNodes,
        search: &mut Search,
    ) -> VecDeque<Candidate> {
        let (mut queue, mut ahead) = (VecDeque::new(), draft.fork());
        let mut stuck: BTreeMap<NodeId, Refusals> = BTreeMap::new();
        loop {
            let (mut tried, mut again) = (0, Vec::new());
            while let Some(source) = search.next() {
                tried += 1;
                stuck.remove(&source);
                if nodes.filled.contains(&source) {
                    continue;
                }
                match self.empty(&ahead, source, nodes, search) {
                    Ok(emptied) => {
                        if !emptied.landings.is_empty() {
                            nodes.emptied(source, emptied.landings);
                        }
                        ahead = emptied.after;
                        queue.extend(emptied.moves);
                        for (candidate, why) in emptied.waiting {
                            draft.refuse(&candidate, why);
                        }
                    }
                    Err(refusals) => {
                        again.push(source);
                        stuck.insert(source, refusals);
                    }
                }
            }
            if again.len() == tried || again.is_empty() || search.is_spent() {
                break;
            }
            // An emptied node changes the destinations of the others, so they get another try.
            search.begin_again(again);
        }
        stuck.retain(|source, _| !nodes.filled.contains(source));
        let left = search.left().filter(|source| !stuck.contains_key(source));
        nodes.not_reached = left.copied().collect();
        for (candidate, why) in stuck.into_values().flatten() {
            draft.refuse(&candidate, why);
        }
        queue
    }

    /// The node emptied, or why each of its pods stays.
    fn empty<'d>(
        &self,
        ahead: &Draft<'d>,
        source: NodeId,
        nodes: &EmptyingNodes,
        search: &mut Search,
    ) -> Result<Emptied<'d>, Refusals> {
        let snapshot = ahead.world.snapshot;
        let counted = |pod: PodId| self.counted(pod);
        let (pods, held) = self.pods(ahead, source);
        let refused = |first: PodId, why: Refusal| {
            let not_alone = Stop::NotAlone(snapshot.pod(first).name.clone());
            let others = pods.iter().filter(|pod| **pod != first);
            let others = others.map(|pod| (counted(*pod), not_alone.clone().into()));
            others.chain([(counted(first), why)]).collect()
        };
        let mut held = held.into_iter();
        if let Some((first, why)) = held.next() {
            let mut refusals: Refusals = refused(first, why);
            refusals.extend(held.map(|(pod, why)| (counted(pod), why)));
            return Err(refusals);
        }
        if let Some(why) = unremovable(ahead, source, &pods) {
            let why = Refusal::from(Stop::Unremovable(why));
            return Err(pods.iter().map(|p| (counted(*p), why.clone())).collect());
        }
        let destinations = nodes.destinations(ahead, source);
        let candidates = self.candidates(ahead, source, &pods, &destinations);
        let (after, moves, mut waiting) = land_all(ahead, candidates, search);
        let may_wait = |(_, why): &(Candidate, Refusal)| {
            is_steered(ahead, source) && why.lies_in_the_landing()
        };
        if let Some(stays) = waiting.iter().position(|one| !may_wait(one)) {
            let (candidate, why) = waiting.swap_remove(stays);
            return Err(refused(candidate.pod, why));
        }
        let (mut after, moves) = in_eviction_order(ahead, moves, after, search);
        for (candidate, why) in &waiting {
            if self.place(candidate, &mut after, &destinations).is_none() {
                return Err(refused(candidate.pod, why.clone()));
            }
        }
        Ok(Emptied {
            landings: pods.iter().filter_map(|p| after.landing(*p)).collect(),
            after,
            moves,
            waiting,
        })
    }

    /// Why the pods of a node are evicted: the resource that is nearest to its threshold.
    fn reason(&self, draft: &Draft<'_>, node: NodeId) -> Reason {
        let ratio = |r: ResourceId| draft.ratio(node, r, self.basis()).unwrap_or_default();
        let left = |(r, threshold): &(ResourceId, Ratio)| threshold.minus(ratio(*r));
        let thresholds = draft.judged_by(node, self.thresholds());
        let nearest = thresholds.min_by(|a, b| left(a).order(left(b))).copied();
        let (resource, threshold) = nearest.unwrap_or((ResourceId::CPU, Ratio::ZERO));
        Reason::UnderusedNode {
            resource: draft.world.snapshot.resources.name(resource).to_owned(),
            ratio: ratio(resource),
            threshold,
            basis: self.basis(),
        }
    }

    /// These pods of a node as candidates for these destinations.
    pub fn candidates(
        &self,
        ahead: &Draft<'_>,
        source: NodeId,
        pods: &[PodId],
        destinations: &[NodeId],
    ) -> Vec<Candidate> {
        let (limits, reason) = (self.limits(destinations), self.reason(ahead, source));
        pods.iter().map(|pod| self.candidate(*pod, &reason, &limits)).collect()
    }

    /// The pods that have to leave a node before it is empty, and those that may not leave, with
    /// the reasons.
    ///
    /// Large pods come first, because small ones fit into the remaining gaps, and replacements that
    /// are created in turn last.
    pub fn pods(&self, ahead: &Draft<'_>, source: NodeId) -> (Vec<PodId>, Vec<(PodId, Refusal)>) {
        let snapshot = ahead.world.snapshot;
        let (mut leaving, mut held) = (Vec::new(), Vec::new());
        for &pod in &snapshot.node(source).pods {
            match self.judge(ahead, pod) {
                Ok(()) => leaving.push(pod),
                Err(NotSelected::MayNotGo(why)) => held.push((pod, *why)),
                Err(_) => {}
            }
        }
        leaving.sort_by_cached_key(|p| {
            let last = scheduler::in_turn(snapshot, snapshot.pod(*p));
            (last, Reverse(self.size(ahead, source, *p)), *p)
        });
        (leaving, held)
    }

    /// The largest share of its node that a pod takes of any resource with a threshold, in
    /// millionths.
    fn size(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> u64 {
        let shares = self.thresholds().iter().filter_map(|(r, _)| {
            let weight = draft.weight(pod, *r, self.basis()).unwrap_or_default();
            draft.share(node, *r, weight)
        });
        shares.fold(Ratio::ZERO, Ratio::at_least).parts(1_000_000)
    }
}

/// The draft in which these pods have moved as far as they can, these moves, and why the others
/// stay. Each landing changes where the next pod lands, so those that stay are tried again.
fn land_all<'d>(
    ahead: &Draft<'d>,
    mut left: Vec<Candidate>,
    search: &mut Search,
) -> (Draft<'d>, Vec<Candidate>, Refusals) {
    let (mut after, mut moves) = (ahead.fork(), Vec::new());
    loop {
        let (tried, mut stay) = (left.len(), Vec::new());
        for candidate in left {
            search.spend(after.forecast_work());
            match land(&after, &candidate) {
                Ok(landing) => {
                    after.accept(candidate.clone(), landing);
                    moves.push(candidate);
                }
                Err(why) => stay.push((candidate, why)),
            }
        }
        if stay.is_empty() || stay.len() == tried {
            return (after, moves, stay);
        }
        left = stay.into_iter().map(|(candidate, _)| candidate).collect();
    }
}

/// Where a candidate would land. A pod that only has to wait counts as moved.
fn land(draft: &Draft<'_>, candidate: &Candidate) -> Result<Landing, Refusal> {
    match gate::admit(candidate, draft) {
        Err(why) if why.waits_for_its_turn(draft.world.policy.interval) => {
            gate::landing(candidate, draft)
        }
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
    search: &mut Search,
) -> (Draft<'d>, Vec<Candidate>) {
    let mut sorted = moves.clone();
    sorted.sort_by_key(|c| (eviction_order(ahead.world.snapshot.pod(c.pod)), c.pod));
    if sorted.iter().zip(&moves).all(|(a, b)| a.pod == b.pod) {
        return (after, moves);
    }
    match replay(ahead, &sorted, search) {
        Some(after) => (after, sorted),
        None => (after, moves),
    }
}

/// The draft after these moves in this order; `None` if one of them has no destination then.
fn replay<'d>(ahead: &Draft<'d>, moves: &[Candidate], search: &mut Search) -> Option<Draft<'d>> {
    let mut after = ahead.fork();
    for candidate in moves {
        search.spend(after.forecast_work());
        let landing = gate::landing(candidate, &after).ok()?;
        after.accept(candidate.clone(), landing);
    }
    Some(after)
}
