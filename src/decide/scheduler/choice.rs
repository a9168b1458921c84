//! The winners of a forecast: the scheduler picks one of the best among the nodes that it scores.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::model::snapshot::NodeId;
use crate::values::Ratio;

use super::filters::Filters;
use super::question::Question;
use super::{Forecast, Scored, Winner, scores};

/// In larger clusters the scheduler scores only a part of the nodes, but at least this many
/// (`minFeasibleNodesToFind` in kube-scheduler).
const LEAST: usize = 100;
/// The smallest percentage of nodes to score if the policy sets none
/// (`minFeasibleNodesPercentageToFind` in kube-scheduler).
const LEAST_PERCENTAGE: usize = 5;
/// The probability that the replaced pod still terminates when the scheduler places its replacement.
/// A controller creates the replacement at once, and a container takes a moment to end. Only a fast
/// one may have ended before.
const DURING: f64 = 0.75;
/// Nodes that together are less likely than this are omitted.
const UNLIKELY: f64 = 0.01;

/// Filters and scores all nodes, and computes their chances.
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
            0.5,
        ));
    }
    // The scheduler tries the node of a nomination first (`evaluateNominatedNode`).
    if let Some(node) = question.nomination().filter(|n| filters.admit(*n).is_ok()) {
        let chance = Ratio::ONE;
        winners = vec![Winner { node, chance }];
    }
    Forecast {
        winners,
        scored,
        misfits,
    }
}

/// Combines the forecasts for the two cases that the replaced pod still terminates, and that it has
/// ended.
pub(super) fn either(first: Forecast, second: Forecast) -> Forecast {
    if first.winners.is_empty() || second.winners.is_empty() || first.winners == second.winners {
        return if first.winners.is_empty() {
            second
        } else {
            first
        };
    }
    let winners = join(&first.winners, &second.winners, DURING);
    // A node that fits only in the second case counts as fitting, with its score in that case.
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

/// Averages two lists of chances. The first list has this weight, of one for both.
fn join(first: &[Winner], second: &[Winner], weight: f64) -> Vec<Winner> {
    let mut chances: BTreeMap<NodeId, f64> = BTreeMap::new();
    for (winners, weight) in [(first, weight), (second, 1.0 - weight)] {
        for winner in winners {
            *chances.entry(winner.node).or_default() += winner.chance.get() * weight;
        }
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

/// Omits the least likely winners, which together are less likely than [`UNLIKELY`].
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

/// The chances if the scheduler walks the nodes in rotation order and scores the first `quota`
/// feasible nodes. Each node is the start with the same probability.
///
/// Nodes that joined late are neighbours in the rotation and often the emptiest, so many windows
/// contain none of them. The cost is O(n log n) and does not depend on the quota.
fn windows(scored: &[Scored], rotation: &[NodeId], quota: usize) -> Vec<Winner> {
    let mut totals: Vec<Option<i64>> = vec![None; rotation.len()];
    for one in scored {
        totals[one.node.0] = Some(one.total);
    }
    let order: Vec<(NodeId, i64)> = rotation
        .iter()
        .filter_map(|n| Some((*n, totals[n.0]?)))
        .collect();
    let circle = Circle::new(&order, quota);
    let mut credit = Credit::new(&circle);
    for (start, best) in circle.maxima().into_iter().enumerate() {
        credit.add(best, start..start + circle.quota);
    }
    let mut credits: Vec<i128> = vec![0; order.len()];
    for (position, credit) in credit.by_position() {
        credits[position % order.len()] += credit;
    }
    let won = order.iter().zip(credits).filter(|(_, credit)| *credit > 0);
    won.map(|((node, _), credit)| Winner {
        node: *node,
        chance: ratio(windows_won(credit) / count(order.len())),
    })
    .collect()
}

/// The scores in rotation order. The first window is repeated at the end, so that windows can cross
/// the end of the rotation.
struct Circle {
    totals: Vec<i64>,
    nodes: usize,
    quota: usize,
}

impl Circle {
    fn new(order: &[(NodeId, i64)], quota: usize) -> Self {
        let totals = order.iter().chain(order.iter().take(quota));
        Circle {
            totals: totals.map(|(_, total)| *total).collect(),
            nodes: order.len(),
            quota: quota.min(order.len()),
        }
    }

    /// The best score of the window that starts at each node (sliding-window maximum).
    fn maxima(&self) -> Vec<i64> {
        // Positions with falling scores: the first one is the best of the window.
        let mut falling: VecDeque<usize> = VecDeque::new();
        let mut maxima = Vec::with_capacity(self.nodes);
        for (position, total) in self.totals.iter().enumerate() {
            while falling.back().is_some_and(|p| self.totals[*p] < *total) {
                falling.pop_back();
            }
            falling.push_back(position);
            let Some(start) = (position + 1).checked_sub(self.quota) else {
                continue;
            };
            while falling.front().is_some_and(|p| *p < start) {
                falling.pop_front();
            }
            if start < self.nodes {
                maxima.extend(falling.front().map(|p| self.totals[*p]));
            }
        }
        maxima
    }
}

/// The windows that each position of a circle wins, in units of [`WINDOW`].
///
/// Positions are grouped by score. The positions of a window that have its best score are
/// consecutive in their group, so a difference array credits all of them in two steps.
struct Credit {
    positions: BTreeMap<i64, Vec<usize>>,
    /// By score, the difference between the credit of each position and the one before.
    changes: BTreeMap<i64, Vec<i128>>,
}

/// The credit for one window. An integer, so that differences cancel exactly and nodes in the same
/// situation get the same chance.
const WINDOW: i128 = 1 << 64;

impl Credit {
    fn new(circle: &Circle) -> Self {
        let mut positions: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (position, total) in circle.totals.iter().enumerate() {
            positions.entry(*total).or_default().push(position);
        }
        let groups = positions.iter();
        Credit {
            changes: groups
                .map(|(total, at)| (*total, vec![0; at.len() + 1]))
                .collect(),
            positions,
        }
    }

    /// Divides one window among its positions with the best score.
    fn add(&mut self, best: i64, window: Range<usize>) {
        let (Some(at), Some(changes)) = (self.positions.get(&best), self.changes.get_mut(&best))
        else {
            return;
        };
        let first = at.partition_point(|p| *p < window.start);
        let end = at.partition_point(|p| *p < window.end);
        let share = i128::try_from(end - first).map_or(0, |ties| WINDOW / ties.max(1));
        changes[first] += share;
        changes[end] -= share;
    }

    fn by_position(&self) -> impl Iterator<Item = (usize, i128)> {
        let groups = self.positions.values().zip(self.changes.values());
        groups.flat_map(|(at, changes)| {
            let credits = changes.iter().scan(0, |credit, change| {
                *credit += change;
                Some(*credit)
            });
            at.iter().copied().zip(credits)
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a chance does not need more digits than a float has"
)]
fn windows_won(credit: i128) -> f64 {
    credit as f64 / WINDOW as f64
}

/// The best nodes if the scheduler starts at this position, and the position where it starts next.
pub(super) fn choose(question: &Question<'_, '_>, start: usize) -> (Vec<NodeId>, usize) {
    let filters = Filters::new(question);
    if let Some(node) = question.nomination().filter(|n| filters.admit(*n).is_ok()) {
        return (vec![node], start);
    }
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

/// The number of feasible nodes after which the scheduler stops searching
/// (`numFeasibleNodesToFind` in kube-scheduler).
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

/// [`quota`] in a cluster of this size; a percentage of zero means that the size decides.
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

/// The chances if the scheduler scores `quota` random nodes.
///
/// A node wins if no better one is scored. Nodes with the same score have the same chance.
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

/// Converts a number of nodes exactly.
fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

fn ratio(share: f64) -> Ratio {
    Ratio::new(share).unwrap_or(Ratio::ZERO)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, proptest};

    use super::*;
    use crate::decide::scheduler::Parts;

    fn scored(totals: &[i64]) -> Vec<Scored> {
        let scored = |(i, total): (usize, &i64)| Scored {
            node: NodeId(i),
            total: *total,
            parts: Parts::default(),
        };
        totals.iter().enumerate().map(scored).collect()
    }

    /// The definition of [`windows`]: visits every node of every window.
    fn chances_by_definition(totals: &[i64], rotation: &[NodeId], quota: usize) -> Vec<f64> {
        let all = rotation.len();
        let mut chances = vec![0.0; all];
        for start in 0..all {
            let window = || (start..start + quota).map(|i| rotation[i % all].0);
            let best = window().map(|node| totals[node]).max();
            let ties: Vec<usize> = window().filter(|n| Some(totals[*n]) == best).collect();
            for node in &ties {
                chances[*node] += 1.0 / count(ties.len()) / count(all);
            }
        }
        chances
    }

    proptest! {
        #[test]
        fn windows_follow_their_definition(
            totals in vec(0_i64..6, 1..60),
            seeds in vec(any::<u32>(), 60),
            part in 0.0..1.0_f64,
        ) {
            let quota = (1..=totals.len()).rfind(|q| count(*q) <= part * count(totals.len()));
            let quota = quota.unwrap_or(1);
            let mut rotation: Vec<NodeId> = (0..totals.len()).map(NodeId).collect();
            rotation.sort_by_key(|n| seeds[n.0]);
            let mut chances = vec![0.0; totals.len()];
            for winner in windows(&scored(&totals), &rotation, quota) {
                prop_assert!(winner.chance > Ratio::ZERO);
                chances[winner.node.0] = winner.chance.get();
            }
            let expected = chances_by_definition(&totals, &rotation, quota);
            for (chance, expected) in chances.iter().zip(&expected) {
                prop_assert!((chance - expected).abs() < 1e-12, "{chances:?}, not {expected:?}");
            }
        }
    }

    #[test]
    fn neighbours_in_the_rotation_share_the_windows_without_a_better_node() {
        let scored = scored(&[2, 1, 1, 1]);
        let rotation: Vec<NodeId> = (0..4).map(NodeId).collect();
        let chances: Vec<(usize, f64)> = windows(&scored, &rotation, 2)
            .iter()
            .map(|w| (w.node.0, w.chance.get()))
            .collect();
        // Two of the windows 01, 12, 23 and 30 contain the best node.
        assert_eq!(chances, [(0, 0.5), (1, 0.125), (2, 0.25), (3, 0.125)]);
    }

    #[test]
    fn only_large_clusters_are_scored_in_part() {
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
        winners(&scored(totals), quota)
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
