//! Hot nodes, and the nodes that are not cool enough for their pods.
//!
//! While a node is hot, all but the coolest nodes of its pool have the taint as well. The scheduler
//! often prefers these: a node that has just lost pods has the fewest requests. One more pod would
//! make it hot again.
//!
//! A node has cooled when every ratio is at most 65% of its target. The margin keeps a node near
//! its target from gaining and losing the taint repeatedly. Unlike a waiting time it needs no
//! memory, so a restart decides the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::decide::targets::{AboveTarget, furthest_above, in_force};
use crate::model::plan::{Class, SteerReason, SteerValue, Verdict};
use crate::model::snapshot::NodeId;
use crate::values::Ratio;

use super::{Landings, Limit, Wish, Withheld, sort};

/// A node keeps the taint as long as a ratio is above this share of its target. It was chosen on
/// recorded usage (`tests/traces.sh`): with 80%, a third more pods are evicted, because a node that
/// was hot often becomes hot again.
const COOL: f64 = 0.65;

/// A node gets the taint while other nodes are hot if a ratio is above this share of its target.
const WARM: f64 = 0.75;

/// While pods of a hot node find no place, a node without the taint gets that of another one if it
/// is warmer by this ratio: those that have taken replacements may have become the warmest. At all
/// other times nodes keep their taints, because one that was hot often becomes hot again. If taints
/// always went to the warmest, 50 nodes would be above the target for a fifth longer on a recorded
/// day (`benchmark/`, PlanetLab 20110303 with steering, every minute).
const AHEAD: Ratio = Ratio::TWENTIETH;

/// Nodes that have been hot for long enough. One that has the taint keeps it before hotter ones.
pub(super) fn hot(
    now: &Draft<'_>,
    verdicts: &[Verdict],
    has_taint: impl Fn(NodeId) -> bool,
) -> Vec<Wish> {
    let mut wishes = BTreeMap::new();
    for verdict in verdicts {
        if let Class::Hot { resource, ratio, target, expected, .. } = &verdict.class
            && let Some(node) = now.world.snapshot.find_node(&verdict.node)
        {
            let why = SteerReason::Hot {
                resource: resource.clone(),
                ratio: *ratio,
                target: *target,
                expected: *expected,
            };
            let lead = if has_taint(node) { Ratio::ONE } else { Ratio::ZERO };
            let distance = ratio.minus(*target).plus(lead);
            wishes.insert(node, Wish { node, value: SteerValue::Hot, why, distance });
        }
    }
    wishes.into_values().collect()
}

/// Adds the nodes that are not cool enough for replacements: those with the taint that have not
/// cooled, and the warm ones of a pool with a hot node. The coolest of a pool stay open, because a
/// taint that all of its nodes have has no effect.
///
/// Nodes on which the plan expects replacements gain no taint.
pub(super) fn add_warm(
    now: &Draft<'_>,
    wishes: &mut Vec<Wish>,
    landings: &Landings,
    has_taint: impl Fn(NodeId) -> bool,
    withheld: &mut Vec<Withheld>,
) {
    let lead = if landings.stuck.is_empty() { Ratio::ONE } else { AHEAD };
    let hot: BTreeSet<NodeId> = wishes.iter().map(|wish| wish.node).collect();
    let mut taken = hot.clone();
    for pool in now.world.policy.low_node_utilization().flat_map(|r| in_force(now, r)) {
        let hot = pool.nodes.iter().filter(|node| hot.contains(node)).count();
        let [warm, cool] = [WARM, COOL].map(|share| pool.share_of_targets(share));
        let wish = |node: NodeId| {
            let has_taint = has_taint(node);
            let may_gain = hot > 0 && !landings.moves.contains(&node);
            let limits = if has_taint { &cool } else { &warm };
            let above = furthest_above(now, node, pool.basis, limits);
            let above = above.filter(|_| has_taint || may_gain)?;
            Some(warm_wish(now, node, above, has_taint.then_some(lead)))
        };
        let calm = pool.nodes.iter().filter(|node| !taken.contains(node));
        let mut calm: Vec<Wish> = calm.filter_map(|node| wish(*node)).collect();
        taken.extend(calm.iter().map(|wish| wish.node));
        sort(&mut calm);
        let limit = Limit::new(now.world.policy.steering.max_nodes, pool.nodes.len());
        withheld.extend(limit.withhold(&mut calm, hot));
        wishes.extend(calm);
    }
}

/// The wish for a node that is not cool enough for replacements, by the limit that it exceeds.
/// `lead` is that of a node with the taint.
fn warm_wish(now: &Draft<'_>, node: NodeId, above: AboveTarget, lead: Option<Ratio>) -> Wish {
    let (resource, ratio, limit) = (above.name(now), above.ratio, above.target);
    let why = if lead.is_some() {
        SteerReason::Cooling { resource, ratio, cool: limit }
    } else {
        SteerReason::Warm { resource, ratio, limit }
    };
    let distance = ratio.plus(lead.unwrap_or(Ratio::ZERO));
    Wish { node, value: SteerValue::Hot, why, distance }
}
