//! LowNodeUtilization and HighNodeUtilization as descheduler would choose: for policies in the exact mode.
//!
//! Usage is read once. The room of all destinations together shrinks with each pod that leaves a source, and nothing
//! asks whether one of them can take the pod, unless the profile does (`nodeFit`). The order of the sources is
//! descheduler's too: by the plain sum of millicores, bytes and counts, in which memory outweighs all else. It decides
//! which node gets the room. Not copied are the counting of tolerations and the hardness of soft taints, and that one
//! node without metrics ends it all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::scheduler;
use crate::model::plan::{Class, Idle, Note, Reach, Reason, Refusal, Verdict};
use crate::model::snapshot::facts::Role;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::model::usage::Unmeasured;
use crate::policy::{Basis, HighNodeUtilization, LowNodeUtilization, Thresholds};
use crate::values::ResourceId;

use super::Level;
use super::exact_marks::{Marks, Measured, to_ratio, weight};
use super::low_node_utilization::unfit;

mod word;

/// The strategy at work.
#[derive(Debug)]
pub struct Running {
    position: usize,
    pools: VecDeque<Pool>,
    asked: Option<PodId>,
    /// What each node was taken for.
    classes: BTreeMap<NodeId, Class>,
    /// Why nothing is done with these nodes.
    idle: Vec<(Vec<NodeId>, Idle)>,
    /// How each node stood.
    levels: BTreeMap<NodeId, Vec<Level>>,
    /// Sources that were left because they were not over any more, and not for want of room.
    relieved: BTreeSet<NodeId>,
}

/// Nodes that give pods, and the room that is left for them.
#[derive(Debug)]
struct Pool {
    basis: Basis,
    /// Until they are below their ceilings (Low), or to the last pod (High).
    to_the_last: bool,
    sources: VecDeque<Source>,
    room: BTreeMap<ResourceId, i128>,
}

#[derive(Debug)]
struct Source {
    node: NodeId,
    reason: Reason,
    usage: BTreeMap<ResourceId, i128>,
    ceiling: BTreeMap<ResourceId, i128>,
    pods: VecDeque<PodId>,
}

impl Running {
    pub(super) fn low(draft: &mut Draft<'_>, position: usize, rule: &LowNodeUtilization) -> Self {
        let mut pools = VecDeque::new();
        let mut at = Start {
            draft,
            position,
            classes: BTreeMap::new(),
            idle: Vec::new(),
            levels: BTreeMap::new(),
        };
        let mut open: Vec<NodeId> = at.set_aside(rule.basis);
        for pool in &rule.pools {
            let selects = |n: &NodeId| {
                pool.selector
                    .as_ref()
                    .is_none_or(|s| s.matches(&at.draft.world.snapshot.node(*n).labels))
            };
            let (mine, others): (Vec<NodeId>, Vec<NodeId>) = open.into_iter().partition(selects);
            open = others;
            match Marks::new(at.draft, rule.basis, &pool.thresholds, &pool.targets) {
                Ok(marks) => pools.extend(low(&mut at, rule, (&pool.name, marks), &mine)),
                Err(why) => at.note(&pool.name, mine, why),
            }
        }
        at.classes
            .extend(open.into_iter().map(|node| (node, Class::NotSelected)));
        at.finish(pools)
    }

    pub(super) fn high(draft: &mut Draft<'_>, position: usize, rule: &HighNodeUtilization) -> Self {
        let mut at = Start {
            draft,
            position,
            classes: BTreeMap::new(),
            idle: Vec::new(),
            levels: BTreeMap::new(),
        };
        let nodes = at.set_aside(rule.basis);
        let pools = match Marks::new(at.draft, rule.basis, &rule.thresholds, &Vec::new()) {
            Ok(marks) => high(&mut at, rule, &marks, &nodes).into_iter().collect(),
            Err(why) => {
                at.note("default", nodes, why);
                VecDeque::new()
            }
        };
        at.finish(pools)
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        loop {
            let pool = self.pools.front_mut()?;
            if let Some(pod) = self.asked.take() {
                pool.settle(draft, self.position, pod);
            }
            let Some(source) = pool.sources.front_mut() else {
                self.pools.pop_front();
                continue;
            };
            let over = pool.to_the_last
                || source
                    .usage
                    .iter()
                    .any(|(r, used)| *used > source.ceiling[r]);
            let Some(pod) = source
                .pods
                .pop_front()
                .filter(|_| over && pool.room.values().all(|left| *left > 0))
            else {
                self.relieved.extend((!over).then_some(source.node));
                pool.sources.pop_front();
                continue;
            };
            self.asked = Some(pod);
            return Some(Candidate {
                pod,
                strategy: self.position,
                reason: source.reason.clone(),
                room: None,
            });
        }
    }
}

impl Pool {
    /// Takes in what came of the pod that was asked for last.
    fn settle(&mut self, draft: &Draft<'_>, position: usize, pod: PodId) {
        let Some(source) = self.sources.front_mut() else {
            return;
        };
        if draft.moves(pod) {
            for (resource, used) in &mut source.usage {
                let weight = weight(draft, self.basis, pod, *resource).unwrap_or_default();
                *used -= i128::from(weight.get());
                self.room
                    .entry(*resource)
                    .and_modify(|left| *left -= i128::from(weight.get()));
            }
        } else if draft
            .refusal(position, pod)
            .is_some_and(|why| why.reach() != Reach::Pod)
        {
            self.sources.pop_front();
        }
    }
}

impl Source {
    fn new(
        draft: &Draft<'_>,
        marks: &Marks,
        it: &Measured,
        reason: Reason,
        pods: Vec<PodId>,
    ) -> Self {
        let usage = it
            .usage
            .iter()
            .map(|(r, used)| (*r, i128::from(used.get())))
            .collect();
        Source {
            node: it.node,
            reason,
            usage,
            ceiling: marks.ceiling(draft, it.node),
            pods: pods.into(),
        }
    }
}

fn low(
    at: &mut Start<'_, '_>,
    rule: &LowNodeUtilization,
    (name, mut marks): (&str, Marks),
    nodes: &[NodeId],
) -> Option<Pool> {
    let nodes: Vec<Measured> = nodes.iter().map(|n| marks.measure(at.draft, *n)).collect();
    if rule.deviation {
        marks.around_the_mean(&nodes);
    }
    at.levels
        .extend(nodes.iter().map(|it| (it.node, marks.levels(it))));
    let (mut cold, mut hot) = (Vec::new(), Vec::new());
    for it in &nodes {
        let cordoned = at.draft.world.snapshot.node(it.node).cordoned;
        let class = match (marks.is_under(it), cordoned, marks.over(it)) {
            (true, false, _) => {
                cold.push(it);
                Class::Cold
            }
            (_, _, Some((resource, percent, high))) => {
                let resource = at.draft.world.snapshot.resources.name(resource).to_owned();
                let (ratio, target) = (to_ratio(percent), to_ratio(high));
                hot.push((
                    it,
                    Reason::HotNode {
                        resource: resource.clone(),
                        ratio,
                        target,
                        basis: rule.basis,
                    },
                ));
                Class::Hot {
                    resource,
                    ratio,
                    target,
                }
            }
            (true, true, None) => Class::ColdCordoned,
            (false, _, None) => Class::Even,
        };
        at.classes.insert(it.node, class);
    }
    if let Some(why) = idle(cold.len(), hot.len(), nodes.len(), rule.number_of_nodes) {
        at.note(name, nodes.iter().map(|it| it.node).collect(), why);
        return None;
    }
    hot.sort_by_key(|(it, _)| Reverse(it.raw_sum()));
    let room = marks.room(at.draft, &cold);
    let mut sources = VecDeque::new();
    for (it, reason) in hot {
        let pods = at.removable(marks.basis, (it.node, &cold), None);
        sources.push_back(Source::new(at.draft, &marks, it, reason, pods));
    }
    Some(Pool {
        basis: rule.basis,
        to_the_last: false,
        sources,
        room,
    })
}

/// Why nothing is done; the order of the questions is descheduler's.
fn idle(cold: usize, hot: usize, all: usize, number_of_nodes: u32) -> Option<Idle> {
    if all == 0 {
        None
    } else if cold == 0 {
        Some(if hot == 0 {
            Idle::NothingHot
        } else {
            Idle::NothingCold(hot)
        })
    } else if u32::try_from(cold).is_ok_and(|c| c <= number_of_nodes) {
        Some(Idle::FewCold {
            cold,
            more_than: number_of_nodes,
        })
    } else if cold == all {
        Some(Idle::AllCold)
    } else {
        (hot == 0).then_some(Idle::NothingHot)
    }
}

fn high(
    at: &mut Start<'_, '_>,
    rule: &HighNodeUtilization,
    marks: &Marks,
    nodes: &[NodeId],
) -> Option<Pool> {
    let nodes: Vec<Measured> = nodes.iter().map(|n| marks.measure(at.draft, *n)).collect();
    at.levels
        .extend(nodes.iter().map(|it| (it.node, marks.levels(it))));
    let (mut under, others): (Vec<&Measured>, Vec<&Measured>) =
        nodes.iter().partition(|it| marks.is_under(it));
    let cordoned = |it: &Measured| at.draft.world.snapshot.node(it.node).cordoned;
    let (shut, takers): (Vec<&Measured>, Vec<&Measured>) =
        others.into_iter().partition(|it| cordoned(it));
    at.classes
        .extend(under.iter().map(|it| (it.node, Class::Underused)));
    at.classes
        .extend(takers.iter().map(|it| (it.node, Class::InUse)));
    at.classes
        .extend(shut.iter().map(|it| (it.node, Class::InUseCordoned)));
    let few = u32::try_from(under.len()).is_ok_and(|n| n <= rule.number_of_nodes);
    let why = match (under.len(), takers.len()) {
        (0, _) => Some(Idle::NothingUnderused),
        (cold, _) if few => Some(Idle::FewCold {
            cold,
            more_than: rule.number_of_nodes,
        }),
        (_, 0) => Some(Idle::NoDestination),
        _ => None,
    };
    if let Some(why) = why {
        at.note("default", nodes.iter().map(|it| it.node).collect(), why);
        return None;
    }
    under.sort_by_key(|it| it.raw_sum());
    let room = marks.room(at.draft, &takers);
    let only = rule.only_thresholding_resources.then_some(&rule.thresholds);
    let mut sources = VecDeque::new();
    for it in under {
        let pods = at.removable(marks.basis, (it.node, &takers), only);
        sources.push_back(Source::new(
            at.draft,
            marks,
            it,
            emptied(at.draft, it, marks),
            pods,
        ));
    }
    Some(Pool {
        basis: rule.basis,
        to_the_last: true,
        sources,
        room,
    })
}

/// Whether a pod has a request of some resource with a threshold.
fn requests_some(pod: &Pod, thresholds: &Thresholds) -> bool {
    let requests = |name: &String| {
        pod.containers
            .iter()
            .any(|c| c.role != Role::Ephemeral && c.requested.contains(name))
    };
    thresholds.iter().any(|(name, _)| requests(name))
}

/// Why a node is to be emptied: the resource that is nearest to its threshold.
fn emptied(draft: &Draft<'_>, it: &Measured, marks: &Marks) -> Reason {
    let distance = |r: &ResourceId, low: f64| low - it.percent.get(r).copied().unwrap_or(0.0);
    let nearest = marks
        .low
        .iter()
        .min_by(|(r, low), (s, high)| distance(r, **low).total_cmp(&distance(s, **high)));
    let (resource, low) = nearest.map_or((ResourceId::CPU, 0.0), |(r, low)| (*r, *low));
    Reason::UnderusedNode {
        resource: draft.world.snapshot.resources.name(resource).to_owned(),
        ratio: to_ratio(it.percent.get(&resource).copied().unwrap_or(0.0)),
        threshold: to_ratio(low),
        basis: marks.basis,
    }
}

/// The strategy while it looks at the nodes.
struct Start<'d, 'w> {
    draft: &'d mut Draft<'w>,
    position: usize,
    classes: BTreeMap<NodeId, Class>,
    idle: Vec<(Vec<NodeId>, Idle)>,
    levels: BTreeMap<NodeId, Vec<Level>>,
}

impl Start<'_, '_> {
    /// The nodes that are weighed; of the others it is written down why they are not.
    fn set_aside(&mut self, basis: Basis) -> Vec<NodeId> {
        let draft = &self.draft;
        let unfit = draft
            .world
            .snapshot
            .node_ids()
            .filter_map(|n| Some((n, unfit(draft, basis, n)?)));
        self.classes.extend(unfit);
        self.draft
            .world
            .snapshot
            .node_ids()
            .filter(|n| !self.classes.contains_key(n))
            .collect()
    }

    fn note(&mut self, pool: &str, nodes: Vec<NodeId>, why: Idle) {
        let strategy = self.draft.strategy(self.position).rule.name();
        self.draft.note(Note {
            strategy,
            pool: pool.to_owned(),
            why: why.clone(),
        });
        self.idle.push((nodes, why));
    }

    /// Writes down what each node was taken for, by name.
    fn finish(self, pools: VecDeque<Pool>) -> Running {
        let Start {
            draft,
            position,
            classes,
            idle,
            levels,
        } = self;
        let strategy = draft.strategy(position).rule.name();
        for (node, class) in &classes {
            let node = draft.world.snapshot.node(*node).name.clone();
            draft.judge(Verdict {
                node,
                strategy,
                class: class.clone(),
            });
        }
        Running {
            position,
            pools,
            asked: None,
            classes,
            idle,
            levels,
            relieved: BTreeSet::new(),
        }
    }

    /// The pods that may be asked for, the least important first. What only this strategy knows against the others is
    /// written down here.
    fn removable(
        &mut self,
        basis: Basis,
        (node, takers): (NodeId, &[&Measured]),
        only: Option<&Thresholds>,
    ) -> Vec<PodId> {
        let (snapshot, position) = (self.draft.world.snapshot, self.position);
        let mut pods = Vec::new();
        for &pod in snapshot
            .node(node)
            .pods
            .iter()
            .filter(|p| !self.draft.moves(**p))
            .collect::<Vec<_>>()
        {
            let it = snapshot.pod(pod);
            if only.is_some_and(|thresholds| !requests_some(it, thresholds)) {
                continue;
            }
            let unmeasured =
                basis == Basis::Actual && weight(self.draft, basis, pod, ResourceId::CPU).is_none();
            let tolerated = takers
                .iter()
                .any(|to| scheduler::tolerates_all(it, snapshot.node(to.node)));
            // What the gate itself will say need not be said here.
            let refusal = if gate::evictable(pod, position, self.draft).is_err() {
                None
            } else if unmeasured {
                Some(Refusal::Unmeasured(Unmeasured::Missing))
            } else {
                (!tolerated).then(|| Refusal::NoRoom("all destinations are tainted".to_owned()))
            };
            match refusal {
                Some(why) => {
                    self.draft.refuse(
                        &Candidate {
                            pod,
                            strategy: position,
                            reason: Reason::Counted,
                            room: None,
                        },
                        why,
                    );
                }
                None => pods.push(pod),
            }
        }
        pods.sort_by_key(|p| {
            let it = snapshot.pod(*p);
            (
                it.priority,
                it.qos,
                it.annotations.prefer_no_eviction,
                Reverse(it.created),
                it.annotations.deletion_cost,
                *p,
            )
        });
        pods
    }
}
