//! Since when nodes have been hot.
//!
//! Usage takes long to compute, so that not every poll looks at it. Each cycle does, and a poll if
//! the last look is longer ago than half the time for which a node has to be hot.

use jiff::{SignedDuration, Timestamp};

use crate::decide::projection::{HotSince, Projection};
use crate::decide::targets::in_force;
use crate::model::snapshot::NodeId;
use crate::policy::{LowNodeUtilization, Strategy};

use super::{Engine, Observed};

impl Engine {
    /// Whether it was last noted which nodes are hot longer ago than half the time for which they
    /// have to be.
    pub(super) fn is_look_due(&self, now: Timestamp) -> bool {
        let strategies = self.policy.strategies.iter();
        strategies.filter_map(sustained_for).min().is_some_and(|shortest| {
            self.looked.is_none_or(|last| now < last || now.duration_since(last) > shortest / 2)
        })
    }

    /// Notes which nodes are hot now.
    pub(super) fn note_hot(&mut self, observed: &Observed<'_>) {
        self.hot_since = self.hot_since(observed);
        self.looked = Some(observed.now);
    }

    /// The nodes that are hot now, each with the time since when it has been.
    pub(super) fn hot_since(&self, observed: &Observed<'_>) -> HotSince {
        let now = observed.now;
        let hot = self.hot_nodes(observed).iter().map(|(position, node)| {
            let key = (*position, observed.snapshot.node(*node).name.clone());
            // At most now, in case the clock was set back.
            let since = self.hot_since.get(&key).copied().unwrap_or(now).min(now);
            (key, since)
        });
        hot.collect()
    }

    /// The nodes above a target of LowNodeUtilization, with the position of the strategy.
    pub(super) fn hot_nodes<'o>(&self, observed: &'o Observed<'_>) -> &'o [(usize, NodeId)] {
        observed.hot.get_or_init(|| {
            let projection = Projection::new(self.world(observed));
            let mut hot = Vec::new();
            for (position, strategy) in self.policy.strategies.iter().enumerate() {
                if let Some(rule) = LowNodeUtilization::of(&strategy.rule) {
                    for pool in in_force(&projection, rule) {
                        let is_hot = |n: &&NodeId| pool.furthest_above(&projection, **n).is_some();
                        hot.extend(pool.nodes.iter().filter(is_hot).map(|node| (position, *node)));
                    }
                }
            }
            hot
        })
    }
}

/// How long nodes have to be above a target before a strategy acts; `None` if it acts at once.
fn sustained_for(strategy: &Strategy) -> Option<SignedDuration> {
    let rule = LowNodeUtilization::of(&strategy.rule)?;
    (!rule.sustained_for.is_zero()).then_some(rule.sustained_for)
}
