//! RemovePodsViolatingInterPodAntiAffinity: separates pods whose required anti-affinity forbids one
//! topology domain. On request it also improves preferred anti-affinity; see
//! `preferred_anti_affinity`.
//!
//! The pod that carries the rule is evicted, and only while a pod that it avoids stays in the same
//! topology domain. Of two pods that avoid each other only one is evicted. Descheduler's strategy
//! of this name sets the rule. The exact mode copies its differences as well: it compares only the
//! pods that the strategy looks at; a pod that terminates or that another strategy evicts is still
//! a neighbour; a node is one domain with itself even without the label; and one node comes after
//! the other, where otherwise the least important pod of all goes first.

use std::collections::{BTreeMap, VecDeque};

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::facts::PodAffinityTerm;
use crate::model::snapshot::{NodeId, Pod, PodId, Snapshot};
use crate::policy::{AntiAffinity, Scope};
use crate::values::selector::Selector;

use super::importance::importance;
use super::listing::{ready_nodes, with_terms};
use super::preferred_anti_affinity::PreferredAntiAffinityRun;
use super::{SelectPods, StrategyRun};

/// One cycle of the strategy: first required, then preferred anti-affinity.
#[derive(Debug)]
pub(super) struct InterPodAntiAffinityRun<'w> {
    required: Option<RequiredAntiAffinityRun<'w>>,
    preferred: Option<PreferredAntiAffinityRun<'w>>,
}

impl<'w> InterPodAntiAffinityRun<'w> {
    pub(super) fn start(
        draft: &Draft<'w>,
        position: usize,
        rule: &'w AntiAffinity,
        as_descheduler: bool,
    ) -> Self {
        let scope = &rule.scope;
        InterPodAntiAffinityRun {
            required: rule
                .required
                .then(|| RequiredAntiAffinityRun::start(draft, position, scope, as_descheduler)),
            preferred: rule
                .preferred
                .then(|| PreferredAntiAffinityRun::start(draft, position, scope)),
        }
    }
}

impl SelectPods for InterPodAntiAffinityRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        let required = self.required.as_mut().and_then(|run| run.next(draft));
        required.or_else(|| self.preferred.as_mut()?.next(draft))
    }

    /// A pod that has only one of the two kinds gets the reason of that kind.
    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        let required = self.required.as_ref().map(|r| r.not_selected(run, pod));
        let preferred = self.preferred.as_ref().map(|r| r.not_selected(run, pod));
        match (required, preferred) {
            (Some(NotSelected::NoAntiAffinity) | None, Some(why)) | (Some(why), _) => why,
            (None, None) => NotSelected::NoAntiAffinity,
        }
    }
}

/// The part of the strategy for required anti-affinity.
#[derive(Debug)]
struct RequiredAntiAffinityRun<'w> {
    position: usize,
    scope: &'w Scope,
    as_descheduler: bool,
    /// Pods with required anti-affinity that are not asked for yet.
    waiting: VecDeque<PodId>,
    /// For each term of such a pod, the position of the pods that it avoids in `groups`.
    group_of_terms: BTreeMap<PodId, Vec<usize>>,
    groups: Vec<Vec<PodId>>,
}

/// The groups of avoided pods found so far. Replicas have equal terms, which mean equal groups in
/// one namespace.
#[derive(Default)]
struct Groups<'w> {
    known: BTreeMap<TermKey<'w>, usize>,
    groups: Vec<Vec<PodId>>,
}

/// The parts of a term that decide which pods it means, and the namespace of the pod that has the
/// term.
type TermKey<'w> = (&'w Option<Selector>, &'w [String], &'w Option<Selector>, &'w str);

impl<'w> RequiredAntiAffinityRun<'w> {
    fn start(draft: &Draft<'w>, position: usize, scope: &'w Scope, as_descheduler: bool) -> Self {
        let snapshot = draft.world.snapshot;
        let neighbours = neighbours(draft, position, scope, as_descheduler);
        let mut selected = neighbours.clone();
        selected.retain(|pod| with_terms(draft, scope, *pod, has_terms).is_ok());
        selected.sort_by_key(|p| {
            let pod = snapshot.pod(*p);
            (pod.node.filter(|_| as_descheduler), importance(pod), pod.node, *p)
        });
        let (mut groups, mut group_of_terms) = (Groups::default(), BTreeMap::new());
        for &pod in &selected {
            let positions = snapshot
                .pod(pod)
                .required_anti_affinity
                .iter()
                .enumerate()
                .map(|(place, term)| groups.position(draft, term, place, pod, &neighbours));
            group_of_terms.insert(pod, positions.collect());
        }
        RequiredAntiAffinityRun {
            position,
            scope,
            as_descheduler,
            waiting: selected.into(),
            group_of_terms,
            groups: groups.groups,
        }
    }

    /// Decides about a pod, given the moves so far.
    fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<Reason, NotSelected> {
        let (node, facts) = with_terms(draft, self.scope, pod, has_terms)?;
        let groups = self.group_of_terms.get(&pod).into_iter().flatten();
        facts
            .required_anti_affinity
            .iter()
            .zip(groups)
            .find_map(|(term, group)| self.violated(draft, node, pod, term, *group))
            .ok_or(NotSelected::NoNeighbour)
    }

    fn same_domain(&self, draft: &Draft<'_>, key: &str, one: NodeId, other: NodeId) -> bool {
        match [one, other].map(|node| draft.world.snapshot.node(node).labels.get(key)) {
            [Some(a), Some(b)] => a == b,
            _ => one == other && self.as_descheduler,
        }
    }

    /// The first pod that the term avoids and that stays in the same topology domain.
    fn violated(
        &self,
        draft: &Draft<'_>,
        node: NodeId,
        pod: PodId,
        term: &PodAffinityTerm,
        group: usize,
    ) -> Option<Reason> {
        let snapshot = draft.world.snapshot;
        let near = self.groups[group].iter().find(|other| {
            let other_node = snapshot.pod(**other).node;
            **other != pod
                && stays(draft, self.position, self.as_descheduler, **other)
                && other_node.is_some_and(|n| self.same_domain(draft, &term.topology_key, node, n))
        });
        let other = snapshot.pod(*near?);
        Some(Reason::Neighbour {
            pod: format!("{}/{}", other.namespace, other.name),
            topology_key: term.topology_key.clone(),
        })
    }
}

impl SelectPods for RequiredAntiAffinityRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        while let Some(pod) = self.waiting.pop_front() {
            if let Ok(reason) = self.judge(draft, pod)
                && !draft.is_on_closed_node(self.position, pod)
            {
                return Some(Candidate::new(pod, self.position, reason));
            }
        }
        None
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        run.parted_or_late(pod, |draft| self.judge(draft, pod))
    }
}

impl<'w> Groups<'w> {
    /// The position of the group that a term of this pod means. The required anti-affinity of a pod
    /// comes first among its terms in the index, so the term has this place there.
    fn position(
        &mut self,
        draft: &Draft<'w>,
        term: &'w PodAffinityTerm,
        place: usize,
        pod: PodId,
        neighbours: &[PodId],
    ) -> usize {
        let snapshot = draft.world.snapshot;
        let key = (
            &term.pods,
            term.namespaces.as_slice(),
            &term.namespace_selector,
            snapshot.pod(pod).namespace.as_str(),
        );
        *self.known.entry(key).or_insert_with(|| {
            self.groups.push(group(draft, term, place, pod, neighbours));
            self.groups.len() - 1
        })
    }
}

fn has_terms(pod: &Pod) -> bool {
    !pod.required_anti_affinity.is_empty()
}

/// The pods that are compared, in order.
fn neighbours(
    draft: &Draft<'_>,
    position: usize,
    scope: &Scope,
    as_descheduler: bool,
) -> Vec<PodId> {
    let snapshot = draft.world.snapshot;
    let nodes = if as_descheduler { ready_nodes(draft) } else { snapshot.node_ids().collect() };
    let counts = |pod: &Pod| if as_descheduler { scope.admits(pod) } else { !pod.terminating };
    let mut pods: Vec<PodId> = nodes
        .into_iter()
        .flat_map(|n| snapshot.node(n).pods.iter().copied())
        .filter(|p| counts(snapshot.pod(*p)) && stays(draft, position, as_descheduler, *p))
        .collect();
    pods.sort_unstable();
    pods
}

/// Whether a pod stays a neighbour.
fn stays(draft: &Draft<'_>, position: usize, as_descheduler: bool, pod: PodId) -> bool {
    let by = draft.move_of(pod);
    by.is_none_or(|(by, _)| as_descheduler && by.strategy != position)
}

/// The neighbours that a term of this pod means, in order. The term has this place among the pod's
/// terms in the index.
fn group(
    draft: &Draft<'_>,
    term: &PodAffinityTerm,
    place: usize,
    pod: PodId,
    neighbours: &[PodId],
) -> Vec<PodId> {
    let (snapshot, index) = (draft.world.snapshot, draft.index());
    let own = snapshot.pod(pod);
    let pods = index.matched_pods(index.terms_of(pod)[place]);
    let pods = pods.iter().filter(|p| neighbours.binary_search(p).is_ok());
    let mut pods: Vec<PodId> = pods.copied().collect();
    if !index.decides_all_namespaces() {
        pods.retain(|p| is_reached(snapshot, term, &own.namespace, &snapshot.pod(*p).namespace));
    }
    pods.sort_unstable();
    pods
}

/// Whether the search for the pods that a term matches reaches a namespace. One whose labels are
/// not known is searched only if the term does not need them.
fn is_reached(snapshot: &Snapshot, term: &PodAffinityTerm, own: &str, name: &str) -> bool {
    let selects_all = term.namespace_selector.as_ref().is_some_and(Selector::is_empty);
    selects_all
        || name == own
        || snapshot.namespaces.contains_key(name)
        || term.namespaces.iter().any(|listed| listed == name)
}
