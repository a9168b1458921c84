//! Finds out where the scheduler's next search starts, from where it put pods.
//!
//! Each placement is compared with the placement that every possible start would have given (the
//! forward algorithm of a hidden Markov model). Starts that explain it become more likely, and all
//! of them move on by one search. After some placements usually one start is left.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::decide::placement::{Placement, Starts};
use crate::model::search_start::{NodeOrder, SearchStart, StartChances};
use crate::model::snapshot::{BindingChange, NodeId, PodId, RecentBinding, Snapshot};
use crate::policy::Policy;
use crate::values::Ratio;

use super::question::{Question, ours};
use super::walk::Walk;
use super::{choice, walk};

/// The probability that a placement has another cause: a cluster that looked different then, or
/// nodes that were visited in another order because the scheduler checks several at a time.
const UNEXPLAINED: f64 = 0.1;
/// The first trust in an order, and the limits of the trust, so that it can change again.
const TRUST: f64 = 0.5;
const TRUST_LIMITS: (f64, f64) = (0.02, 0.98);
/// The most placements between two looks that are followed. Each costs as much as a forecast, and
/// where more pods arrive, the start is lost again before the next eviction.
const MOST: usize = 64;
/// The probability that a search was missed or ended a few nodes later.
const LOST: Ratio = Ratio::ONE_PERCENT;

/// Returns the knowledge after the placements of the snapshot, from the knowledge before them.
pub fn evaluate(
    policy: &Policy,
    snapshot: &Snapshot,
    before: &SearchStart,
    now: Timestamp,
) -> SearchStart {
    let mut known = before.clone();
    let bindings = snapshot.bindings();
    let last = bindings.last().map_or(0, |binding| binding.number);
    let Some(evaluated) = known.evaluated() else {
        // Pods that existed before show nothing.
        known.evaluate(last, 0, now);
        return known;
    };
    let new = &bindings[bindings.partition_point(|binding| binding.number <= evaluated)..];
    let Some(first) = new.first() else {
        return known;
    };
    let began = |binding: &&RecentBinding| matches!(binding.change, BindingChange::Began(_));
    let placements = new.iter().filter(began).count();
    let missed = first.number > evaluated + 1;
    if missed || placements > MOST || walk::visits_all(snapshot.nodes.len()) {
        known.by_order.clear();
    } else if placements > 0 {
        follow(&mut known, new, Placement::new(policy, snapshot, before));
    }
    known.evaluate(last, placements, now);
    known
}

/// The knowledge about one order.
struct Track {
    order: NodeOrder,
    starts: Starts,
    trust: Ratio,
}

/// Compares the placements in order with the cluster as it was before each of them.
fn follow(known: &mut SearchStart, new: &[RecentBinding], mut placement: Placement<'_>) {
    let mut tracks = NodeOrder::ALL.map(|order| {
        let rotation = placement.index().rotation(order);
        let known = known.by_order.get(&order);
        Track {
            order,
            starts: Starts::known(known, placement.snapshot, rotation),
            trust: known.map_or_else(|| Ratio::new(TRUST).unwrap_or_default(), |k| k.trust),
        }
    });
    let places = undo(&mut placement, new);
    for binding in new {
        match &binding.change {
            BindingChange::Began(pod) => match pod.and_then(|pod| places.get_key_value(&pod)) {
                Some((pod, node)) => place(&mut placement, *pod, *node, &mut tracks),
                None => miss(&mut tracks),
            },
            BindingChange::Ended(Some(departure)) => placement.release(departure),
            BindingChange::Ended(None) => {}
        }
    }
    for track in tracks {
        let names = placement
            .index()
            .rotation(track.order)
            .iter()
            .map(|node| placement.snapshot.node(*node).name.clone());
        let chances = track.starts.chances().iter();
        let chances = chances.map(|chance| Ratio::new(*chance).unwrap_or_default());
        let known_now = StartChances { chances: names.zip(chances).collect(), trust: track.trust };
        known.by_order.insert(track.order, known_now);
    }
}

/// Makes the placement that before these changes. Returns the nodes of the pods that got one.
fn undo(placement: &mut Placement<'_>, new: &[RecentBinding]) -> BTreeMap<PodId, NodeId> {
    let mut places = BTreeMap::new();
    for binding in new {
        match &binding.change {
            BindingChange::Began(pod) => {
                let place = pod.and_then(|pod| Some((pod, placement.place(pod)?)));
                places.extend(place);
            }
            BindingChange::Ended(Some(departure)) => placement.hold(departure),
            BindingChange::Ended(None) => {}
        }
    }
    for pod in places.keys() {
        placement.unbind(*pod);
    }
    places
}

/// Learns from a pod that got a node.
fn place(placement: &mut Placement<'_>, pod: PodId, node: NodeId, tracks: &mut [Track]) {
    if searched(placement, pod) {
        step(placement, pod, node, tracks);
    }
    placement.bind(pod, node);
}

/// Notes a search of unknown length: the pod no longer exists.
fn miss(tracks: &mut [Track]) {
    for track in tracks {
        track.starts = track.starts.unless(Ratio::QUARTER);
    }
}

/// Whether the scheduler of the policy searched a node for the pod. Pods of a DaemonSet, and the
/// pods that a kubelet reports itself, have their node from the beginning.
fn searched(placement: &Placement<'_>, pod: PodId) -> bool {
    let facts = placement.snapshot.pod(pod);
    let of_node = |kind: &str| kind == "DaemonSet" || kind == "Node";
    ours(facts, placement.policy.scheduler_of(facts.scheduler.as_deref()))
        && !facts.owners.iter().any(|owner| of_node(&owner.kind))
}

/// Evaluates the placement of one pod on a node.
fn step(placement: &Placement<'_>, pod: PodId, node: NodeId, tracks: &mut [Track]) {
    let question = Question::after(placement, pod);
    let (scored, _) = choice::scored(&question);
    for track in tracks {
        let (anywhere, walk) = choice::anywhere(&question, &scored, track.order);
        let Some(walk) = walk else { return };
        let unknown = anywhere.iter().find(|possible| possible.node == node);
        let unknown = unknown.map_or(0.0, |possible| possible.chance.get());
        track.learn(&walk, node, unknown);
    }
}

impl Track {
    /// Learns from a pod that landed on `node`, which had the probability `unknown` if nothing was
    /// known.
    fn learn(&mut self, walk: &Walk, node: NodeId, unknown: f64) {
        let likelihoods = walk.likelihoods(node);
        let pairs = || self.starts.chances().iter().zip(&likelihoods);
        let explained: f64 = pairs().map(|(start, wins)| start * wins).sum();
        let (with, without) = (self.trust.get() * explained, (1.0 - self.trust.get()) * unknown);
        let floor = UNEXPLAINED * unknown.max(1e-6);
        let weighed = pairs().map(|(start, wins)| start * (wins * (1.0 - UNEXPLAINED) + floor));
        let weighed = Starts::weighted(weighed.collect());
        if with + without > 0.0 {
            let trust = (with / (with + without)).clamp(TRUST_LIMITS.0, TRUST_LIMITS.1);
            self.trust = Ratio::new(trust).unwrap_or(self.trust);
        }
        self.starts = walk.next(&weighed).unless(LOST);
    }
}
