//! Which nodes the scheduler is steered around, by soft taints: pure, from the cluster and what strategies make of it.
//!
//! The scheduler places by requests, so the replacement of an evicted pod may go straight back to a hot node, or to the
//! one that has just been emptied. A taint `PreferNoSchedule` makes a node its last choice without closing it; Kubernetes'
//! own TaintToleration gives it the weight 3. cluster-autoscaler marks candidates for deletion in the same way.
//!
//! Two phases make it safe: this only says which taints there should be, and everything else that is decided looks at
//! the taints that the nodes have. A taint that could not be set makes no decision wrong. One that could is there before the
//! replacements look for a place: so a node that the plan counts on to take pods is not closed to them by the same plan.
//!
//! A node has cooled when every ratio is a tenth of its target below that target. The margin keeps a node that hovers
//! about its target from getting and losing the taint in turns; in contrast to a time it needs no memory, so that after a
//! restart the same is decided.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::{Draft, World};
use crate::decide::strategy::low_node_utilization;
use crate::model::plan::{
    Class, Halt, STEERING_KEY, Steer, SteerAction, SteerReason, SteerValue, Verdict,
};
use crate::model::snapshot::{NodeId, Snapshot};
use crate::policy::{LowNodeUtilization, Steering};
use crate::values::Ratio;

mod emptying;

/// A node that had the taint keeps it as long as a ratio is above this share of its target.
const COOL: f64 = 0.9;

/// A node that should have the taint, and how much it matters: the first come first.
#[derive(Debug)]
struct Wish {
    node: NodeId,
    value: SteerValue,
    why: SteerReason,
    /// How far it is above its target.
    distance: Ratio,
}

/// What is to be done about the taints, by node, in a plan with these verdicts and with moves that may land on `goals`.
pub fn steer(
    world: World<'_>,
    verdicts: &[Verdict],
    goals: &BTreeSet<NodeId>,
    halted: Option<&Halt>,
) -> Vec<Steer> {
    let tainted = tainted(world.snapshot);
    let asked = world.policy.steering.clone();
    if tainted.is_empty() && !asked.is_on() {
        return Vec::new();
    }
    let mut wishes = if halted.is_some() {
        Vec::new()
    } else {
        wishes(world, &asked, verdicts, &tainted)
    };
    let stays = |wish: &Wish| tainted.get(&wish.node).copied().flatten() == Some(wish.value);
    wishes.retain(|wish| {
        stays(wish) || wish.value != SteerValue::Emptying || !goals.contains(&wish.node)
    });
    let most = asked
        .max_nodes
        .map_or(u32::MAX, |share| share.of(selected(world)));
    let withheld = wishes.split_off(
        wishes
            .len()
            .min(usize::try_from(most).unwrap_or(usize::MAX)),
    );
    let mut steering: BTreeMap<NodeId, (SteerAction, SteerReason)> = BTreeMap::new();
    for (node, value) in &tainted {
        let why = why_not(world, *node, *value, verdicts, halted);
        steering.insert(*node, (SteerAction::Remove, why));
    }
    for wish in wishes {
        let action = if stays(&wish) {
            SteerAction::Keep(wish.value)
        } else {
            SteerAction::Add(wish.value)
        };
        steering.insert(wish.node, (action, wish.why));
    }
    for Wish { node, value, .. } in withheld {
        let action = if tainted.contains_key(&node) {
            SteerAction::Remove
        } else {
            SteerAction::Withhold(value)
        };
        steering.insert(node, (action, SteerReason::Enough(most)));
    }
    let named = |node: NodeId| world.snapshot.node(node).name.clone();
    steering
        .into_iter()
        .map(|(node, (action, why))| Steer {
            node: named(node),
            action,
            why,
        })
        .collect()
}

/// What has to be done so that no taint of ours is left.
pub fn release(snapshot: &Snapshot) -> Vec<Steer> {
    let nodes = tainted(snapshot)
        .into_keys()
        .map(|node| snapshot.node(node).name.clone());
    nodes
        .map(|node| Steer {
            node,
            action: SteerAction::Remove,
            why: SteerReason::Ending,
        })
        .collect()
}

/// The nodes with a taint of our key, and its value where it is one that we give.
fn tainted(snapshot: &Snapshot) -> BTreeMap<NodeId, Option<SteerValue>> {
    let ours = |node: NodeId| {
        snapshot
            .node(node)
            .taints
            .iter()
            .find(|taint| taint.key == STEERING_KEY)
    };
    snapshot
        .node_ids()
        .filter_map(|node| Some((node, SteerValue::of(ours(node)?))))
        .collect()
}

/// How many nodes the policy is about.
fn selected(world: World<'_>) -> u32 {
    let selects = |node: &NodeId| {
        let labels = &world.snapshot.node(*node).labels;
        world
            .policy
            .node_selector
            .as_ref()
            .is_none_or(|s| s.matches(labels))
    };
    u32::try_from(world.snapshot.node_ids().filter(selects).count()).unwrap_or(u32::MAX)
}

/// Hot nodes before those to be emptied; among each, those that have the taint first, so that it does not wander.
fn wishes(
    world: World<'_>,
    asked: &Steering,
    verdicts: &[Verdict],
    tainted: &BTreeMap<NodeId, Option<SteerValue>>,
) -> Vec<Wish> {
    let now = Draft::new(world);
    let has = |node: NodeId, value| tainted.get(&node).copied().flatten() == Some(value);
    let mut hot = if asked.hot {
        hot(&now, verdicts, |node| has(node, SteerValue::Hot))
    } else {
        Vec::new()
    };
    hot.sort_by(|a, b| {
        let kept = |wish: &Wish| has(wish.node, SteerValue::Hot);
        kept(b)
            .cmp(&kept(a))
            .then(b.distance.order(a.distance))
            .then(a.node.cmp(&b.node))
    });
    if asked.emptying {
        let taken: BTreeSet<NodeId> = hot.iter().map(|wish| wish.node).collect();
        let chosen = emptying::choose(&now, verdicts, |node| has(node, SteerValue::Emptying));
        let open = chosen.into_iter().filter(|(node, _)| !taken.contains(node));
        hot.extend(open.map(|(node, why)| Wish {
            node,
            value: SteerValue::Emptying,
            why,
            distance: Ratio::ZERO,
        }));
    }
    hot
}

/// Nodes that are hot for long enough, and those that had the taint for it and have not cooled yet, or are left by pods
/// whose replacements have no node yet.
fn hot(now: &Draft<'_>, verdicts: &[Verdict], has: impl Fn(NodeId) -> bool) -> Vec<Wish> {
    let snapshot = now.world.snapshot;
    let mut wishes: BTreeMap<NodeId, (SteerReason, Ratio)> = BTreeMap::new();
    for rule in now
        .world
        .policy
        .strategies
        .iter()
        .filter_map(|s| LowNodeUtilization::of(&s.rule))
    {
        for (node, warm) in low_node_utilization::above_share(now, rule, COOL)
            .into_iter()
            .filter(|(n, _)| has(*n))
        {
            let resource = snapshot.resources.name(warm.resource).to_owned();
            wishes.insert(
                node,
                (
                    SteerReason::Cooling {
                        resource,
                        ratio: warm.ratio,
                        cool: warm.mark,
                    },
                    Ratio::ZERO,
                ),
            );
        }
    }
    for verdict in verdicts {
        if let (
            Class::Hot {
                resource,
                ratio,
                target,
            },
            Some(node),
        ) = (&verdict.class, snapshot.find_node(&verdict.node))
        {
            let why = SteerReason::Hot {
                resource: resource.clone(),
                ratio: *ratio,
                target: *target,
            };
            wishes.insert(node, (why, ratio.minus(*target)));
        }
    }
    // A StatefulSet makes the replacement when the pod has ended, which may take minutes: it would come back.
    let open = |node: &NodeId| {
        now.world
            .ledger
            .is_left_open(snapshot, &snapshot.node(*node).name)
    };
    let trusted = |node: &NodeId| unsure(verdicts, &snapshot.node(*node).name).is_none();
    for node in snapshot
        .node_ids()
        .filter(|node| has(*node) && trusted(node) && open(node))
    {
        wishes
            .entry(node)
            .or_insert((SteerReason::Unlanded, Ratio::ZERO));
    }
    let wish = |(node, (why, distance))| Wish {
        node,
        value: SteerValue::Hot,
        why,
        distance,
    };
    wishes.into_iter().map(wish).collect()
}

/// The verdict by which a node is left alone, if there is one.
fn unsure<'v>(verdicts: &'v [Verdict], node: &str) -> Option<&'v Verdict> {
    let unsure = |class: &Class| {
        matches!(
            class,
            Class::Unknown(_) | Class::Doubtful(_) | Class::NotReady | Class::NotSelected
        )
    };
    verdicts.iter().find(|v| v.node == node && unsure(&v.class))
}

/// Why a node that has the taint should not have it.
fn why_not(
    world: World<'_>,
    node: NodeId,
    value: Option<SteerValue>,
    verdicts: &[Verdict],
    halted: Option<&Halt>,
) -> SteerReason {
    let asked = match value {
        Some(SteerValue::Hot) => world.policy.steering.hot,
        Some(SteerValue::Emptying) => world.policy.steering.emptying,
        None => false,
    };
    if !asked {
        return SteerReason::NotAsked;
    }
    if let Some(halt) = halted {
        return SteerReason::Unsure(halt.to_string());
    }
    match unsure(verdicts, &world.snapshot.node(node).name) {
        Some(verdict) => SteerReason::Unsure(verdict.class.to_string()),
        None if value == Some(SteerValue::Hot) => SteerReason::Cooled,
        None => SteerReason::NotEmptied,
    }
}
