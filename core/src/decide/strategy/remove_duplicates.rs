//! RemoveDuplicates: spreads equal pods of one owner over the nodes that may take them.
//!
//! Pods are equal if they have the same owners and the same images. No node keeps more of them than
//! the average over the nodes that may take them, rounded up: its share. Where the nodes below
//! their share are full, other nodes take pods while that makes the spread more even. The least
//! important pods go. A pod with several owners goes only once.
//!
//! The rule is that of descheduler's `RemoveDuplicates`. The exact mode copies the details as well;
//! see [`DuplicateRules`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::scheduler;
use crate::decide::targets::fit;
use crate::model::plan::{NoGain, NotSelected, Refusal};
use crate::model::snapshot::facts::{Owner, Role};
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{Basis, RemoveDuplicates};

use super::importance::eviction_order;
use super::listing::{only_on, stays_on};
use super::{SelectPods, StrategyRun};

use group::{AdmittedNodes, ReplicaGroup};

mod group;

/// One cycle of the strategy.
#[derive(Debug)]
pub(super) struct RemoveDuplicatesRun<'w> {
    position: usize,
    rule: &'w RemoveDuplicates,
    details: &'static DuplicateRules,
    groups: BTreeMap<GroupKey<'w>, ReplicaGroup>,
    queue: VecDeque<Duplicate<'w>>,
    /// Every pod that was ever in the queue.
    chosen: BTreeSet<PodId>,
    last: Option<Duplicate<'w>>,
}

/// The details in which the two modes differ.
#[derive(Debug)]
pub(super) struct DuplicateRules {
    /// Whether a pod, given the strategy's position, is one of the replicas that are compared.
    pub(super) counts: fn(&Draft<'_>, usize, PodId) -> Result<(), NotSelected>,
    /// Whether the strategy does three things as descheduler does: only duplicates decide where
    /// replicas may go, and not the first of each set, which stays; closed nodes may take
    /// replicas; and a replacement may land on any node, even where the spread is no more even.
    pub(super) as_descheduler: bool,
}

/// All replicas that stay decide where replicas may go. Otherwise the share would change once the
/// duplicates are spread.
pub(super) static NATIVE: DuplicateRules = DuplicateRules {
    counts: |draft, _, pod| NotSelected::unless_gone(draft.world.snapshot.pod(pod)),
    as_descheduler: false,
};

/// An owner and the images of its pods: namespace, kind, name, images in order.
type GroupKey<'w> = (&'w str, &'w str, &'w str, Vec<&'w str>);

/// The pods of one group by node. On each node, pods with the same set of owners are together, the
/// most important in front.
type ByNode<'w> = BTreeMap<NodeId, BTreeMap<Vec<GroupKey<'w>>, Vec<PodId>>>;

/// A pod above the share of its node.
#[derive(Clone, Debug)]
struct Duplicate<'w> {
    group: GroupKey<'w>,
    node: NodeId,
    pod: PodId,
}

impl<'w> RemoveDuplicatesRun<'w> {
    pub(super) fn start(
        draft: &Draft<'w>,
        position: usize,
        rule: &'w RemoveDuplicates,
        details: &'static DuplicateRules,
    ) -> Self {
        let nodes = fit(draft, Basis::Requests);
        let mut run = RemoveDuplicatesRun {
            position,
            rule,
            details,
            groups: BTreeMap::new(),
            queue: VecDeque::new(),
            chosen: BTreeSet::new(),
            last: None,
        };
        let replicas = run.replicas(draft, &nodes);
        let may_take = |node: &NodeId| details.as_descheduler || draft.closure(*node).is_none();
        let mut admitted = AdmittedNodes::new(nodes.into_iter().filter(may_take).collect());
        for (key, by_node) in replicas {
            let group = ReplicaGroup::new(draft, &mut admitted, &by_node, details);
            if let Some(share) = group.share() {
                run.choose(draft, &key, by_node, share);
            }
            run.groups.insert(key, group);
        }
        run
    }

    /// All pods that count, by owner and images, node and equality.
    fn replicas(&self, draft: &Draft<'w>, nodes: &[NodeId]) -> BTreeMap<GroupKey<'w>, ByNode<'w>> {
        let mut groups: BTreeMap<GroupKey<'w>, ByNode<'w>> = BTreeMap::new();
        for &node in nodes {
            for pod in draft.pods_on(node) {
                if self.counts(draft, pod).is_err() {
                    continue;
                }
                let keys = keys(draft.world.snapshot.pod(pod));
                for key in &keys {
                    let equals = groups.entry(key.clone()).or_default().entry(node);
                    let equals = equals.or_default().entry(keys.clone()).or_default();
                    equals.push(pod);
                }
            }
        }
        let sets = groups.values_mut().flat_map(BTreeMap::values_mut);
        for pods in sets.flat_map(BTreeMap::values_mut) {
            pods.sort_by_cached_key(|pod| rank(draft, self.position, *pod));
        }
        groups
    }

    /// Queues the pods of a group that are above the share of their nodes.
    fn choose(&mut self, draft: &Draft<'_>, key: &GroupKey<'w>, by_node: ByNode<'w>, share: usize) {
        for (node, equals) in by_node {
            let mut duplicates: Vec<PodId> =
                equals.values().flat_map(|pods| duplicates(pods)).collect();
            duplicates.sort_by_cached_key(|pod| rank(draft, self.position, *pod));
            for pod in duplicates.into_iter().skip(share - 1).rev() {
                if !draft.moves(pod) && self.chosen.insert(pod) {
                    self.queue.push_back(Duplicate { group: key.clone(), node, pod });
                }
            }
        }
    }

    /// Decides about a pod, given the draft in which the strategy began.
    fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<(), NotSelected> {
        let node = stays_on(draft, pod)?;
        self.counts(draft, pod)?;
        let keys = keys(draft.world.snapshot.pod(pod));
        let groups = keys.iter().filter_map(|key| self.groups.get(key));
        // Of several owners, the one by which the pod came nearest to being selected decides.
        let group = groups.max_by_key(|group| group.nearness(node));
        group.ok_or(NotSelected::NoOwner)?.judge(node)?;
        if self.chosen.contains(&pod) { Ok(()) } else { Err(NotSelected::OthersFirst) }
    }

    /// Whether a pod is one of the replicas that are compared.
    fn counts(&self, draft: &Draft<'_>, pod: PodId) -> Result<(), NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        let excluded = &self.rule.exclude_owner_kinds;
        if facts.owners.iter().any(|o| excluded.contains(&o.kind)) {
            return Err(NotSelected::OwnerKind);
        }
        if !self.rule.namespaces.admit(&facts.namespace) {
            return Err(NotSelected::Namespace);
        }
        (self.details.counts)(draft, self.position, pod)
    }
}

impl SelectPods for RemoveDuplicatesRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        let mut queue = std::iter::from_fn(|| self.queue.pop_front());
        let duplicate = queue.find(|one| !draft.is_closed(self.position, one.node))?;
        let group = self.groups.get_mut(&duplicate.group)?;
        let reason = group.reason(duplicate.node);
        let destinations = (!self.details.as_descheduler)
            .then(|| only_on(destinations(draft, group, &duplicate), NoGain::FullShare));
        let candidate = Candidate::new(duplicate.pod, self.position, reason).within(destinations);
        self.last = Some(duplicate);
        Some(candidate)
    }

    fn most_candidates(&self, _draft: &Draft<'_>) -> usize {
        self.queue.len()
    }

    fn answered(&mut self, draft: &Draft<'_>, pod: PodId, refusal: Option<&Refusal>) {
        if let Some(last) = self.last.take()
            && let Some(group) = self.groups.get_mut(&last.group)
            && refusal.is_none()
        {
            group.moved(last.node, draft.landing(pod));
        }
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        run.or_late(pod, self.judge(run.before, pod))
    }
}

/// The nodes where a duplicate would gain something: those below their share. If none of them can
/// take it, any node that makes the spread more even.
///
/// With 5, 1 and 0 replicas on three nodes of which the last is full, two go to the second node.
/// Were the last one not full, a pod that goes to the second node might have to move once more.
fn destinations(
    draft: &Draft<'_>,
    group: &mut ReplicaGroup,
    duplicate: &Duplicate<'_>,
) -> Rc<[NodeId]> {
    let (below, all) = (group.below_share(), group.more_even(duplicate.node));
    if all.len() == below.len() {
        return below;
    }
    let fits = scheduler::fitting(draft, duplicate.pod);
    if below.iter().any(|node| fits(*node).is_ok()) { below } else { all }
}

/// The owners of a pod, each with the pod's images.
fn keys(pod: &Pod) -> Vec<GroupKey<'_>> {
    let main = pod.containers.iter().filter(|c| c.role == Role::Main);
    let mut images: Vec<&str> = main.map(|c| c.image.as_str()).collect();
    images.sort_unstable();
    let mut keys = Vec::new();
    for Owner { kind, name, .. } in &pod.owners {
        keys.push((pod.namespace.as_str(), kind.as_str(), name.as_str(), images.clone()));
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// All but the first of a set of equal pods.
fn duplicates(pods: &[PodId]) -> impl Iterator<Item = PodId> + use<'_> {
    pods.iter().skip(1).copied()
}

/// The place of a pod among equal pods. Pods that may not go come first, so that they stay. That
/// includes moved pods that have not landed here yet.
fn rank(draft: &Draft<'_>, position: usize, pod: PodId) -> impl Ord + use<> {
    let may_go = !draft.moves(pod) && gate::is_evictable(pod, position, draft);
    let order = eviction_order(draft.world.snapshot.pod(pod));
    (may_go, Reverse(order), pod)
}
