//! RemovePodsViolatingNodeAffinity: to the nodes that a pod's node affinity asks for.
//!
//! The gates find out whether one of them can take the pod. A node that is merely preferred counts only if it can:
//! otherwise a pod would be evicted again and again for the sake of a node that is full (descheduler's issue 1707).

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::decide::scheduler;
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{AffinityKind, Basis, NodeAffinity};

use super::listing::{Queue, looked_at, nodes, pods};
use super::run::StrategyRun;

/// The strategy at work.
#[derive(Debug)]
pub struct Running(Queue);

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &NodeAffinity) -> Self {
        let listed: Rc<[NodeId]> = nodes(draft).into();
        let living: Vec<_> = pods(draft, &rule.scope)
            .into_iter()
            .filter(|(_, id)| !draft.world.snapshot.pod(*id).finished())
            .collect();
        let mut named: BTreeSet<PodId> = BTreeSet::new();
        let mut asked = Vec::new();
        for kind in &rule.kinds {
            for &(home, id) in living.iter().filter(|(_, id)| !named.contains(id)) {
                let wanted = match kind {
                    AffinityKind::Required => {
                        required(draft, home, id).then(|| (Reason::WrongNode, Rc::clone(&listed)))
                    }
                    AffinityKind::Preferred => preferred(draft, home, id, &listed),
                };
                asked.extend(wanted.map(|(reason, nodes)| (id, reason, Some(room(nodes)))));
            }
            named.extend(asked.iter().map(|(id, ..)| *id));
        }
        Running(Queue::new(position, asked))
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.0.next(draft)
    }

    pub(super) fn not_selected(
        turn: &StrategyRun<'_, '_>,
        rule: &NodeAffinity,
        pod: PodId,
    ) -> NotSelected {
        let draft = turn.before;
        let it = draft.world.snapshot.pod(pod);
        let home = match looked_at(draft, &rule.scope, pod) {
            Err(why) => return why,
            Ok(_) if it.finished() => return NotSelected::Finished,
            Ok(home) => home,
        };
        let violated = |kind: &AffinityKind| match kind {
            AffinityKind::Required => required(draft, home, pod),
            AffinityKind::Preferred => preferred(draft, home, pod, &nodes(draft)).is_some(),
        };
        let has = |kind: &AffinityKind| match kind {
            AffinityKind::Required => it.required_nodes.is_some(),
            AffinityKind::Preferred => !it.preferred_nodes.is_empty(),
        };
        if rule.kinds.iter().any(violated) {
            turn.late(pod)
        } else if rule.kinds.iter().any(has) {
            NotSelected::SuitableNode
        } else {
            NotSelected::NoNodeAffinity
        }
    }
}

fn room(nodes: Rc<[NodeId]>) -> DestinationLimits {
    DestinationLimits {
        nodes,
        ceiling: Rc::new([]),
        basis: Basis::Requests,
        cool: Rc::default(),
    }
}

/// Whether the node is not one that the pod may run on. A node selector alone is no affinity, but counts along with it.
fn required(draft: &Draft<'_>, home: NodeId, pod: PodId) -> bool {
    let (it, home) = (
        draft.world.snapshot.pod(pod),
        draft.world.snapshot.node(home),
    );
    it.required_nodes.is_some() && !scheduler::admits(it, home)
}

/// The nodes that the pod prefers to its own.
fn preferred(
    draft: &Draft<'_>,
    home: NodeId,
    pod: PodId,
    listed: &[NodeId],
) -> Option<(Reason, Rc<[NodeId]>)> {
    let snapshot = draft.world.snapshot;
    let it = snapshot.pod(pod);
    if it.preferred_nodes.is_empty() {
        return None;
    }
    let weight_of = |n: NodeId| scheduler::preference(it, snapshot.node(n));
    let weight = weight_of(home);
    let better: Vec<(i64, NodeId)> = listed
        .iter()
        .map(|n| (weight_of(*n), *n))
        .filter(|(w, _)| *w > weight)
        .collect();
    let best = better.iter().map(|(w, _)| *w).max()?;
    Some((
        Reason::LessPreferred { weight, best },
        better.into_iter().map(|(_, n)| n).collect(),
    ))
}
