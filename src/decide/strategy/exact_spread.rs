//! Topology spread as descheduler sums it up: for policies in the exact mode.
//!
//! All moves are chosen on paper before the first pod goes. One thing is not copied: of pods that may go alike,
//! descheduler takes those of the highest priority first, against its own documentation. Here it is the lowest.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use crate::decide::draft::Draft;
use crate::decide::scheduler;
use crate::model::plan::Reason;
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::TopologySpread;

use super::topology_spread::{Constraint, Place, bound, places, skewed};

/// The pods to move, each once, with the reason that came up first.
pub(super) fn choose(
    draft: &Draft<'_>,
    rule: &TopologySpread,
    constraints: VecDeque<Constraint>,
    nodes: &[NodeId],
) -> VecDeque<(PodId, Reason)> {
    let (mut chosen, mut seen) = (VecDeque::new(), BTreeSet::new());
    for constraint in constraints {
        let mut places = places(draft, &constraint, nodes, false);
        let skew = i64::from(constraint.spread(draft).max_skew);
        let sizes = || places.iter().map(|p| count(&p.pods));
        if sizes().max().unwrap_or(0) - sizes().min().unwrap_or(0) <= skew {
            continue;
        }
        for place in &mut places {
            place.pods.sort_by_key(|p| order(draft, *p));
        }
        places.sort_by_key(|p| p.pods.len());
        let moves = balance(draft, rule, &constraint, places);
        chosen.extend(moves.into_iter().filter(|(pod, _)| seen.insert(*pod)));
    }
    chosen
}

/// From the fullest places to the emptiest, never past the average nor closer than `maxSkew`.
fn balance(
    draft: &Draft<'_>,
    rule: &TopologySpread,
    constraint: &Constraint,
    mut places: Vec<Place>,
) -> Vec<(PodId, Reason)> {
    let spread = constraint.spread(draft);
    let most = i64::from(spread.max_skew);
    let all: i64 = places.iter().map(|p| count(&p.pods)).sum();
    let of = i64::try_from(places.len()).unwrap_or(i64::MAX);
    let below = |p: &&Place| count(&p.pods) * of < all;
    let goals: Vec<NodeId> = places
        .iter()
        .filter(below)
        .flat_map(|p| p.nodes.iter().copied())
        .collect();
    let mut moves = Vec::new();
    let (mut low, mut high) = (0, places.len() - 1);
    while low < high {
        if count(&places[high].pods) * of <= all {
            high -= 1;
        }
        let (small, large) = (count(&places[low].pods), count(&places[high].pods));
        let give = ceil(large * of - all, of)
            .min(ceil(all - small * of, of))
            .min(ceil(large - small - most, 2));
        if large - small <= most || give <= 0 {
            low += 1;
            continue;
        }
        let home = |pod: PodId| draft.world.snapshot.pod(pod).node;
        let fits = |pod: PodId| {
            goals
                .iter()
                .any(|n| home(pod) != Some(*n) && scheduler::fits_today(draft, pod, *n).is_ok())
        };
        places[high].pods.sort_by_cached_key(|p| fits(*p));
        let reason = skewed(spread, &places[high], &places[low]);
        let rest = places[high]
            .pods
            .len()
            .saturating_sub(usize::try_from(give).unwrap_or(usize::MAX));
        let leaving = places[high].pods.split_off(rest);
        // The least important one is the last.
        let going = leaving.iter().rev().filter(|p| !rule.node_fit || fits(**p));
        moves.extend(going.map(|p| (*p, reason.clone())));
        places[low].pods.extend(leaving);
        (places[low].size, places[high].size) = (places[low].pods.len(), places[high].pods.len());
    }
    moves
}

/// Pods that are bound to nodes, and then those of the higher priority, are the least to go. What is left is chance in
/// descheduler, save that the pods of one node stay together.
fn order(draft: &Draft<'_>, pod: PodId) -> impl Ord + use<> {
    let it = draft.world.snapshot.pod(pod);
    (
        !bound(it),
        Reverse(it.priority),
        Reverse(it.node),
        Reverse(pod),
    )
}

fn count(pods: &[PodId]) -> i64 {
    i64::try_from(pods.len()).unwrap_or(i64::MAX)
}

/// The quotient, rounded up; `by` is positive.
const fn ceil(number: i64, by: i64) -> i64 {
    -(-number).div_euclid(by)
}
