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

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::decide::projection::World;
use crate::decide::scheduler;
use crate::model::plan::{
    Class, Halt, Refusal, STEERING_KEY, Steer, SteerAction, SteerReason, SteerValue, Verdict,
};
use crate::model::snapshot::{NodeId, PodId, Snapshot};
use crate::policy::{HighNodeUtilization, LowNodeUtilization, Policy, Rule, Share};
use crate::values::Ratio;

mod emptying;
mod hot;

/// A node that should have the taint.
#[derive(Debug)]
struct Wish {
    node: NodeId,
    value: SteerValue,
    why: SteerReason,
    /// The distance above its target, or the ratio of a node that is not hot, with a lead for the
    /// taint that it has.
    distance: Ratio,
}

impl Wish {
    /// Whether the node is hot, or pods that left it have no other node yet. Such a node has the
    /// taint even if replacements are expected on it.
    const fn is_urgent(&self) -> bool {
        let calm = matches!(self.why, SteerReason::Warm { .. } | SteerReason::Cooling { .. });
        matches!(self.value, SteerValue::Hot) && !calm
    }
}

/// A wish that exceeds a limit, and which limit.
type Withheld = (Wish, SteerReason);

/// The most nodes with the taint, among some nodes.
struct Limit {
    most: u32,
    of: u32,
}

impl Limit {
    fn new(share: Option<Share>, nodes: usize) -> Self {
        let of = u32::try_from(nodes).unwrap_or(u32::MAX);
        Limit { most: share.map_or(u32::MAX, |share| share.of(of)), of }
    }

    /// Takes away the last wishes if there are too many beside others.
    fn withhold(&self, wishes: &mut Vec<Wish>, others: usize) -> Vec<Withheld> {
        let most = usize::try_from(self.most).unwrap_or(usize::MAX).saturating_sub(others);
        let rest = wishes.split_off(wishes.len().min(most)).into_iter();
        rest.map(|wish| (wish, SteerReason::Enough { most: self.most, of: self.of })).collect()
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
    let (mut wishes, mut withheld, mut released) = (Vec::new(), Vec::new(), BTreeMap::new());
    if halted.is_none() {
        wishes = self::wishes(world, verdicts, landings, &tainted, &mut withheld, &mut released);
    }
    let has_taint = |wish: &Wish| value_on(&tainted, wish.node) == Some(wish.value);
    wishes
        .retain(|wish| has_taint(wish) || wish.is_urgent() || !landings.moves.contains(&wish.node));
    let limit = Limit::new(policy.max_nodes, selected(world));
    withheld.extend(limit.withhold(&mut wishes, 0));
    let mut steering: BTreeMap<NodeId, (SteerAction, SteerReason)> = BTreeMap::new();
    for (node, has) in &tainted {
        let needed = released.get(node).map(|hot| world.snapshot.node(*hot).name.clone());
        let why = needed.map(SteerReason::Needed);
        let why = why.unwrap_or_else(|| why_not(world, has, halted));
        steering.insert(*node, (SteerAction::Remove, why));
    }
    for (Wish { node, value, .. }, why) in withheld {
        let action = if tainted.contains_key(&node) {
            SteerAction::Remove
        } else {
            SteerAction::Withhold(value)
        };
        steering.insert(node, (action, why));
    }
    for wish in wishes {
        let action = if has_taint(&wish) {
            SteerAction::Keep(wish.value)
        } else {
            SteerAction::Add(wish.value)
        };
        steering.insert(wish.node, (action, wish.why));
    }
    let name = |node: NodeId| world.snapshot.node(node).name.clone();
    let steering = steering.into_iter();
    steering.map(|(node, (action, why))| Steer { node: name(node), action, why }).collect()
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
fn selected(world: World<'_>) -> usize {
    let nodes = world.snapshot.nodes.iter();
    nodes.filter(|node| world.policy.selects(&node.labels)).count()
}

/// The nodes that should have the taint: hot nodes first, then warm ones, full ones and nodes to be
/// emptied.
///
/// `withheld` gets the warm nodes beyond the limit of their pool, and `released` the nodes that
/// lose the taint, each with the hot node that needs them.
fn wishes(
    world: World<'_>,
    verdicts: &[Verdict],
    landings: &Landings,
    tainted: &TaintedNodes<'_>,
    withheld: &mut Vec<Withheld>,
    released: &mut BTreeMap<NodeId, NodeId>,
) -> Vec<Wish> {
    let (now, policy) = (Draft::new(world), &world.policy.steering);
    let has = |node: NodeId, value| value_on(tainted, node) == Some(value);
    let mut wishes = Vec::new();
    if policy.hot {
        let has_taint = |node| has(node, SteerValue::Hot);
        wishes = hot::hot(&now, verdicts, has_taint);
        hot::add_warm(&now, &mut wishes, landings, has_taint, withheld);
    }
    let (unlanded_hot, unlanded): (Vec<Wish>, Vec<Wish>) =
        unlanded(world, landings, tainted).partition(|wish| wish.value == SteerValue::Hot);
    add(&mut wishes, unlanded_hot);
    sort(&mut wishes);
    if policy.emptying {
        let chosen = emptying::choose(&now, landings, has, released);
        let distance = Ratio::ZERO;
        let chosen = chosen.into_iter();
        let chosen = chosen.map(|(node, value, why)| Wish { node, value, why, distance });
        add(&mut wishes, chosen.chain(unlanded));
    }
    wishes
}

/// Sorts wishes for hot and warm nodes by urgency and distance.
fn sort(wishes: &mut [Wish]) {
    wishes.sort_by(|a, b| {
        let by_urgency = b.is_urgent().cmp(&a.is_urgent());
        by_urgency.then(b.distance.order(a.distance)).then(a.node.cmp(&b.node))
    });
}

/// Adds wishes for the nodes that have none yet.
fn add(wishes: &mut Vec<Wish>, more: impl IntoIterator<Item = Wish>) {
    let taken: BTreeSet<NodeId> = wishes.iter().map(|wish| wish.node).collect();
    wishes.extend(more.into_iter().filter(|wish| !taken.contains(&wish.node)));
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
        keeps.then_some(Wish { node: *node, value, why, distance: Ratio::ONE })
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
