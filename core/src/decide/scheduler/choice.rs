//! The possible nodes of a forecast: the scheduler picks one of the best that it scores.

use std::cmp::Reverse;

use crate::decide::placement::Starts;
use crate::model::plan::Misfit;
use crate::model::search_start::NodeOrder;
use crate::model::snapshot::NodeId;
use crate::values::Ratio;

use super::filters::Filters;
use super::question::Question;
use super::walk::Walk;
use super::{Forecast, PossibleNode, Scored, scores};

/// In larger clusters the scheduler scores only a part of the nodes, but at least this many
/// (`minFeasibleNodesToFind` in kube-scheduler).
const LEAST: usize = 100;
/// The smallest percentage of nodes to score if the policy sets none
/// (`minFeasibleNodesPercentageToFind` in kube-scheduler).
const LEAST_PERCENTAGE: usize = 5;
/// Nodes that together are less likely than this are omitted.
const UNLIKELY: f64 = 0.01;

/// Filters and scores all nodes, and computes their chances.
pub(super) fn forecast(question: &Question<'_, '_>) -> Forecast {
    let (scored, misfits) = scored(question);
    Forecast { misfits, ..decide(question, scored) }
}

/// Computes the chances of the feasible nodes. The result has no misfits.
pub(super) fn decide(question: &Question<'_, '_>, scored: Vec<Scored>) -> Forecast {
    let known = question.placement.search_start.likeliest();
    let order = known.map_or(NodeOrder::Name, |(order, _)| order);
    let (mut possible_nodes, walk) = anywhere(question, &scored, order);
    let starts = walk.as_ref().and_then(|_| question.starts());
    if let (Some(walk), Some(starts), Some((_, known))) = (&walk, &starts, known) {
        possible_nodes =
            join(&walk.possible_nodes(Some(starts)), &possible_nodes, known.trust.get());
    }
    if walk.is_some() {
        possible_nodes = likely(possible_nodes);
    }
    // The scheduler tries the node of a nomination first (`evaluateNominatedNode`).
    let is_feasible = |node: &NodeId| scored.iter().any(|s| s.node == *node);
    if let Some(node) = question.nomination().filter(is_feasible) {
        let chance = Ratio::ONE;
        possible_nodes = vec![PossibleNode { node, chance }];
    }
    Forecast {
        possible_nodes,
        scored,
        misfits: Vec::new(),
        starts: next_starts(question, walk.as_ref(), starts),
    }
}

/// Where the scheduler starts its next search after this one.
fn next_starts(
    question: &Question<'_, '_>,
    walk: Option<&Walk>,
    starts: Option<Starts>,
) -> Option<Starts> {
    match walk {
        Some(walk) => starts.map(|starts| walk.next(&starts)),
        // The scheduler visits all nodes and ends where it began.
        None => question.placement.starts().cloned(),
    }
}

/// The chances if nothing is known about where the scheduler starts its search. Without a walk, it
/// scores all feasible nodes.
///
/// The scheduler checks several nodes at a time and the rotation may differ from the one assumed
/// here, so half of the chances are those of nodes in random order.
pub(super) fn anywhere(
    question: &Question<'_, '_>,
    scored: &[Scored],
    order: NodeOrder,
) -> (Vec<PossibleNode>, Option<Walk>) {
    let quota = quota(question);
    let possible_nodes = possible_nodes(scored, quota);
    if quota >= scored.len() {
        return (possible_nodes, None);
    }
    let walk = Walk::new(scored, question.index().rotation(order), quota);
    (join(&possible_nodes, &walk.possible_nodes(None), 0.5), Some(walk))
}

/// The feasible nodes with their scores, the best first, and the other nodes with their reasons.
pub(super) fn scored(question: &Question<'_, '_>) -> (Vec<Scored>, Vec<(NodeId, Misfit)>) {
    let filters = Filters::new(question);
    let (mut feasible, mut misfits) = (Vec::new(), Vec::new());
    for node in question.snapshot.node_ids() {
        match filters.admit(node) {
            Ok(()) => feasible.push(node),
            Err(why) => misfits.push((node, why)),
        }
    }
    (best_first(&scores::of(question, &feasible)), misfits)
}

/// Sorts nodes by score. Those with the same score keep their order. Only small keys are moved
/// while they are sorted.
fn best_first(scored: &[Scored]) -> Vec<Scored> {
    let keys = scored.iter().enumerate();
    let mut keys: Vec<_> = keys.map(|(i, s)| (Reverse(s.total), i)).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, i)| scored[i].clone()).collect()
}

/// Averages two lists of chances. The first list has this weight, of one for both.
pub(super) fn join(
    first: &[PossibleNode],
    second: &[PossibleNode],
    weight: f64,
) -> Vec<PossibleNode> {
    let weighed = |possible_nodes: &[PossibleNode], weight: f64| {
        let weighed = possible_nodes.iter().map(|w| (w.node, w.chance.get() * weight));
        weighed.collect::<Vec<_>>()
    };
    let mut chances = weighed(first, weight);
    chances.append(&mut weighed(second, 1.0 - weight));
    chances.sort_by_key(|(node, _)| *node);
    let same_node = chances.chunk_by(|(a, _), (b, _)| a == b);
    let mut possible_nodes: Vec<PossibleNode> = same_node
        .map(|alike| PossibleNode {
            node: alike[0].0,
            chance: ratio(alike.iter().map(|(_, chance)| chance).sum()),
        })
        .collect();
    possible_nodes.sort_by(|a, b| b.chance.order(a.chance).then(a.node.cmp(&b.node)));
    possible_nodes
}

/// Omits the least likely nodes, which together are less likely than [`UNLIKELY`].
fn likely(mut possible_nodes: Vec<PossibleNode>) -> Vec<PossibleNode> {
    let (mut covered, mut kept) = (0.0, 0);
    while kept < possible_nodes.len() && covered < 1.0 - UNLIKELY {
        covered += possible_nodes[kept].chance.get();
        kept += 1;
    }
    possible_nodes.truncate(kept);
    for possible in &mut possible_nodes {
        possible.chance = ratio(possible.chance.get() / covered);
    }
    possible_nodes
}

/// The best nodes if the scheduler starts at this position, and the position where it starts next.
pub(super) fn choose(question: &Question<'_, '_>, start: usize) -> (Vec<NodeId>, usize) {
    let filters = Filters::new(question);
    if let Some(node) = question.nomination().filter(|n| filters.admit(*n).is_ok()) {
        return (vec![node], start);
    }
    let rotation = question.index().rotation(NodeOrder::Creation);
    let quota = quota(question);
    let (mut feasible, mut seen) = (Vec::new(), 0);
    while seen < rotation.len() && feasible.len() < quota {
        let node = rotation[(start + seen) % rotation.len()];
        seen += 1;
        if filters.admit(node).is_ok() {
            feasible.push(node);
        }
    }
    let next = if rotation.is_empty() { 0 } else { (start + seen) % rotation.len() };
    let scored = scores::of(question, &feasible);
    let best = scored.iter().map(|s| s.total).max();
    (scored.into_iter().filter(|s| Some(s.total) == best).map(|s| s.node).collect(), next)
}

/// Returns true if the scheduler visits all nodes of a cluster of this size, with any
/// configuration that scores nodes.
pub(super) const fn visits_all(nodes: usize) -> bool {
    nodes <= LEAST
}

/// The number of feasible nodes after which the scheduler stops searching
/// (`findNodesThatPassFilters` and `numFeasibleNodesToFind` in kube-scheduler).
fn quota(question: &Question<'_, '_>) -> usize {
    if question.profile.takes_first && scores::ours(question.pod, question.profile) {
        return 1;
    }
    let nodes = question.snapshot.nodes.len();
    let percentage = question.profile.percentage_of_nodes_to_score;
    enough(nodes, percentage.and_then(|p| usize::try_from(p).ok()).unwrap_or_default())
}

/// [`quota`] in a cluster of this size; a percentage of zero means that the size decides.
fn enough(nodes: usize, percentage: usize) -> usize {
    if nodes < LEAST {
        return nodes;
    }
    let adaptive = || 50_usize.saturating_sub(nodes / 125).max(LEAST_PERCENTAGE);
    (nodes * if percentage == 0 { adaptive() } else { percentage } / 100).max(LEAST)
}

/// The chances if the scheduler scores `quota` random nodes.
///
/// A node wins if no better one is scored. Nodes with the same score have the same chance. If two
/// of four nodes with different scores are scored, the best wins with 50 %, the second with 33 %,
/// and the third with 17 %.
fn possible_nodes(scored: &[Scored], quota: usize) -> Vec<PossibleNode> {
    let all = scored.len();
    let mut possible_nodes = Vec::new();
    let (mut passed, mut missed) = (0, 1.0);
    for alike in scored.chunk_by(|a, b| a.total == b.total) {
        let before = missed;
        for _ in alike {
            missed *= share(all.saturating_sub(quota + passed), all - passed);
            passed += 1;
        }
        let chance = ratio((before - missed) / count(alike.len()));
        possible_nodes.extend(alike.iter().map(|s| PossibleNode { node: s.node, chance }));
        if missed < UNLIKELY {
            break;
        }
    }
    let sum: f64 = possible_nodes.iter().map(|w| w.chance.get()).sum();
    for possible in &mut possible_nodes {
        possible.chance = ratio(possible.chance.get() / sum);
    }
    possible_nodes
}

fn share(part: usize, whole: usize) -> f64 {
    count(part) / count(whole)
}

/// Converts a number of nodes exactly.
fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

fn ratio(share: f64) -> Ratio {
    Ratio::new(share).unwrap_or(Ratio::ZERO)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::decide::scheduler::Parts;

    pub(crate) fn scored(totals: &[i64]) -> Vec<Scored> {
        let scored = |(i, total): (usize, &i64)| Scored {
            node: NodeId(i),
            total: *total,
            parts: Parts::default(),
        };
        totals.iter().enumerate().map(scored).collect()
    }

    #[test]
    fn only_large_clusters_are_scored_in_part() {
        let expected = [(99, 99), (100, 100), (500, 230), (1000, 420), (5000, 500), (15_000, 750)];
        for (nodes, quota) in expected {
            assert_eq!(enough(nodes, 0), quota, "{nodes} nodes");
        }
        assert_eq!([enough(1000, 30), enough(1000, 5), enough(50, 5)], [300, 100, 50]);
    }

    fn chances(totals: &[i64], quota: usize) -> Vec<f64> {
        possible_nodes(&scored(totals), quota)
            .iter()
            .map(|w| (w.chance.get() * 1000.0).round() / 1000.0)
            .collect()
    }

    #[test]
    fn the_best_nodes_have_equal_chances() {
        assert_eq!(chances(&[9, 9, 8], 3), [0.5, 0.5]);
        assert_eq!(chances(&[], 3), [0.0; 0]);
    }

    #[test]
    fn a_node_wins_if_no_better_one_is_scored() {
        // Two of four are scored: the best is one of them in 3 of 6 cases. The second best is
        // scored with a worse one in 2 cases.
        assert_eq!(chances(&[9, 8, 7, 6], 2), [0.5, 0.333, 0.167]);
        // One of the best two is scored in 5 of 6 cases.
        assert_eq!(chances(&[9, 9, 7, 6], 2), [0.417, 0.417, 0.167]);
    }
}
