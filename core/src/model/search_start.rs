//! The knowledge about the node at which kube-scheduler starts its next search.
//!
//! In a large cluster the scheduler scores only a part of the nodes for each pod. The next search
//! continues behind the last node that it visited (`nextStartNodeIndex` in kube-scheduler), so the
//! nodes where pods land show where it is.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::values::Ratio;

/// The time in which the memory of other placements halves, in seconds.
const HALF_LIFE: f64 = 600.0;
/// The time between the last placement that is known and an eviction, in seconds.
const GAP: f64 = 2.0;

/// The knowledge about the start of the scheduler's next search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchStart {
    /// The knowledge for each order in which the scheduler may visit the nodes.
    pub by_order: BTreeMap<NodeOrder, StartChances>,
    /// The number of the last placement that was evaluated; `None` before the first snapshot.
    evaluated: Option<u64>,
    /// The evictions whose replacements have not been placed yet.
    expected: u32,
    /// The placements of other pods within about the last ten minutes.
    others: Ratio,
    /// The time of the last evaluation.
    at: Timestamp,
}

/// The order in which the scheduler visits the nodes of a zone: that in which it learned of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeOrder {
    /// By name: the nodes that existed when the scheduler started.
    Name,
    /// By creation: the nodes that joined while it ran.
    Creation,
}

impl NodeOrder {
    /// Both orders.
    pub const ALL: [NodeOrder; 2] = [NodeOrder::Name, NodeOrder::Creation];
}

/// The start of the next search if the scheduler visits nodes in one order.
#[derive(Clone, Debug, PartialEq)]
pub struct StartChances {
    /// The probability of each node to be the first, by name. Empty if nothing is known.
    pub chances: BTreeMap<String, Ratio>,
    /// The probability that the searches follow each other in this order.
    pub trust: Ratio,
}

impl Default for SearchStart {
    fn default() -> Self {
        SearchStart {
            by_order: BTreeMap::new(),
            evaluated: None,
            expected: 0,
            others: Ratio::ZERO,
            at: Timestamp::MIN,
        }
    }
}

impl SearchStart {
    /// Returns the order that explains the placements best, with the knowledge for it. `None` if
    /// nothing is known.
    pub fn likeliest(&self) -> Option<(NodeOrder, &StartChances)> {
        let known = self.by_order.iter().filter(|(_, known)| !known.chances.is_empty());
        // With equal trust, the first order is taken.
        let best = known.rev().max_by(|(_, a), (_, b)| a.trust.order(b.trust));
        best.map(|(order, known)| (*order, known))
    }

    /// Records that one more replacement will be placed.
    pub fn expect_one(&mut self) {
        self.expected = self.expected.saturating_add(1);
    }

    /// Returns the number of the last placement that was evaluated; `None` before the first
    /// snapshot.
    pub const fn evaluated(&self) -> Option<u64> {
        self.evaluated
    }

    /// Records that the placements up to this number, of so many pods, have been evaluated.
    pub fn evaluate(&mut self, last: u64, pods: usize, now: Timestamp) {
        let pods = u32::try_from(pods).unwrap_or(u32::MAX);
        let ours = pods.min(self.expected);
        self.expected -= ours;
        let passed = now.duration_since(self.at).as_secs_f64().max(0.0);
        let kept = self.others.get() * (-passed / HALF_LIFE).exp2();
        self.others = Ratio::new(kept + f64::from(pods - ours)).unwrap_or_default();
        (self.evaluated, self.at) = (Some(last), now);
    }

    /// Returns the probability that the scheduler places another pod before the replacement of an
    /// eviction.
    pub fn disturbed(&self) -> Ratio {
        let rate = self.others.get() * std::f64::consts::LN_2 / HALF_LIFE;
        Ratio::new(1.0 - (-rate * GAP).exp()).unwrap_or_default()
    }
}
