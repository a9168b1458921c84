//! Who wins: of the nodes that the scheduler looks at, one of those that score best.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::snapshot::NodeId;
use crate::values::Ratio;

use super::filters::Filters;
use super::question::Question;
use super::{Forecast, Scored, Winner, scores};

/// From so many nodes on the scheduler looks at a part of them, and at no fewer than these
/// (`minFeasibleNodesToFind`).
const LEAST: usize = 100;
/// The least percentage where the size of the cluster decides (`minFeasibleNodesPercentageToFind`).
const LEAST_PERCENTAGE: usize = 5;
/// What is less likely than this together is left out.
const UNLIKELY: f64 = 0.01;

/// Filters, scores and chances of all nodes.
pub(super) fn forecast(question: &Question<'_, '_>) -> Forecast {
    let filters = Filters::new(question);
    let (mut feasible, mut misfits) = (Vec::new(), Vec::new());
    for node in question.draft.world.snapshot.node_ids() {
        match filters.admit(node) {
            Ok(()) => feasible.push(node),
            Err(why) => misfits.push((node, why)),
        }
    }
    let mut scored = scores::of(question, &feasible);
    scored.sort_by_key(|s| (Reverse(s.total), s.node));
    let quota = quota(question);
    let mut winners = winners(&scored, quota);
    if quota < scored.len() {
        winners = likely(join(
            &winners,
            &windows(&scored, question.index().rotation(), quota),
        ));
    }
    Forecast {
        winners,
        scored,
        misfits,
    }
}

/// Of two forecasts, one of which comes true.
pub(super) fn either(first: Forecast, second: Forecast) -> Forecast {
    if first.winners.is_empty() || second.winners.is_empty() || first.winners == second.winners {
        return if first.winners.is_empty() {
            second
        } else {
            first
        };
    }
    let winners = join(&first.winners, &second.winners);
    // What fits only in the second case is told as fitting, with the score that it has then.
    let Forecast {
        mut scored,
        mut misfits,
        ..
    } = first;
    let known: BTreeSet<NodeId> = scored.iter().map(|s| s.node).collect();
    let late: Vec<Scored> = second
        .scored
        .into_iter()
        .filter(|s| !known.contains(&s.node))
        .collect();
    if !late.is_empty() {
        misfits.retain(|(node, _)| !late.iter().any(|s| s.node == *node));
        scored.extend(late);
        scored.sort_by_key(|s| (Reverse(s.total), s.node));
    }
    Forecast {
        winners,
        scored,
        misfits,
    }
}

/// Of two lists of chances, one of which holds.
fn join(first: &[Winner], second: &[Winner]) -> Vec<Winner> {
    let mut chances: BTreeMap<NodeId, f64> = BTreeMap::new();
    for winner in first.iter().chain(second) {
        *chances.entry(winner.node).or_default() += winner.chance.get() / 2.0;
    }
    let mut winners: Vec<Winner> = chances
        .into_iter()
        .map(|(node, chance)| Winner {
            node,
            chance: ratio(chance),
        })
        .collect();
    winners.sort_by(|a, b| b.chance.order(a.chance).then(a.node.cmp(&b.node)));
    winners
}

/// All but the unlikeliest, which together are less likely than [`UNLIKELY`].
fn likely(mut winners: Vec<Winner>) -> Vec<Winner> {
    let (mut covered, mut kept) = (0.0, 0);
    while kept < winners.len() && covered < 1.0 - UNLIKELY {
        covered += winners[kept].chance.get();
        kept += 1;
    }
    winners.truncate(kept);
    for winner in &mut winners {
        winner.chance = ratio(winner.chance.get() / covered);
    }
    winners
}

/// The chances where the scheduler goes through the nodes in this order, begins anywhere, and looks
/// at so many that could take the pod. Nodes that joined late stand together in it, and mostly are
/// the emptiest: whole stretches are without one.
fn windows(scored: &[Scored], rotation: &[NodeId], quota: usize) -> Vec<Winner> {
    let totals: BTreeMap<NodeId, i64> = scored.iter().map(|s| (s.node, s.total)).collect();
    let order: Vec<(NodeId, i64)> = rotation
        .iter()
        .filter_map(|n| Some((*n, *totals.get(n)?)))
        .collect();
    let all = order.len();
    let mut chances: BTreeMap<NodeId, f64> = BTreeMap::new();
    for start in 0..all {
        let window = || (start..start + quota).map(|i| order[i % all]);
        let best = window().map(|(_, total)| total).max();
        let ties = || window().filter(|(_, total)| Some(*total) == best);
        let share = 1.0 / count(ties().count()) / count(all);
        for (node, _) in ties() {
            *chances.entry(node).or_default() += share;
        }
    }
    chances
        .into_iter()
        .map(|(node, chance)| Winner {
            node,
            chance: ratio(chance),
        })
        .collect()
}

/// The best of the nodes that are looked at from a position on, and the position for the next time.
pub(super) fn choose(question: &Question<'_, '_>, start: usize) -> (Vec<NodeId>, usize) {
    let filters = Filters::new(question);
    let rotation = question.index().rotation();
    let quota = quota(question);
    let (mut feasible, mut seen) = (Vec::new(), 0);
    while seen < rotation.len() && feasible.len() < quota {
        let node = rotation[(start + seen) % rotation.len()];
        seen += 1;
        if filters.admit(node).is_ok() {
            feasible.push(node);
        }
    }
    let next = if rotation.is_empty() {
        0
    } else {
        (start + seen) % rotation.len()
    };
    let scored = scores::of(question, &feasible);
    let best = scored.iter().map(|s| s.total).max();
    (
        scored
            .into_iter()
            .filter(|s| Some(s.total) == best)
            .map(|s| s.node)
            .collect(),
        next,
    )
}

/// How many nodes that could take the pod are enough for the scheduler (`numFeasibleNodesToFind` in
/// its source).
fn quota(question: &Question<'_, '_>) -> usize {
    let nodes = question.draft.world.snapshot.nodes.len();
    let percentage = question.profile.percentage_of_nodes_to_score;
    enough(
        nodes,
        percentage
            .and_then(|p| usize::try_from(p).ok())
            .unwrap_or_default(),
    )
}

fn enough(nodes: usize, percentage: usize) -> usize {
    if nodes < LEAST {
        return nodes;
    }
    let adaptive = || 50_usize.saturating_sub(nodes / 125).max(LEAST_PERCENTAGE);
    (nodes
        * if percentage == 0 {
            adaptive()
        } else {
            percentage
        }
        / 100)
        .max(LEAST)
}

/// The chances where so many nodes are looked at, which ones being a matter of chance: nodes that
/// score alike win where no better one is looked at.
fn winners(scored: &[Scored], quota: usize) -> Vec<Winner> {
    let all = scored.len();
    let mut winners = Vec::new();
    let (mut passed, mut missed) = (0, 1.0);
    for alike in scored.chunk_by(|a, b| a.total == b.total) {
        let before = missed;
        for _ in alike {
            missed *= share(all.saturating_sub(quota + passed), all - passed);
            passed += 1;
        }
        let chance = ratio((before - missed) / count(alike.len()));
        winners.extend(alike.iter().map(|s| Winner {
            node: s.node,
            chance,
        }));
        if missed < UNLIKELY {
            break;
        }
    }
    let sum: f64 = winners.iter().map(|w| w.chance.get()).sum();
    for winner in &mut winners {
        winner.chance = ratio(winner.chance.get() / sum);
    }
    winners
}

fn share(part: usize, whole: usize) -> f64 {
    count(part) / count(whole)
}

/// Exact for any number of nodes.
fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

fn ratio(share: f64) -> Ratio {
    Ratio::new(share).unwrap_or(Ratio::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::scheduler::Parts;

    #[test]
    fn where_nodes_that_score_alike_stand_together_whole_stretches_are_without_them() {
        let scored = |i: usize| Scored {
            node: NodeId(i),
            total: if i == 0 { 2 } else { 1 },
            parts: Parts::default(),
        };
        let scored: Vec<Scored> = (0..4).map(scored).collect();
        let rotation: Vec<NodeId> = (0..4).map(NodeId).collect();
        let chances: Vec<(usize, f64)> = windows(&scored, &rotation, 2)
            .iter()
            .map(|w| (w.node.0, w.chance.get()))
            .collect();
        // Of the stretches 01, 12, 23 and 30 two hold the best.
        assert_eq!(chances, [(0, 0.5), (1, 0.125), (2, 0.25), (3, 0.125)]);
    }

    #[test]
    fn small_clusters_are_looked_at_whole() {
        let expected = [
            (99, 99),
            (100, 100),
            (500, 230),
            (1000, 420),
            (5000, 500),
            (15_000, 750),
        ];
        for (nodes, quota) in expected {
            assert_eq!(enough(nodes, 0), quota, "{nodes} nodes");
        }
        assert_eq!(
            [enough(1000, 30), enough(1000, 5), enough(50, 5)],
            [300, 100, 50]
        );
    }

    fn chances(totals: &[i64], quota: usize) -> Vec<f64> {
        let scored = |(i, total): (usize, &i64)| Scored {
            node: NodeId(i),
            total: *total,
            parts: Parts::default(),
        };
        let scored: Vec<_> = totals.iter().enumerate().map(scored).collect();
        winners(&scored, quota)
            .iter()
            .map(|w| (w.chance.get() * 1000.0).round() / 1000.0)
            .collect()
    }

    #[test]
    fn those_that_score_best_win_alike() {
        assert_eq!(chances(&[9, 9, 8], 3), [0.5, 0.5]);
        assert_eq!(chances(&[], 3), [0.0; 0]);
    }

    #[test]
    fn a_node_wins_where_no_better_one_is_looked_at() {
        // Two of four are looked at: the best is among them in 3 of 6 cases, the second alone with
        // a worse one in 2.
        assert_eq!(chances(&[9, 8, 7, 6], 2), [0.5, 0.333, 0.167]);
        // One of the best two is looked at in 5 of 6 cases.
        assert_eq!(chances(&[9, 9, 7, 6], 2), [0.417, 0.417, 0.167]);
    }
}
