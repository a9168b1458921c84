//! RemoveDuplicates: equal pods of one owner, spread over the nodes that may take them.
//!
//! Pods are equal that have the same owners and the same images. No node keeps more of them than the average over
//! the nodes that may take them, rounded up; the least important go, each at most once, however many owners it has.
//! In the exact mode pods that may not go are not counted, as in descheduler, and any node will do for a replacement.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::decide::gate;
use crate::decide::scheduler;
use crate::model::plan::{NotSelected, Reach, Reason};
use crate::model::snapshot::facts::{Owner, Role};
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{Basis, RemoveDuplicates};

use super::low_node_utilization::unfit;

mod word;

/// The strategy at work.
#[derive(Debug)]
pub struct Running {
    position: usize,
    queue: VecDeque<Surplus>,
    groups: Vec<Group>,
    asked: Option<Surplus>,
}

/// Pods of one owner with the same images.
#[derive(Debug)]
struct Group {
    all: usize,
    share: usize,
    here: BTreeMap<NodeId, usize>,
    targets: Vec<NodeId>,
}

/// A pod that is one too many on its node.
#[derive(Clone, Copy, Debug)]
struct Surplus {
    group: usize,
    node: NodeId,
    pod: PodId,
}

/// An owner, and the images of its pods: namespace, kind, name, images in order.
type Key<'s> = (&'s str, &'s str, &'s str, Vec<&'s str>);

/// Pods of one key by node: those of each node that have the same set of owners are behind one another.
type Table<'s> = BTreeMap<Key<'s>, BTreeMap<NodeId, BTreeMap<Vec<Key<'s>>, Vec<PodId>>>>;

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &RemoveDuplicates) -> Self {
        let nodes = nodes(draft);
        let (mut queue, mut groups, mut taken) = (VecDeque::new(), Vec::new(), BTreeSet::new());
        for by_node in table(draft, position, rule, &nodes).into_values() {
            let Some(group) = Group::new(draft, &nodes, &by_node) else {
                continue;
            };
            for (node, equals) in by_node {
                let duplicates = duplicates(draft, position, equals.into_values().collect());
                let keep = group.share - 1;
                let surplus = duplicates.into_iter().skip(keep).rev();
                let surplus = surplus.filter(|pod| !draft.moves(*pod) && taken.insert(*pod));
                queue.extend(surplus.map(|pod| Surplus {
                    group: groups.len(),
                    node,
                    pod,
                }));
            }
            groups.push(group);
        }
        Running {
            position,
            queue,
            groups,
            asked: None,
        }
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        if let Some(last) = self.asked.take() {
            self.settle(draft, last);
        }
        let surplus = self.queue.pop_front()?;
        self.asked = Some(surplus);
        let group = &self.groups[surplus.group];
        let here = group.here.get(&surplus.node).copied().unwrap_or_default();
        let reason = Reason::Duplicate {
            here,
            of: group.all,
            share: group.share,
        };
        let room = (!draft.world.policy.exact).then(|| group.room());
        Some(Candidate {
            pod: surplus.pod,
            strategy: self.position,
            reason,
            room,
        })
    }

    /// Takes in what came of the pod that was asked for last.
    fn settle(&mut self, draft: &Draft<'_>, last: Surplus) {
        if draft.moves(last.pod) {
            let group = &mut self.groups[last.group];
            group.here.entry(last.node).and_modify(|n| *n -= 1);
            if let Some(to) = draft.landing(last.pod) {
                *group.here.entry(to).or_default() += 1;
            }
        } else if draft
            .refusal(self.position, last.pod)
            .is_some_and(|why| why.reach() != Reach::Pod)
        {
            self.queue.retain(|other| other.node != last.node);
        }
    }
}

impl Group {
    /// `None` where there is nothing to spread, or nowhere to spread it.
    fn new(
        draft: &Draft<'_>,
        nodes: &[NodeId],
        by_node: &BTreeMap<NodeId, BTreeMap<Vec<Key<'_>>, Vec<PodId>>>,
    ) -> Option<Self> {
        let here: BTreeMap<NodeId, usize> = by_node
            .iter()
            .map(|(node, equals)| (*node, equals.values().map(Vec::len).sum()))
            .collect();
        let all = here.values().sum();
        let doubled = || doubled(by_node);
        doubled().next()?;
        // Once they are spread, other pods are doubled or none: so all of them have a say, else the share would change.
        let all_pods = by_node.values().flat_map(BTreeMap::values).flatten();
        let targets = if draft.world.policy.exact {
            targets(draft, nodes, doubled().copied())
        } else {
            targets(draft, nodes, all_pods.copied())
        };
        (targets.len() > 1).then(|| Group {
            all,
            share: usize::div_ceil(all, targets.len()),
            here,
            targets,
        })
    }

    /// The nodes that have less than their share.
    fn room(&self) -> DestinationLimits {
        let few = |n: &&NodeId| self.here.get(n).copied().unwrap_or_default() < self.share;
        DestinationLimits {
            nodes: self.targets.iter().filter(few).copied().collect(),
            ceiling: Rc::new([]),
            basis: Basis::Requests,
            cool: Rc::default(),
        }
    }
}

fn nodes(draft: &Draft<'_>) -> Vec<NodeId> {
    draft
        .world
        .snapshot
        .node_ids()
        .filter(|n| unfit(draft, Basis::Requests, *n).is_none())
        .collect()
}

/// Pods that have an equal on their node.
fn doubled<'t>(
    by_node: &'t BTreeMap<NodeId, BTreeMap<Vec<Key<'_>>, Vec<PodId>>>,
) -> impl Iterator<Item = &'t PodId> {
    by_node
        .values()
        .flat_map(BTreeMap::values)
        .filter(|pods| pods.len() > 1)
        .flatten()
}

/// Why a pod is none of those that the strategy looks at; `None` where it is one.
fn left_out(rule: &RemoveDuplicates, pod: &Pod) -> Option<NotSelected> {
    if pod
        .owners
        .iter()
        .any(|o| rule.exclude_owner_kinds.contains(&o.kind))
    {
        return Some(NotSelected::OwnerKind);
    }
    (!rule.namespaces.admit(&pod.namespace)).then_some(NotSelected::Namespace)
}

/// All pods that count, by owner, node and equality.
fn table<'s>(
    draft: &Draft<'s>,
    position: usize,
    rule: &RemoveDuplicates,
    nodes: &[NodeId],
) -> Table<'s> {
    let snapshot = draft.world.snapshot;
    let mut table = Table::new();
    for &node in nodes {
        for pod in draft.pods_on(node) {
            let it = snapshot.pod(pod);
            if left_out(rule, it).is_some() || !counts(draft, position, pod) {
                continue;
            }
            let keys = keys(it);
            for key in &keys {
                let equals = table
                    .entry(key.clone())
                    .or_default()
                    .entry(node)
                    .or_default();
                equals.entry(keys.clone()).or_default().push(pod);
            }
        }
    }
    table
}

/// Whether a pod is one of those that are spread.
fn counts(draft: &Draft<'_>, position: usize, pod: PodId) -> bool {
    if !draft.world.policy.exact {
        return draft.world.snapshot.pod(pod).stays();
    }
    if draft.moves(pod) {
        return false;
    }
    let as_it_is = || Candidate {
        pod,
        strategy: position,
        reason: Reason::Counted,
        room: None,
    };
    gate::evictable(pod, position, draft).is_ok() && gate::landing(&as_it_is(), draft).is_ok()
}

/// The owners of a pod, each with the pod's images.
fn keys(pod: &Pod) -> Vec<Key<'_>> {
    let main = pod.containers.iter().filter(|c| c.role == Role::Main);
    let mut images: Vec<&str> = main.map(|c| c.image.as_str()).collect();
    images.sort_unstable();
    let mut keys: Vec<Key<'_>> = pod
        .owners
        .iter()
        .map(|Owner { kind, name, .. }| {
            (
                pod.namespace.as_str(),
                kind.as_str(),
                name.as_str(),
                images.clone(),
            )
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Of each set of equal pods all but the first, the most important ones in front.
fn duplicates(draft: &Draft<'_>, position: usize, equals: Vec<Vec<PodId>>) -> Vec<PodId> {
    let rank = |p: &PodId| {
        let it = draft.world.snapshot.pod(*p);
        // What cannot go had best be among those that stay; what is yet to land here cannot.
        let may_go = !draft.moves(*p) && gate::evictable(*p, position, draft).is_ok();
        (
            may_go,
            Reverse(it.priority),
            Reverse(it.qos),
            !it.annotations.prefer_no_eviction,
            it.created,
            Reverse(it.annotations.deletion_cost),
            *p,
        )
    };
    let mut duplicates = Vec::new();
    for mut pods in equals {
        pods.sort_by_cached_key(rank);
        duplicates.extend(pods.into_iter().skip(1));
    }
    duplicates.sort_by_cached_key(rank);
    duplicates
}

/// The nodes that one or another of the pods may go to.
fn targets(draft: &Draft<'_>, nodes: &[NodeId], pods: impl Iterator<Item = PodId>) -> Vec<NodeId> {
    let snapshot = draft.world.snapshot;
    let mut seen: Vec<&Pod> = Vec::new();
    let mut targets = BTreeSet::new();
    for it in pods.map(|p| snapshot.pod(p)) {
        let alike = |other: &&Pod| {
            other.tolerations == it.tolerations
                && other.node_selector == it.node_selector
                && other.required_nodes == it.required_nodes
        };
        if seen.iter().any(alike) {
            continue;
        }
        seen.push(it);
        let admits = |n: &NodeId| {
            let node = snapshot.node(*n);
            let open = draft.world.policy.exact || !node.cordoned;
            open && scheduler::tolerates_all(it, node) && scheduler::admits(it, node)
        };
        let own: Vec<NodeId> = nodes.iter().copied().filter(admits).collect();
        // A pod that is bound to one node has no say in where the others go.
        if own.len() > 1 {
            targets.extend(own);
        }
    }
    targets.into_iter().collect()
}
