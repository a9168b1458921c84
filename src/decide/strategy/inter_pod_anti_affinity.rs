//! RemovePodsViolatingInterPodAntiAffinity: parts pods that required anti-affinity keeps apart.
//!
//! The pod that carries the rule goes, and only while a pod that it avoids is to stay in the same place: of two that
//! avoid each other one goes.

use std::collections::{BTreeMap, VecDeque};

use crate::decide::draft::{Candidate, Draft, Landing};
use crate::decide::scheduler;
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::facts::Neighbours;
use crate::model::snapshot::{NodeId, PodId, Snapshot};
use crate::policy::Scope;
use crate::values::selector::Selector;

use super::listing::{Closed, least_important, looked_at, nodes};
use super::run::StrategyRun;

/// The strategy at work.
#[derive(Debug)]
pub struct Running {
    position: usize,
    waiting: VecDeque<Carrier>,
    groups: Vec<Vec<PodId>>,
    closed: Closed,
}

/// A pod with a rule, and for each term of it the group of pods that it avoids.
#[derive(Debug)]
struct Carrier {
    pod: PodId,
    avoids: Vec<usize>,
}

/// Replicas have equal terms, and those mean the same pods where the namespace is the same.
type Meaning = (Option<Selector>, Vec<String>, Option<Selector>, String);

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, scope: &Scope) -> Self {
        let snapshot = draft.world.snapshot;
        let near = neighbours(draft, position, scope);
        let mut carriers: Vec<PodId> = near
            .iter()
            .copied()
            .filter(|p| !snapshot.pod(*p).avoids.is_empty())
            .collect();
        carriers.retain(|p| !snapshot.pod(*p).terminating && !draft.moves(*p));
        carriers.sort_by_key(|p| (snapshot.pod(*p).node, least_important(snapshot.pod(*p)), *p));
        let mut places: BTreeMap<Meaning, usize> = BTreeMap::new();
        let mut groups = Vec::new();
        let mut group_of = |term: &Neighbours, pod: PodId| {
            let namespace = snapshot.pod(pod).namespace.clone();
            let meaning = (
                term.pods.clone(),
                term.namespaces.clone(),
                term.namespace_selector.clone(),
                namespace,
            );
            *places.entry(meaning).or_insert_with(|| {
                groups.push(group(snapshot, term, pod, &near));
                groups.len() - 1
            })
        };
        let carrier = |pod: PodId| {
            let terms = snapshot.pod(pod).avoids.iter();
            Carrier {
                pod,
                avoids: terms.map(|term| group_of(term, pod)).collect(),
            }
        };
        let waiting = carriers.into_iter().map(carrier).collect();
        Running {
            position,
            waiting,
            groups,
            closed: Closed::default(),
        }
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        loop {
            let carrier = self.waiting.pop_front()?;
            let Some(reason) = self.violated(draft, &carrier) else {
                continue;
            };
            if self.closed.opens(draft, self.position, carrier.pod) {
                return Some(Candidate {
                    pod: carrier.pod,
                    strategy: self.position,
                    reason,
                    room: None,
                });
            }
        }
    }

    pub(super) fn not_selected(
        turn: &StrategyRun<'_, '_>,
        scope: &Scope,
        pod: PodId,
    ) -> NotSelected {
        let draft = turn.before;
        let it = draft.world.snapshot.pod(pod);
        if let Err(why) = looked_at(draft, scope, pod) {
            return why;
        }
        if it.finished() {
            return NotSelected::Finished;
        }
        if it.avoids.is_empty() {
            return NotSelected::NoAntiAffinity;
        }
        let near = neighbours(draft, turn.position, scope);
        let groups = it
            .avoids
            .iter()
            .map(|term| group(draft.world.snapshot, term, pod, &near))
            .collect();
        let carrier = Carrier {
            pod,
            avoids: (0..it.avoids.len()).collect(),
        };
        let alone = Running {
            position: turn.position,
            waiting: VecDeque::new(),
            groups,
            closed: Closed::default(),
        };
        match (
            alone.violated(draft, &carrier),
            alone.violated(turn.after, &carrier),
        ) {
            (None, _) => NotSelected::NoNeighbour,
            (Some(_), None) => NotSelected::Parted,
            (Some(_), Some(_)) => turn.late(pod),
        }
    }

    /// The first neighbour that the pod avoids and that is to stay.
    fn violated(&self, draft: &Draft<'_>, carrier: &Carrier) -> Option<Reason> {
        let snapshot = draft.world.snapshot;
        let it = snapshot.pod(carrier.pod);
        let home = it.node.filter(|_| !draft.moves(carrier.pod))?;
        it.avoids
            .iter()
            .zip(&carrier.avoids)
            .find_map(|(term, group)| {
                let stays = |p: &&PodId| **p != carrier.pod && stays(draft, self.position, **p);
                let near = |p: &&PodId| {
                    snapshot
                        .pod(**p)
                        .node
                        .is_some_and(|n| together(draft, &term.topology_key, home, n))
                };
                let other = snapshot.pod(*self.groups[*group].iter().filter(stays).find(near)?);
                let pod = format!("{}/{}", other.namespace, other.name);
                Some(Reason::Neighbour {
                    pod,
                    topology_key: term.topology_key.clone(),
                })
            })
    }
}

/// The pods that are compared: those of the scope alone, on the nodes that are looked at.
fn neighbours(draft: &Draft<'_>, position: usize, scope: &Scope) -> Vec<PodId> {
    let snapshot = draft.world.snapshot;
    // descheduler takes a neighbour that is on its way out for one that stays.
    let counts = |p: &PodId| draft.world.policy.exact || !snapshot.pod(*p).terminating;
    let on = nodes(draft)
        .into_iter()
        .flat_map(|n| snapshot.node(n).pods.iter().copied());
    let near =
        |p: &PodId| counts(p) && stays(draft, position, *p) && scope.admits(snapshot.pod(*p));
    let mut pods: Vec<PodId> = on.filter(near).collect();
    pods.sort_unstable();
    pods
}

/// Whether a pod stays a neighbour. To descheduler what another strategy has evicted is on its way out, and so one still.
fn stays(draft: &Draft<'_>, position: usize, pod: PodId) -> bool {
    let elsewhere =
        |(by, _): (&Candidate, &Landing)| draft.world.policy.exact && by.strategy != position;
    draft.move_of(pod).is_none_or(elsewhere)
}

/// Those of `near`, which are sorted by namespace, that a term of this pod means.
fn group(snapshot: &Snapshot, term: &Neighbours, pod: PodId, near: &[PodId]) -> Vec<PodId> {
    let own = snapshot.pod(pod);
    let by_label = snapshot.namespaces.iter().filter(|(_, labels)| {
        term.namespace_selector
            .as_ref()
            .is_some_and(|s| s.matches(labels))
    });
    let mut names: Vec<&str> = by_label.map(|(name, _)| name.as_str()).collect();
    names.extend(term.namespaces.iter().map(String::as_str));
    names.push(&own.namespace);
    names.sort_unstable();
    names.dedup();
    let within = |name: &str| {
        let first = near.partition_point(|p| snapshot.pod(*p).namespace.as_str() < name);
        let after = near.partition_point(|p| snapshot.pod(*p).namespace.as_str() <= name);
        near[first..after].iter().copied()
    };
    // The names only say where to look; whether the pod is meant is the scheduler's to say.
    let meant = |p: &PodId| scheduler::avoids(snapshot, term, own, snapshot.pod(*p));
    names.into_iter().flat_map(within).filter(meant).collect()
}

fn together(draft: &Draft<'_>, topology_key: &str, one: NodeId, other: NodeId) -> bool {
    let place = |n: NodeId| draft.world.snapshot.node(n).labels.get(topology_key);
    match (place(one), place(other)) {
        (Some(place), Some(that)) => place == that,
        // descheduler takes one and the same node for one place even without the label; the scheduler does not.
        _ => one == other && draft.world.policy.exact,
    }
}
