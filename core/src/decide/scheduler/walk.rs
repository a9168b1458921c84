//! The walk of the scheduler through the nodes of a large cluster. It visits nodes in rotation
//! order until it has found enough feasible ones, and continues there with the next pod.
//!
//! See `findNodesThatPassFilters` in kube-scheduler.
//!
//! An example: four nodes in rotation order score 3, 1, 2 and 0, and a search ends after two. The
//! searches from each of them choose the first, the third, the third and the first. So these two
//! win with 50 % each, and the others never, if nothing is known about the start.

use std::collections::VecDeque;
use std::ops::Range;

use crate::decide::placement::Starts;
use crate::model::snapshot::NodeId;
use crate::values::Ratio;

use super::question::{Question, ours};
use super::{PossibleNode, Scored};

/// In larger clusters the scheduler scores only a part of the nodes, but at least this many
/// (`minFeasibleNodesToFind` in kube-scheduler).
const LEAST: usize = 100;
/// The smallest percentage of nodes to score if the policy sets none
/// (`minFeasibleNodesPercentageToFind` in kube-scheduler).
const LEAST_PERCENTAGE: usize = 5;
/// The credit for one search that certainly starts at a node. An integer, so that differences
/// cancel exactly and nodes in the same situation get the same chance.
const WHOLE: i64 = 1 << 62;

/// Returns true if the scheduler visits all nodes of a cluster of this size, with any
/// configuration that scores nodes.
pub(super) const fn visits_all(nodes: usize) -> bool {
    nodes <= LEAST
}

/// The number of feasible nodes after which the scheduler stops searching
/// (`findNodesThatPassFilters` and `numFeasibleNodesToFind` in kube-scheduler).
pub(super) fn quota(question: &Question<'_, '_>) -> usize {
    if question.profile.takes_first && ours(question.pod, question.profile) {
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

/// The feasible nodes for a pod in the order of the scheduler's walk.
pub(super) struct Walk {
    nodes: Vec<NodeId>,
    /// The position of each feasible node in the rotation.
    positions: Vec<usize>,
    /// By position in the rotation, the first feasible node that a search from there finds.
    first: Vec<usize>,
    /// The scores. The first window is repeated at the end, so that windows can cross the end.
    totals: Vec<i64>,
    quota: usize,
    /// By the first feasible node of a search, the best score that it finds.
    best: Vec<i64>,
    /// The scores that win from some start, each with its position, sorted.
    ranked: Vec<(i64, usize)>,
}

impl Walk {
    /// The walk through `rotation` that ends after `quota` of the feasible nodes.
    pub(super) fn new(scored: &[Scored], rotation: &[NodeId], quota: usize) -> Self {
        let mut by_node: Vec<Option<i64>> = vec![None; rotation.len()];
        for one in scored {
            by_node[one.node.0] = Some(one.total);
        }
        let (mut nodes, mut positions, mut totals) = (Vec::new(), Vec::new(), Vec::new());
        let mut first = Vec::with_capacity(rotation.len());
        for (position, node) in rotation.iter().enumerate() {
            first.push(nodes.len());
            if let Some(total) = by_node[node.0] {
                nodes.push(*node);
                positions.push(position);
                totals.push(total);
            }
        }
        // After the last feasible node, a search goes on at the first one.
        let wrapped = first.iter_mut().rev().take_while(|next| **next == nodes.len());
        wrapped.for_each(|next| *next = 0);
        totals.extend_from_within(..quota.min(nodes.len()));
        let quota = quota.min(nodes.len());
        let best = maxima(&totals, nodes.len(), quota);
        let ranked = ranked(&totals, &best);
        Walk { nodes, positions, first, totals, quota, best, ranked }
    }

    /// The chances of the nodes. Without starts, each feasible node is the first with the same
    /// probability.
    ///
    /// Nodes that joined late are neighbours in the rotation and often the emptiest, so many
    /// windows contain none of them. The cost is O(n log n) and does not depend on the quota.
    pub(super) fn possible_nodes(&self, starts: Option<&Starts>) -> Vec<PossibleNode> {
        let weights = match starts {
            Some(starts) => self.by_feasible(starts),
            None => vec![WHOLE; self.nodes.len()],
        };
        // The difference between the credit of each ranked position and the one before.
        let mut changes: Vec<i128> = vec![0; self.ranked.len() + 1];
        let mut tied = 0..0;
        for (start, weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0) {
            tied = self.tied_after(start, tied);
            let share = i64::try_from(tied.len()).map_or(0, |ties| weight / ties.max(1));
            changes[tied.start] += i128::from(share);
            changes[tied.end] -= i128::from(share);
        }
        let mut credits: Vec<i128> = vec![0; self.nodes.len()];
        let mut credit = 0;
        for ((_, position), change) in self.ranked.iter().zip(changes) {
            credit += change;
            credits[position % self.nodes.len()] += credit;
        }
        let sum: i128 = weights.iter().copied().map(i128::from).sum();
        let nodes = self.nodes.iter().zip(credits);
        let won = nodes.filter(|(_, credit)| *credit > 0);
        won.map(|(node, credit)| PossibleNode {
            node: *node,
            chance: Ratio::new(float(credit) / float(sum.max(1))).unwrap_or_default(),
        })
        .collect()
    }

    /// Where the search after this one starts.
    pub(super) fn next(&self, starts: &Starts) -> Starts {
        if self.quota == 0 || self.quota == self.nodes.len() {
            // The scheduler visits all nodes and ends where it began.
            return starts.clone();
        }
        let mut next = vec![0.0; self.first.len()];
        for (first, chance) in self.first.iter().zip(starts.chances()) {
            let last = (first + self.quota - 1) % self.nodes.len();
            next[(self.positions[last] + 1) % self.first.len()] += chance;
        }
        Starts::weighted(next)
    }

    /// The probability that the scheduler chooses `node`, by the position of the rotation at which
    /// the search starts.
    pub(super) fn likelihoods(&self, node: NodeId) -> Vec<f64> {
        let Some(place) = self.nodes.iter().position(|n| *n == node) else {
            return vec![0.0; self.first.len()];
        };
        let count = self.nodes.len();
        let wins = |start: usize| {
            let visited = (place + count - start) % count < self.quota;
            if visited && self.best[start] == self.totals[place] {
                let ties = i128::try_from(self.tied(start).len());
                1.0 / float(ties.unwrap_or(1).max(1))
            } else {
                0.0
            }
        };
        let wins: Vec<f64> = (0..count).map(wins).collect();
        self.first.iter().map(|first| wins[*first]).collect()
    }

    /// The weight of each feasible node as the first one that is found.
    fn by_feasible(&self, starts: &Starts) -> Vec<i64> {
        let mut weights = vec![0; self.nodes.len()];
        for (first, chance) in self.first.iter().zip(starts.chances()) {
            weights[*first] += fixed(*chance);
        }
        weights
    }

    /// Like [`Walk::tied`], given the positions for an earlier node. With the same best score, they
    /// are a little further.
    fn tied_after(&self, start: usize, earlier: Range<usize>) -> Range<usize> {
        let best = self.best[start];
        if self.ranked.get(earlier.start).is_none_or(|(score, _)| *score != best) {
            return self.tied(start);
        }
        let advance = |from: usize, end: usize| {
            let passed = self.ranked[from..].iter().take_while(|at| **at < (best, end));
            from + passed.count()
        };
        advance(earlier.start, start)..advance(earlier.end, start + self.quota)
    }

    /// The ranked positions that win together if a search finds this feasible node first.
    fn tied(&self, start: usize) -> Range<usize> {
        let best = self.best[start];
        let before = |end: usize| self.ranked.partition_point(|at| *at < (best, end));
        before(start)..before(start + self.quota)
    }
}

/// The best score of the window that starts at each node (sliding-window maximum).
fn maxima(totals: &[i64], nodes: usize, quota: usize) -> Vec<i64> {
    // Positions with falling scores: the first one is the best of the window.
    let mut falling: VecDeque<usize> = VecDeque::new();
    let mut maxima = Vec::with_capacity(nodes);
    for (position, total) in totals.iter().enumerate() {
        while falling.back().is_some_and(|p| totals[*p] < *total) {
            falling.pop_back();
        }
        falling.push_back(position);
        let Some(start) = (position + 1).checked_sub(quota) else {
            continue;
        };
        while falling.front().is_some_and(|p| *p < start) {
            falling.pop_front();
        }
        if start < nodes {
            maxima.extend(falling.front().map(|p| totals[*p]));
        }
    }
    maxima
}

/// The positions that may win, by score. Most positions have a better one in every window.
///
/// The positions of a window that have its best score are consecutive here, so a difference array
/// credits all of them in two steps.
fn ranked(totals: &[i64], best: &[i64]) -> Vec<(i64, usize)> {
    let least = best.iter().min().copied().unwrap_or(i64::MAX);
    let positions = totals.iter().enumerate();
    let mut ranked: Vec<(i64, usize)> = positions
        .filter(|(_, total)| **total >= least)
        .map(|(position, total)| (*total, position))
        .collect();
    ranked.sort_unstable();
    ranked
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a chance does not need more digits than a float has"
)]
fn float(credit: i128) -> f64 {
    credit as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a chance is at most one and does not need all digits"
)]
fn fixed(chance: f64) -> i64 {
    (chance * WHOLE as f64) as i64
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, proptest};

    use super::*;
    use crate::decide::scheduler::choice::tests::scored;

    fn count(n: usize) -> f64 {
        f64::from(u32::try_from(n).unwrap())
    }

    /// A search that certainly starts at this position.
    fn start(position: usize, all: usize) -> Starts {
        Starts::weighted((0..all).map(|p| f64::from(u8::from(p == position))).collect())
    }

    /// The definition of [`Walk::possible_nodes`]: visits every node of every window.
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

    #[test]
    fn only_large_clusters_are_scored_in_part() {
        let expected = [(99, 99), (100, 100), (500, 230), (1000, 420), (5000, 500), (15_000, 750)];
        for (nodes, quota) in expected {
            assert_eq!(enough(nodes, 0), quota, "{nodes} nodes");
        }
        assert_eq!([enough(1000, 30), enough(1000, 5), enough(50, 5)], [300, 100, 50]);
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
            for possible in Walk::new(&scored(&totals), &rotation, quota).possible_nodes(None) {
                prop_assert!(possible.chance > Ratio::ZERO);
                chances[possible.node.0] = possible.chance.get();
            }
            let expected = chances_by_definition(&totals, &rotation, quota);
            for (chance, expected) in chances.iter().zip(&expected) {
                prop_assert!((chance - expected).abs() < 1e-12, "{chances:?}, not {expected:?}");
            }
        }

        #[test]
        fn the_likelihood_is_the_chance_from_a_known_start(
            totals in vec(0_i64..6, 1..40),
            part in 0.0..1.0_f64,
            first in 0_usize..40,
        ) {
            let all = totals.len();
            let quota = (1..=all).rfind(|q| count(*q) <= part * count(all)).unwrap_or(1);
            let rotation: Vec<NodeId> = (0..all).map(NodeId).collect();
            let walk = Walk::new(&scored(&totals), &rotation, quota);
            let first = first % all;
            let possible_nodes = walk.possible_nodes(Some(&start(first, all)));
            let mut sum = 0.0;
            for node in &rotation {
                let possible = possible_nodes.iter().find(|possible| possible.node == *node);
                let chance = possible.map_or(0.0, |possible| possible.chance.get());
                prop_assert!((walk.likelihoods(*node)[first] - chance).abs() < 1e-9);
                sum += chance;
            }
            prop_assert!((sum - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_next_search_starts_behind_the_last_visited_node() {
        let rotation: Vec<NodeId> = (0..5).map(NodeId).collect();
        let mut feasible = scored(&[1, 1, 1, 1, 1]);
        feasible.remove(2);
        let walk = Walk::new(&feasible, &rotation, 2);
        let next = |first| {
            let next = walk.next(&start(first, 5));
            next.chances().iter().position(|chance| *chance > 0.5)
        };
        assert_eq!([0, 1, 2, 4].map(next), [Some(2), Some(4), Some(0), Some(1)]);
    }

    #[test]
    fn neighbours_in_the_rotation_share_the_windows_without_a_better_node() {
        let scored = scored(&[2, 1, 1, 1]);
        let rotation: Vec<NodeId> = (0..4).map(NodeId).collect();
        let chances: Vec<(usize, f64)> = Walk::new(&scored, &rotation, 2)
            .possible_nodes(None)
            .iter()
            .map(|w| (w.node.0, w.chance.get()))
            .collect();
        // Two of the windows 01, 12, 23 and 30 contain the best node.
        assert_eq!(chances, [(0, 0.5), (1, 0.125), (2, 0.25), (3, 0.125)]);
    }
}
