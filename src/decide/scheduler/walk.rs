//! The walk of the scheduler through the nodes of a large cluster. It visits nodes in rotation
//! order until it has found enough feasible ones, and continues there with the next pod.
//!
//! See `findNodesThatPassFilters` in kube-scheduler.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::decide::draft::Starts;
use crate::model::snapshot::NodeId;
use crate::values::Ratio;

use super::{Scored, Winner};

/// The credit for one search that certainly starts at a node. An integer, so that differences
/// cancel exactly and nodes in the same situation get the same chance.
const WHOLE: i128 = 1 << 64;

/// The feasible nodes for a pod in the order of the scheduler's walk.
pub(super) struct Walk {
    nodes: Vec<NodeId>,
    /// The position of each feasible node in the rotation.
    positions: Vec<usize>,
    /// The scores. The first window is repeated at the end, so that windows can cross the end.
    totals: Vec<i64>,
    /// The number of all nodes.
    all: usize,
    quota: usize,
}

impl Walk {
    /// The walk through `rotation` that ends after `quota` of the feasible nodes.
    pub(super) fn new(scored: &[Scored], rotation: &[NodeId], quota: usize) -> Self {
        let mut totals: Vec<Option<i64>> = vec![None; rotation.len()];
        for one in scored {
            totals[one.node.0] = Some(one.total);
        }
        let feasible = rotation.iter().enumerate();
        let order: Vec<(usize, NodeId, i64)> = feasible
            .filter_map(|(position, node)| Some((position, *node, totals[node.0]?)))
            .collect();
        Walk {
            nodes: order.iter().map(|(_, node, _)| *node).collect(),
            positions: order.iter().map(|(position, ..)| *position).collect(),
            totals: order
                .iter()
                .chain(order.iter().take(quota))
                .map(|(.., total)| *total)
                .collect(),
            all: rotation.len(),
            quota: quota.min(order.len()),
        }
    }

    /// The chances of the nodes. Without starts, each feasible node is the first with the same
    /// probability.
    ///
    /// Nodes that joined late are neighbours in the rotation and often the emptiest, so many
    /// windows contain none of them. The cost is O(n log n) and does not depend on the quota.
    pub(super) fn winners(&self, starts: Option<&Starts>) -> Vec<Winner> {
        let weights = starts.map(|starts| self.by_feasible(starts));
        let mut credit = Credit::new(&self.totals);
        for (start, best) in self.maxima().into_iter().enumerate() {
            let weight = weights.as_ref().map_or(WHOLE, |weights| weights[start]);
            if weight > 0 {
                credit.add(best, start..start + self.quota, weight);
            }
        }
        let mut credits: Vec<i128> = vec![0; self.nodes.len()];
        for (position, credit) in credit.by_position() {
            credits[position % self.nodes.len()] += credit;
        }
        let sum = weights.map_or_else(
            || WHOLE * i128::try_from(self.nodes.len()).unwrap_or(1),
            |weights| weights.iter().sum(),
        );
        let won = self
            .nodes
            .iter()
            .zip(credits)
            .filter(|(_, credit)| *credit > 0);
        won.map(|(node, credit)| Winner {
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
        let mut next = vec![0.0; self.all];
        for (position, chance) in starts.chances().iter().enumerate() {
            let last = (self.first_feasible(position) + self.quota - 1) % self.nodes.len();
            next[(self.positions[last] + 1) % self.all] += chance;
        }
        Starts::weighted(next)
    }

    /// The probability that the scheduler chooses `node`, by the position of the rotation at which
    /// the search starts.
    pub(super) fn likelihoods(&self, node: NodeId) -> Vec<f64> {
        let mut likelihoods = vec![0.0; self.all];
        let Some(place) = self.nodes.iter().position(|n| *n == node) else {
            return likelihoods;
        };
        let credit = Credit::new(&self.totals);
        let count = self.nodes.len();
        let wins: Vec<f64> = (0..count)
            .zip(self.maxima())
            .map(|(start, best)| {
                let visited = (place + count - start) % count < self.quota;
                let window = start..start + self.quota;
                if visited && best == self.totals[place] {
                    1.0 / float(
                        i128::try_from(credit.ties(best, window))
                            .unwrap_or(1)
                            .max(1),
                    )
                } else {
                    0.0
                }
            })
            .collect();
        for (position, likelihood) in likelihoods.iter_mut().enumerate() {
            *likelihood = wins[self.first_feasible(position)];
        }
        likelihoods
    }

    /// The index of the first feasible node that a search from this position finds.
    fn first_feasible(&self, position: usize) -> usize {
        self.positions.partition_point(|p| *p < position) % self.nodes.len()
    }

    /// The weight of each feasible node as the first one that is found.
    fn by_feasible(&self, starts: &Starts) -> Vec<i128> {
        let mut weights = vec![0; self.nodes.len()];
        for (position, chance) in starts.chances().iter().enumerate() {
            weights[self.first_feasible(position)] += fixed(*chance);
        }
        weights
    }

    /// The best score of the window that starts at each node (sliding-window maximum).
    fn maxima(&self) -> Vec<i64> {
        // Positions with falling scores: the first one is the best of the window.
        let mut falling: VecDeque<usize> = VecDeque::new();
        let mut maxima = Vec::with_capacity(self.nodes.len());
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
            if start < self.nodes.len() {
                maxima.extend(falling.front().map(|p| self.totals[*p]));
            }
        }
        maxima
    }
}

/// The windows that each position wins, in units of [`WHOLE`].
///
/// Positions are grouped by score. The positions of a window that have its best score are
/// consecutive in their group, so a difference array credits all of them in two steps.
struct Credit {
    positions: BTreeMap<i64, Vec<usize>>,
    /// By score, the difference between the credit of each position and the one before.
    changes: BTreeMap<i64, Vec<i128>>,
}

impl Credit {
    fn new(totals: &[i64]) -> Self {
        let mut positions: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (position, total) in totals.iter().enumerate() {
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

    /// Divides the weight of a window among its positions with the best score.
    fn add(&mut self, best: i64, window: Range<usize>, weight: i128) {
        let tied = self.tied(best, window);
        let share = i128::try_from(tied.len()).map_or(0, |ties| weight / ties.max(1));
        if let Some(changes) = self.changes.get_mut(&best) {
            changes[tied.start] += share;
            changes[tied.end] -= share;
        }
    }

    /// The number of positions of a window with this score.
    fn ties(&self, score: i64, window: Range<usize>) -> usize {
        self.tied(score, window).len()
    }

    fn tied(&self, score: i64, window: Range<usize>) -> Range<usize> {
        let Some(at) = self.positions.get(&score) else {
            return 0..0;
        };
        let first = at.partition_point(|p| *p < window.start);
        first..at.partition_point(|p| *p < window.end)
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
fn float(credit: i128) -> f64 {
    credit as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a chance is at most one and does not need all digits"
)]
fn fixed(chance: f64) -> i128 {
    (chance * WHOLE as f64) as i128
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

    fn count(n: usize) -> f64 {
        f64::from(u32::try_from(n).unwrap())
    }

    /// A search that certainly starts at this position.
    fn start(position: usize, all: usize) -> Starts {
        Starts::weighted(
            (0..all)
                .map(|p| f64::from(u8::from(p == position)))
                .collect(),
        )
    }

    /// The definition of [`Walk::winners`]: visits every node of every window.
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
            for winner in Walk::new(&scored(&totals), &rotation, quota).winners(None) {
                prop_assert!(winner.chance > Ratio::ZERO);
                chances[winner.node.0] = winner.chance.get();
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
            let winners = walk.winners(Some(&start(first, all)));
            let mut sum = 0.0;
            for node in &rotation {
                let winner = winners.iter().find(|winner| winner.node == *node);
                let chance = winner.map_or(0.0, |winner| winner.chance.get());
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
            .winners(None)
            .iter()
            .map(|w| (w.node.0, w.chance.get()))
            .collect();
        // Two of the windows 01, 12, 23 and 30 contain the best node.
        assert_eq!(chances, [(0, 0.5), (1, 0.125), (2, 0.25), (3, 0.125)]);
    }
}
