//! Steering: soft taints that tell the scheduler to avoid hot nodes and nodes that are being
//! emptied.
//!
//! The scheduler places pods by requests, so the replacement of an evicted pod may return to a hot
//! node, or to a node that was just emptied. A taint with the effect `PreferNoSchedule` makes a
//! node the last choice without closing it. kube-scheduler's plugin TaintToleration has the weight
//! 3 by default. cluster-autoscaler marks candidates for deletion in the same way.
//!
//! Two phases make steering safe. This module only decides which taints there should be, and every
//! other decision looks at the taints that the nodes have. So a taint that could not be set makes
//! no decision wrong. Taints are set before the replacements are scheduled. Therefore a node on
//! which the plan expects replacements gets no taint from that plan.
//!
//! While a node is hot, all but the coolest nodes have the taint as well. The scheduler often
//! prefers these: a node that has just lost pods has the fewest requests. One more pod would make
//! it hot again.
//!
//! A node has cooled when every ratio is at most 65% of its target. The margin keeps a node near
//! its target from gaining and losing the taint repeatedly. Unlike a waiting time it needs no
//! memory, so a restart decides the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::decide::projection::World;
use crate::decide::scheduler;
use crate::decide::targets::{self, AboveTarget, part_above};
use crate::model::plan::{
    Class, Halt, Refusal, STEERING_KEY, Steer, SteerAction, SteerReason, SteerValue, Verdict,
};
use crate::model::snapshot::{NodeId, PodId, Snapshot};
use crate::policy::{HighNodeUtilization, LowNodeUtilization, Policy, Rule};
use crate::values::Ratio;

mod emptying;

/// A node keeps the taint as long as a ratio is above this share of its target. It was chosen on
/// recorded usage (`tests/traces.sh`): with 80%, a third more pods are evicted, because a node that
/// was hot often becomes hot again.
const COOL: f64 = 0.65;

/// A node gets the taint while other nodes are hot if a ratio is above this share of its target.
const WARM: f64 = 0.75;

/// A node that should have the taint.
#[derive(Debug)]
struct Wish {
    node: NodeId,
    value: SteerValue,
    why: SteerReason,
    /// The distance above its target, or the ratio of a node that is not hot.
    distance: Ratio,
}

/// The order in which nodes get the taint, up to the limit of nodes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// The node is hot, or pods that left it have no other node yet.
    Hot,
    /// It had the taint and has not cooled.
    Cooling,
    /// It is not one of the coolest nodes.
    Warm,
}

impl Wish {
    /// Whether the node should have the taint even if replacements are expected on it.
    const fn is_urgent(&self) -> bool {
        matches!(self.value, SteerValue::Hot) && !matches!(self.why, SteerReason::Warm { .. })
    }

    const fn urgency(&self) -> Urgency {
        if matches!(self.why, SteerReason::Warm { .. }) {
            Urgency::Warm
        } else if matches!(self.why, SteerReason::Cooling { .. }) {
            Urgency::Cooling
        } else {
            Urgency::Hot
        }
    }
}

/// A node with the steering taint.
struct TaintedNode<'v> {
    /// The value of the taint, if it is a known one.
    value: Option<SteerValue>,
    /// Why the node is not touched; `None` if it may be.
    unsure: Option<&'v Class>,
}

type TaintedNodes<'v> = BTreeMap<NodeId, TaintedNode<'v>>;

/// Where the pods of a plan may land, and where they should not.
#[derive(Debug, Default)]
pub struct Landings {
    /// Nodes on which moves of the plan may land.
    moves: BTreeSet<NodeId>,
    /// Nodes that pods stay away from, because their usage would be too high there. No move may
    /// land there.
    too_hot: BTreeSet<NodeId>,
    /// For each hot node that no pod leaves, the pods that stay because of where they would land.
    stuck: BTreeMap<NodeId, Vec<PodId>>,
    /// Whether a move's replacement is created only after its pod has ended, so that it lands by
    /// the taints of that time.
    in_turn: bool,
}

impl Landings {
    /// Returns the landings of a finished decision.
    pub fn of(draft: &Draft<'_>) -> Self {
        let moves = draft.possible_nodes();
        let refusals = refusals(draft, |rule| HighNodeUtilization::of(rule).is_some());
        let too_hot = refusals.filter_map(|(_, why)| why.would_be_hot());
        let too_hot = too_hot.filter_map(|node| draft.world.snapshot.find_node(node));
        let too_hot = too_hot.filter(|node| !moves.contains(node)).collect();
        let in_turn = draft.count(|_, pod| scheduler::in_turn(draft.world.snapshot, pod)) > 0;
        Landings { moves, too_hot, stuck: stuck(draft), in_turn }
    }
}

/// The refusals for the strategies of a kind.
fn refusals<'d>(
    draft: &'d Draft<'_>,
    is_one: impl Fn(&Rule) -> bool,
) -> impl Iterator<Item = (PodId, &'d Refusal)> {
    let strategies = draft.world.policy.strategies.iter().enumerate();
    let these = strategies.filter(move |(_, strategy)| is_one(&strategy.rule));
    these.flat_map(|(position, _)| draft.refusals(position))
}

fn stuck(draft: &Draft<'_>) -> BTreeMap<NodeId, Vec<PodId>> {
    let refusals = refusals(draft, |rule| LowNodeUtilization::of(rule).is_some());
    let mut stuck: BTreeMap<NodeId, Vec<PodId>> = BTreeMap::new();
    for (pod, _) in refusals.filter(|(_, why)| why.lies_in_the_landing()) {
        let node = draft.world.snapshot.pod(pod).node;
        if let Some(node) = node.filter(|node| draft.going(*node).next().is_none()) {
            stuck.entry(node).or_default().push(pod);
        }
    }
    stuck
}

/// The changes of taints, by node.
pub fn steer(
    world: World<'_>,
    verdicts: &[Verdict],
    landings: &Landings,
    halted: Option<&Halt>,
) -> Vec<Steer> {
    let tainted = tainted(world.snapshot, world.policy, verdicts);
    let policy = &world.policy.steering;
    if tainted.is_empty() && !policy.is_on() {
        return Vec::new();
    }
    let (mut wishes, mut released) = (Vec::new(), BTreeMap::new());
    if halted.is_none() {
        wishes = self::wishes(world, verdicts, landings, &tainted, &mut released);
    }
    let has_taint = |wish: &Wish| value_on(&tainted, wish.node) == Some(wish.value);
    wishes
        .retain(|wish| has_taint(wish) || wish.is_urgent() || !landings.moves.contains(&wish.node));
    let most = policy.max_nodes.map_or(u32::MAX, |share| share.of(selected(world)));
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    let withheld = wishes.split_off(wishes.len().min(limit));
    let mut steering: BTreeMap<NodeId, (SteerAction, SteerReason)> = BTreeMap::new();
    for (node, has) in &tainted {
        let needed = released.get(node).map(|hot| world.snapshot.node(*hot).name.clone());
        let why = needed.map(SteerReason::Needed);
        let why = why.unwrap_or_else(|| why_not(world, has, halted));
        steering.insert(*node, (SteerAction::Remove, why));
    }
    for wish in wishes {
        let action = if has_taint(&wish) {
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
    named(world.snapshot, steering)
}

fn named(
    snapshot: &Snapshot,
    steering: BTreeMap<NodeId, (SteerAction, SteerReason)>,
) -> Vec<Steer> {
    let mut named = Vec::new();
    for (node, (action, why)) in steering {
        let node = snapshot.node(node).name.clone();
        named.push(Steer { node, action, why });
    }
    named
}

/// The removal of every steering taint of the nodes that the policy selects.
pub fn release(snapshot: &Snapshot, policy: &Policy) -> Vec<Steer> {
    let nodes = tainted(snapshot, policy, &[]).into_keys();
    let nodes = nodes.map(|node| snapshot.node(node).name.clone());
    nodes
        .map(|node| Steer { node, action: SteerAction::Remove, why: SteerReason::Ending })
        .collect()
}

/// The nodes with the steering taint. The taints of nodes that the policy does not select are those
/// of the instance that balances them.
fn tainted<'v>(snapshot: &Snapshot, policy: &Policy, verdicts: &'v [Verdict]) -> TaintedNodes<'v> {
    let mut unsure: BTreeMap<&str, &Class> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| is_unsure(&verdict.class)) {
        unsure.entry(&verdict.node).or_insert(&verdict.class);
    }
    let nodes = snapshot.node_ids().zip(&snapshot.nodes);
    nodes
        .filter(|(_, node)| policy.selects(&node.labels))
        .filter_map(|(id, node)| {
            let ours = node.taints.iter().find(|taint| taint.key == STEERING_KEY)?;
            let unsure = unsure.get(node.name.as_str()).copied();
            Some((id, TaintedNode { value: SteerValue::of(ours), unsure }))
        })
        .collect()
}

fn value_on(tainted: &TaintedNodes<'_>, node: NodeId) -> Option<SteerValue> {
    tainted.get(&node)?.value
}

/// The number of nodes that the policy selects.
fn selected(world: World<'_>) -> u32 {
    let nodes = world.snapshot.nodes.iter();
    let selected = nodes.filter(|node| world.policy.selects(&node.labels));
    u32::try_from(selected.count()).unwrap_or(u32::MAX)
}

/// The nodes that should have the taint: hot nodes first, then full nodes, then nodes to be
/// emptied.
///
/// Among the hot nodes, those that have the taint come first, so that it does not wander.
/// `released` gets the nodes that lose it, each with the hot node that needs them.
fn wishes(
    world: World<'_>,
    verdicts: &[Verdict],
    landings: &Landings,
    tainted: &TaintedNodes<'_>,
    released: &mut BTreeMap<NodeId, NodeId>,
) -> Vec<Wish> {
    let (now, policy) = (Draft::new(world), &world.policy.steering);
    let has = |node: NodeId, value| value_on(tainted, node) == Some(value);
    let mut wishes = Vec::new();
    if policy.hot {
        wishes = hot(&now, verdicts, |node| has(node, SteerValue::Hot));
    }
    let (unlanded_hot, unlanded): (Vec<Wish>, Vec<Wish>) =
        unlanded(world, landings, tainted).partition(|wish| wish.value == SteerValue::Hot);
    add(&mut wishes, unlanded_hot);
    wishes.sort_by(|a, b| {
        let kept = has(b.node, SteerValue::Hot).cmp(&has(a.node, SteerValue::Hot));
        a.urgency()
            .cmp(&b.urgency())
            .then(kept)
            .then(b.distance.order(a.distance))
            .then(a.node.cmp(&b.node))
    });
    if policy.emptying {
        let chosen = emptying::choose(&now, landings, has, released);
        let distance = Ratio::ZERO;
        let chosen = chosen.into_iter();
        let chosen = chosen.map(|(node, value, why)| Wish { node, value, why, distance });
        add(&mut wishes, chosen.chain(unlanded));
    }
    wishes
}

/// Adds wishes for the nodes that have none yet.
fn add(wishes: &mut Vec<Wish>, more: impl IntoIterator<Item = Wish>) {
    let taken: BTreeSet<NodeId> = wishes.iter().map(|wish| wish.node).collect();
    wishes.extend(more.into_iter().filter(|wish| !taken.contains(&wish.node)));
}

/// Nodes that have been hot for long enough, and nodes with the taint that have not cooled.
fn hot(now: &Draft<'_>, verdicts: &[Verdict], has_taint: impl Fn(NodeId) -> bool) -> Vec<Wish> {
    let snapshot = now.world.snapshot;
    let mut reasons = BTreeMap::new();
    if verdicts.iter().any(|verdict| verdict.class.is_hot()) {
        reasons = above(now, WARM, |node| !has_taint(node), warm);
    }
    reasons.extend(above(now, COOL, &has_taint, cooling));
    for verdict in verdicts {
        if let Class::Hot { resource, ratio, target, .. } = &verdict.class
            && let Some(node) = snapshot.find_node(&verdict.node)
        {
            let why =
                SteerReason::Hot { resource: resource.clone(), ratio: *ratio, target: *target };
            reasons.insert(node, (why, part_above(*ratio, *target)));
        }
    }
    let wishes = reasons.into_iter().map(|(node, (why, distance))| Wish {
        node,
        value: SteerValue::Hot,
        why,
        distance,
    });
    wishes.collect()
}

/// Nodes that keep their taint until the replacements that should not land there have a node.
fn unlanded(
    world: World<'_>,
    landings: &Landings,
    tainted: &TaintedNodes<'_>,
) -> impl Iterator<Item = Wish> {
    let snapshot = world.snapshot;
    let keeps = move |(node, has): (&NodeId, &TaintedNode<'_>)| {
        let name = &snapshot.node(*node).name;
        let value = has.value.filter(|value| is_asked(world, *value))?;
        let waits = || world.ledger.has_unplaced_replacement(snapshot, name);
        let keeps = has.unsure.is_none() && (landings.in_turn || waits());
        let why = SteerReason::Unlanded;
        keeps.then_some(Wish { node: *node, value, why, distance: Ratio::ZERO })
    };
    tainted.iter().filter_map(keeps)
}

/// Whether the policy asks for a taint of this value.
fn is_asked(world: World<'_>, value: SteerValue) -> bool {
    match value {
        SteerValue::Hot => {
            world.policy.steering.hot && world.policy.low_node_utilization().next().is_some()
        }
        SteerValue::Emptying | SteerValue::Full => world.policy.steering.emptying,
    }
}

/// The node is too warm for replacements.
const fn warm(resource: String, warm: AboveTarget) -> SteerReason {
    SteerReason::Warm { resource, ratio: warm.ratio, limit: warm.target }
}

/// The node has the taint and has not cooled.
const fn cooling(resource: String, warm: AboveTarget) -> SteerReason {
    SteerReason::Cooling { resource, ratio: warm.ratio, cool: warm.target }
}

/// The nodes above this share of a target that count, each with the reason for its taint. The ratio
/// decides which come first.
fn above(
    now: &Draft<'_>,
    share: f64,
    counts: impl Fn(NodeId) -> bool,
    why: fn(String, AboveTarget) -> SteerReason,
) -> BTreeMap<NodeId, (SteerReason, Ratio)> {
    let rules = now.world.policy.low_node_utilization();
    let above = rules.flat_map(|rule| targets::above_share(now, rule, share));
    let above = above.filter(|(node, _)| counts(*node));
    above.map(|(node, warm)| (node, (why(warm.name(now), warm), warm.ratio))).collect()
}

/// Whether a node of this class is not touched.
const fn is_unsure(class: &Class) -> bool {
    matches!(
        class,
        Class::Unknown(_)
            | Class::Unreadable(_)
            | Class::NotReady
            | Class::Deleting
            | Class::NoAllocatable(_)
            | Class::Lacks(_)
            | Class::NotSelected
    )
}

/// Why a node loses the taint.
fn why_not(world: World<'_>, node: &TaintedNode<'_>, halted: Option<&Halt>) -> SteerReason {
    let value = node.value;
    if !value.is_some_and(|value| is_asked(world, value)) {
        return SteerReason::NotAsked;
    }
    if let Some(halt) = halted {
        return SteerReason::Halted(Box::new(halt.clone()));
    }
    match node.unsure {
        Some(class) => SteerReason::Unsure(class.to_string()),
        None if value == Some(SteerValue::Hot) => SteerReason::Cooled,
        None if value == Some(SteerValue::Full) => SteerReason::NotFull,
        None => SteerReason::NotEmptied,
    }
}
