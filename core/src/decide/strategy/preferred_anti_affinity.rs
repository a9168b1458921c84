//! The preferred kind of RemovePodsViolatingInterPodAntiAffinity: moves pods to nodes where fewer
//! preferred anti-affinity terms are violated.
//!
//! Only nodes with a smaller sum of weights count as destinations, and the gates check that the
//! scheduler chooses one of them. The sum of all pods falls with each move, so the moves end.

use std::collections::VecDeque;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::scheduler;
use crate::model::plan::{NoGain, NotSelected, Reason};
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::Scope;

use super::importance::importance;
use super::listing::{only_on, pods, ready_nodes, with_terms};
use super::{SelectPods, StrategyRun};

/// One cycle of the strategy.
#[derive(Debug)]
pub(super) struct PreferredAntiAffinityRun<'w> {
    position: usize,
    scope: &'w Scope,
    nodes: Vec<NodeId>,
    /// Pods with preferred anti-affinity that are not asked for yet.
    waiting: VecDeque<PodId>,
}

impl<'w> PreferredAntiAffinityRun<'w> {
    pub(super) fn start(draft: &Draft<'w>, position: usize, scope: &'w Scope) -> Self {
        let snapshot = draft.world.snapshot;
        let mut waiting = pods(draft, scope);
        waiting.retain(|pod| with_terms(draft, scope, *pod, has_terms).is_ok());
        waiting.sort_by_key(|p| (importance(snapshot.pod(*p)), snapshot.pod(*p).node, *p));
        PreferredAntiAffinityRun {
            position,
            scope,
            nodes: ready_nodes(draft),
            waiting: waiting.into(),
        }
    }

    /// The pod as a candidate, given the moves so far.
    fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<Candidate, NotSelected> {
        let (home, _) = with_terms(draft, self.scope, pod, has_terms)?;
        let violated = scheduler::violated_preferences(draft, pod);
        let nodes = self.nodes.iter();
        let weights: Vec<(NodeId, i64)> = nodes.map(|n| (*n, violated.at(*n))).collect();
        let own = weights.iter().find(|(node, _)| *node == home);
        let weight = own.map(|(_, weight)| *weight).unwrap_or_default();
        if weight == 0 {
            return Err(NotSelected::NoNeighbour);
        }
        let better = weights.iter().filter(|(_, other)| *other < weight);
        let best = better.clone().map(|(_, other)| *other).min();
        let best = best.ok_or(NotSelected::NoBetterNode)?;
        let nodes = better.map(|(node, _)| *node).collect();
        let reason = Reason::NearAvoided { weight, best };
        let candidate = Candidate::new(pod, self.position, reason);
        Ok(candidate.within(only_on(nodes, NoGain::AntiAffinity)))
    }
}

impl SelectPods for PreferredAntiAffinityRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        while let Some(pod) = self.waiting.pop_front() {
            if let Ok(candidate) = self.judge(draft, pod)
                && !draft.is_on_closed_node(self.position, pod)
            {
                return Some(candidate);
            }
        }
        None
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        run.parted_or_late(pod, |draft| self.judge(draft, pod))
    }
}

fn has_terms(pod: &Pod) -> bool {
    pod.preferred_terms.iter().any(|term| term.weight < 0)
}
