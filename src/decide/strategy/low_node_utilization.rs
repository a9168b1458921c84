//! LowNodeUtilization: from nodes above a target to nodes below every threshold.
//!
//! A victim is the pod that brings its node below the target with the fewest evictions: the
//! smallest that does it alone, else the one that relieves most. A pod whose leaving relieves
//! nothing that is over is never a victim. Nor does a lesser pod go because a better one has to
//! wait for a limit: what waits counts as leaving. Where the pods that are left cannot bring the
//! node below its target, only those go that relieve a quarter of the excess or more.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::model::plan::{Class, Idle, Note, Reach, Reason, Refusal, Verdict};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, LowNodeUtilization, Pool};
use crate::values::{Amount, Ratio, ResourceId};

mod word;

/// The strategy at work.
#[derive(Debug)]
pub struct Running {
    position: usize,
    basis: Basis,
    pools: Vec<Band>,
    asked: BTreeSet<PodId>,
    exhausted: BTreeSet<NodeId>,
}

/// One pool of nodes, and the marks that they are measured by.
#[derive(Debug, Default)]
pub struct Band {
    name: String,
    nodes: Vec<NodeId>,
    low: Marks,
    high: Marks,
    hot: Vec<NodeId>,
    /// How many are above a target, but not for long enough.
    warming: usize,
    cold: usize,
    /// Why nothing is done with it; `None` where something is.
    idle: Option<Idle>,
    /// All that is not hot: the scheduler decides which of them it is, and it may be no cold one.
    takers: Rc<[NodeId]>,
}

/// A mark for each resource.
pub type Marks = Rc<[(ResourceId, Ratio)]>;

/// A resource of a node that is over its target.
#[derive(Clone, Copy, Debug)]
struct Excess {
    resource: ResourceId,
    amount: Amount,
    ratio: Ratio,
    target: Ratio,
}

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &LowNodeUtilization) -> Self {
        let mut pools = bands(draft, rule);
        let classes = pools
            .iter()
            .flat_map(|band| band.nodes.iter().map(move |n| (*n, Some(band))))
            .collect::<Vec<_>>();
        let pooled: BTreeSet<NodeId> = classes.iter().map(|(n, _)| *n).collect();
        let others = draft
            .world
            .snapshot
            .node_ids()
            .filter(|n| !pooled.contains(n))
            .map(|n| (n, None));
        let mut classes: Vec<(NodeId, Class)> = classes
            .into_iter()
            .chain(others)
            .map(|(node, band)| (node, classify(draft, position, rule, node, band)))
            .collect();
        classes.sort_by_key(|(node, _)| *node);
        for band in &mut pools {
            band.choose(&classes);
            band.idle = band.idle(rule);
            if let Some(why) = band.idle.clone() {
                draft.note(Note {
                    strategy: NAME,
                    pool: band.name.clone(),
                    why,
                });
            }
        }
        for (node, class) in classes {
            let node = draft.world.snapshot.node(node).name.clone();
            draft.judge(Verdict {
                node,
                strategy: NAME,
                class,
            });
        }
        Running {
            position,
            basis: rule.basis,
            pools,
            asked: BTreeSet::new(),
            exhausted: BTreeSet::new(),
        }
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        loop {
            let (band, node, over) = self.worst(draft)?;
            let room = band.room(self.basis);
            let Some(pod) = self.victim(draft, node, &over) else {
                self.exhausted.insert(node);
                continue;
            };
            self.asked.insert(pod);
            let Excess {
                resource,
                ratio,
                target,
                ..
            } = *over.first()?;
            let resource = draft.world.snapshot.resources.name(resource).to_owned();
            let reason = Reason::HotNode {
                resource,
                ratio,
                target,
                basis: self.basis,
            };
            return Some(Candidate {
                pod,
                strategy: self.position,
                reason,
                room: Some(room),
            });
        }
    }

    /// The hot node that is furthest over, and by what.
    fn worst(&self, draft: &Draft<'_>) -> Option<(&Band, NodeId, Vec<Excess>)> {
        let awake = self.pools.iter().filter(|band| band.idle.is_none());
        let hot = awake.flat_map(|band| band.hot.iter().map(move |n| (band, *n)));
        let open = hot.filter(|(_, n)| !self.exhausted.contains(n) && !self.closed(draft, *n));
        let over = open
            .map(|(band, n)| (band, n, self.excess(draft, band, n)))
            .filter(|(_, _, over)| !over.is_empty());
        over.max_by(|(_, a, x), (_, b, y)| {
            let distance = |over: &[Excess]| over[0].ratio.minus(over[0].target);
            distance(x).order(distance(y)).then(b.cmp(a))
        })
    }

    /// Whether a gate has refused everything on this node.
    fn closed(&self, draft: &Draft<'_>, node: NodeId) -> bool {
        let answers = self.answers(draft, node);
        answers
            .into_iter()
            .any(|(_, refusal)| refusal.reach() != Reach::Pod)
    }

    fn answers<'d>(&self, draft: &'d Draft<'_>, node: NodeId) -> Vec<(PodId, &'d Refusal)> {
        let pods = draft.pods_on(node).filter(|p| self.asked.contains(p));
        pods.filter_map(|p| Some((p, draft.refusal(self.position, p)?)))
            .collect()
    }

    /// What the node is over by, the worst first, once the pods have left that only have to wait.
    fn excess(&self, draft: &Draft<'_>, band: &Band, node: NodeId) -> Vec<Excess> {
        let waiting: Vec<PodId> = self
            .answers(draft, node)
            .into_iter()
            .filter(|(_, why)| why.is_temporary())
            .map(|(pod, _)| pod)
            .collect();
        let whole = &draft.world.snapshot.node(node).allocatable;
        let mut over: Vec<Excess> = Vec::new();
        for &(resource, target) in band.high.iter() {
            let promised: Amount = waiting
                .iter()
                .filter_map(|p| draft.weight(*p, resource, self.basis))
                .sum();
            let Some(load) = draft.load(node, resource, self.basis) else {
                continue;
            };
            let amount = load.minus(promised).minus(whole[resource].times(target));
            let Some(ratio) = draft
                .ratio(node, resource, self.basis)
                .filter(|_| amount > Amount::ZERO)
            else {
                continue;
            };
            over.push(Excess {
                resource,
                amount,
                ratio,
                target,
            });
        }
        over.sort_by(|a, b| {
            b.ratio
                .minus(b.target)
                .order(a.ratio.minus(a.target))
                .then(a.resource.cmp(&b.resource))
        });
        over
    }

    fn victim(&self, draft: &Draft<'_>, node: NodeId, over: &[Excess]) -> Option<PodId> {
        let open = |p: &PodId| {
            draft.world.snapshot.pod(*p).stays() && !draft.moves(*p) && !self.asked.contains(p)
        };
        let pods: Vec<PodId> = draft
            .world
            .snapshot
            .node(node)
            .pods
            .iter()
            .copied()
            .filter(open)
            .collect();
        let all = |by: &Excess| {
            pods.iter()
                .filter_map(|p| self.relief(draft, *p, by))
                .sum::<Amount>()
        };
        // Small pods go where together they can finish the job, not where they only make the plan
        // longer.
        let can_finish = over.iter().all(|by| all(by) >= by.amount);
        let worth = |p: PodId, by: &Excess| {
            self.relief(draft, p, by)
                .is_none_or(|r| r >= by.amount.times(WORTHWHILE))
        };
        let counts = |p: &PodId| over.iter().any(|by| worth(*p, by));
        pods.iter()
            .filter(|p| can_finish || counts(p))
            .filter_map(|p| Some((self.rank(draft, node, *p, over)?, *p)))
            .min_by(|(a, _), (b, _)| a.cmp(b))
            .map(|(_, pod)| pod)
    }

    /// What the pod's leaving would take of what is over; `None` where its weight is not known.
    fn relief(&self, draft: &Draft<'_>, pod: PodId, by: &Excess) -> Option<Amount> {
        draft
            .weight(pod, by.resource, self.basis)
            .map(|weight| weight.min(by.amount))
    }

    /// How well the pod's weight matches the excess, then whom it hurts least; the least is asked
    /// for first. `None` where its leaving relieves nothing.
    fn rank(
        &self,
        draft: &Draft<'_>,
        node: NodeId,
        pod: PodId,
        over: &[Excess],
    ) -> Option<impl Ord + use<>> {
        let whole = &draft.world.snapshot.node(node).allocatable;
        let share =
            |amount: Amount, r: ResourceId| amount.share_of(whole[r]).unwrap_or_default().get();
        let (mut relief, mut surplus, mut alone, mut known) = (0.0, 0.0, true, true);
        for Excess {
            resource, amount, ..
        } in over
        {
            match draft.weight(pod, *resource, self.basis) {
                Some(weight) => {
                    relief += share(weight.min(*amount), *resource);
                    surplus += share(weight.minus(*amount), *resource);
                    alone &= weight >= *amount;
                }
                None => known = false,
            }
        }
        if known && relief <= 0.0 {
            return None;
        }
        // A pod of unknown weight is asked for last, so that the plan can say why it stays.
        let fit = match (known, alone) {
            (true, true) => (0, percent(surplus)),
            (true, false) => (1, -percent(relief)),
            (false, _) => (2, 0),
        };
        let it = draft.world.snapshot.pod(pod);
        Some((
            fit,
            it.priority.unwrap_or(i32::MIN),
            it.qos,
            Reverse(it.created),
            it.annotations.deletion_cost,
            pod,
        ))
    }
}

const NAME: &str = "LowNodeUtilization";

/// The least share of a node's excess that a pod should relieve where the node cannot be brought
/// below its target.
const WORTHWHILE: Ratio = Ratio::QUARTER;

/// Whole percents: pods that match about as well are told apart by whom it hurts least.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of a node is far from the bounds, and casts saturate"
)]
fn percent(share: f64) -> i64 {
    (share * 100.0).round() as i64
}

/// Positions of the nodes that are above a target of this rule now, whether or not for long enough.
pub fn above_target(draft: &Draft<'_>, rule: &LowNodeUtilization) -> BTreeSet<NodeId> {
    let bands = bands(draft, rule);
    let over = |band: &Band, n: NodeId| exceeded(draft, rule, &band.high, n).is_some();
    bands
        .iter()
        .flat_map(|b| b.nodes.iter().filter(|n| over(b, **n)).copied())
        .collect()
}

/// A resource of a node that is above a mark.
#[derive(Clone, Copy, Debug)]
pub struct Above {
    /// The resource.
    pub resource: ResourceId,
    /// The node's ratio.
    pub ratio: Ratio,
    /// The mark.
    pub mark: Ratio,
}

/// The nodes above this share of a target of the rule, each with the resource that is furthest
/// above it.
pub fn above_share(
    draft: &Draft<'_>,
    rule: &LowNodeUtilization,
    share: f64,
) -> BTreeMap<NodeId, Above> {
    let mut above = BTreeMap::new();
    for band in bands(draft, rule) {
        let scaled =
            |(r, target): &(ResourceId, Ratio)| Some((*r, Ratio::new(target.get() * share)?));
        let marks: Marks = band.high.iter().filter_map(scaled).collect();
        for node in &band.nodes {
            if let Some(Excess {
                resource,
                ratio,
                target: mark,
                ..
            }) = exceeded(draft, rule, &marks, *node)
            {
                above.insert(
                    *node,
                    Above {
                        resource,
                        ratio,
                        mark,
                    },
                );
            }
        }
    }
    above
}

/// The marks of one pool as they are now, and the nodes that are measured by them.
#[derive(Debug)]
pub struct InForce {
    /// The pool.
    pub pool: String,
    /// Its nodes, but for those that cannot be weighed.
    pub nodes: Vec<NodeId>,
    /// The thresholds; with deviation thresholds, around the mean of the nodes.
    pub low: Marks,
    /// The targets.
    pub high: Marks,
}

/// The marks that the rule's pools are measured by.
pub fn in_force(draft: &Draft<'_>, rule: &LowNodeUtilization) -> Vec<InForce> {
    let bands = bands(draft, rule).into_iter();
    bands
        .map(
            |Band {
                 name,
                 nodes,
                 low,
                 high,
                 ..
             }| InForce {
                pool: name,
                nodes,
                low,
                high,
            },
        )
        .collect()
}

/// The nodes that can be source or destination.
pub fn fit(draft: &Draft<'_>, basis: Basis) -> Vec<NodeId> {
    draft
        .world
        .snapshot
        .node_ids()
        .filter(|n| unfit(draft, basis, *n).is_none())
        .collect()
}

/// Sorts the nodes that can be weighed into their pools.
fn bands(draft: &Draft<'_>, rule: &LowNodeUtilization) -> Vec<Band> {
    let mut pools: Vec<(&Pool, Vec<NodeId>)> = rule.pools.iter().map(|p| (p, Vec::new())).collect();
    for node in fit(draft, rule.basis) {
        let labels = &draft.world.snapshot.node(node).labels;
        let selects = |pool: &Pool| pool.selector.as_ref().is_none_or(|s| s.matches(labels));
        if let Some((_, nodes)) = pools.iter_mut().find(|(pool, _)| selects(pool)) {
            nodes.push(node);
        }
    }
    pools
        .into_iter()
        .map(|(pool, nodes)| Band::new(draft, rule, pool, nodes))
        .collect()
}

impl Band {
    fn new(draft: &Draft<'_>, rule: &LowNodeUtilization, pool: &Pool, nodes: Vec<NodeId>) -> Self {
        let resources = &draft.world.snapshot.resources;
        let marks =
            |thresholds: &[(String, Ratio)], from_mean: fn(Ratio, Ratio) -> Ratio| -> Marks {
                let known = thresholds
                    .iter()
                    .filter_map(|(name, ratio)| Some((resources.find(name)?, *ratio)));
                known
                    .map(|(r, ratio)| {
                        match rule.deviation.then(|| mean(draft, rule.basis, &nodes, r)) {
                            Some(mean) => (r, from_mean(mean, ratio).at_most(Ratio::ONE)),
                            None => (r, ratio),
                        }
                    })
                    .collect()
            };
        let low = marks(&pool.thresholds, Ratio::minus);
        let high = marks(&pool.targets, Ratio::plus);
        Band {
            name: pool.name.clone(),
            nodes,
            low,
            high,
            ..Band::default()
        }
    }

    fn room(&self, basis: Basis) -> DestinationLimits {
        DestinationLimits {
            nodes: Rc::clone(&self.takers),
            ceiling: Rc::clone(&self.high),
            basis,
            cool: Rc::default(),
        }
    }

    fn choose(&mut self, classes: &[(NodeId, Class)]) {
        let of = |wanted: fn(&Class) -> bool| {
            let mine = classes
                .iter()
                .filter(|(n, class)| self.nodes.contains(n) && wanted(class));
            mine.map(|(n, _)| *n).collect::<Vec<_>>()
        };
        let (hot, cold) = (
            of(|c| matches!(c, Class::Hot { .. })),
            of(|c| matches!(c, Class::Cold)),
        );
        self.takers = self
            .nodes
            .iter()
            .copied()
            .filter(|n| !hot.contains(n))
            .collect();
        self.warming = of(|c| matches!(c, Class::Warming { .. })).len();
        self.hot = hot;
        self.cold = cold.len();
    }

    /// Why nothing can be done here; the order of the questions is descheduler's.
    fn idle(&self, rule: &LowNodeUtilization) -> Option<Idle> {
        let cold = self.cold;
        if self.nodes.is_empty() {
            return None;
        }
        if self.hot.is_empty() && self.warming > 0 {
            return Some(Idle::NotForLong(self.warming));
        }
        if self.hot.is_empty() {
            return Some(if cold == self.nodes.len() {
                Idle::AllCold
            } else {
                Idle::NothingHot
            });
        }
        if cold == 0 {
            return Some(Idle::NothingCold(self.hot.len()));
        }
        let few = u32::try_from(cold).is_ok_and(|c| c <= rule.number_of_nodes);
        few.then_some(Idle::FewCold {
            cold,
            more_than: rule.number_of_nodes,
        })
    }
}

fn mean(draft: &Draft<'_>, basis: Basis, nodes: &[NodeId], resource: ResourceId) -> Ratio {
    let known: Vec<f64> = nodes
        .iter()
        .filter_map(|n| draft.ratio(*n, resource, basis))
        .map(Ratio::get)
        .collect();
    let count = known.len().max(1);
    Ratio::new(known.iter().sum::<f64>() / f64::from(u32::try_from(count).unwrap_or(u32::MAX)))
        .unwrap_or_default()
}

/// Why a node can be neither source nor destination.
pub(super) fn unfit(draft: &Draft<'_>, basis: Basis, node: NodeId) -> Option<Class> {
    let world = draft.world;
    let it = world.snapshot.node(node);
    if world
        .policy
        .node_selector
        .as_ref()
        .is_some_and(|s| !s.matches(&it.labels))
    {
        return Some(Class::NotSelected);
    }
    if !it.ready {
        return Some(Class::NotReady);
    }
    if let Some(doubt) = &it.doubt {
        return Some(Class::Doubtful(doubt.clone()));
    }
    match basis {
        Basis::Actual => world.usage.unmeasured(node).map(Class::Unknown),
        Basis::Requests => None,
    }
}

fn classify(
    draft: &Draft<'_>,
    position: usize,
    rule: &LowNodeUtilization,
    node: NodeId,
    band: Option<&Band>,
) -> Class {
    let Some(band) = band else {
        return unfit(draft, rule.basis, node).unwrap_or(Class::NotSelected);
    };
    if let Some(Excess {
        resource,
        ratio,
        target,
        ..
    }) = exceeded(draft, rule, &band.high, node)
    {
        let resource = draft.world.snapshot.resources.name(resource).to_owned();
        return match warming(draft, position, rule, node) {
            Some(since) => Class::Warming {
                resource,
                ratio,
                target,
                since,
                sustained_for: rule.sustained_for,
            },
            None => Class::Hot {
                resource,
                ratio,
                target,
            },
        };
    }
    match (
        below(draft, rule, &band.low, node),
        draft.world.snapshot.node(node).cordoned,
    ) {
        (true, false) => Class::Cold,
        (true, true) => Class::ColdCordoned,
        (false, _) => Class::Even,
    }
}

/// For how long the node has been hot, where that is not long enough.
fn warming(
    draft: &Draft<'_>,
    position: usize,
    rule: &LowNodeUtilization,
    node: NodeId,
) -> Option<jiff::SignedDuration> {
    if rule.basis == Basis::Requests {
        return None;
    }
    let world = draft.world;
    let since = world
        .hot_since
        .get(&(position, world.snapshot.node(node).name.clone()));
    let hot_for = since.map_or(jiff::SignedDuration::ZERO, |t| world.now.duration_since(*t));
    (hot_for < rule.sustained_for).then_some(hot_for)
}

/// The resource furthest above its target.
fn exceeded(
    draft: &Draft<'_>,
    rule: &LowNodeUtilization,
    high: &Marks,
    node: NodeId,
) -> Option<Excess> {
    let over = high.iter().filter_map(|(resource, target)| {
        let ratio = draft.ratio(node, *resource, rule.basis)?;
        (ratio > *target).then_some(Excess {
            resource: *resource,
            amount: Amount::ZERO,
            ratio,
            target: *target,
        })
    });
    over.max_by(|a, b| {
        a.ratio
            .minus(a.target)
            .order(b.ratio.minus(b.target))
            .then(b.resource.cmp(&a.resource))
    })
}

fn below(draft: &Draft<'_>, rule: &LowNodeUtilization, low: &Marks, node: NodeId) -> bool {
    low.iter().all(|(resource, threshold)| {
        draft
            .ratio(node, *resource, rule.basis)
            .is_some_and(|r| r <= *threshold)
    })
}
