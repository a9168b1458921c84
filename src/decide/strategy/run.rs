//! A strategy that has had its turn: what it says of each pod, those that it never asked for included.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::model::plan::{NotSelected, PodVerdict, Reach};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{Basis, Rule};
use crate::values::{Ratio, ResourceId};

use super::low_node_utilization::unfit;
use super::{
    Running, failed_pods, high_node_utilization, inter_pod_anti_affinity, node_affinity,
    node_taints, pod_life_time, remove_duplicates, too_many_restarts, topology_spread,
};

/// A strategy that has had its turn.
#[derive(Clone, Copy, Debug)]
pub struct StrategyRun<'t, 'w> {
    /// Its position in the policy.
    pub position: usize,
    /// The draft when its turn came.
    pub before: &'t Draft<'w>,
    /// The draft when it was done.
    pub after: &'t Draft<'w>,
}

/// How a node stands in one resource, by what a strategy weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The resource.
    pub resource: ResourceId,
    /// What is weighed.
    pub basis: Basis,
    /// The node's ratio; `None` where that is not known.
    pub ratio: Option<Ratio>,
    /// At or below this and all others like it, it is cold, or underused.
    pub low: Option<Ratio>,
    /// Above this, it is hot.
    pub high: Option<Ratio>,
}

/// Lets the strategy at this position name its candidates, and writes down what the gates answer. Each candidate is heard
/// before they are asked.
pub fn run<'w>(
    draft: &mut Draft<'w>,
    position: usize,
    mut heard: impl FnMut(&Candidate, &Draft<'w>),
) -> Running {
    let mut strategy = Running::start(draft, position);
    while let Some(candidate) = strategy.next(draft) {
        heard(&candidate, draft);
        match gate::admit(&candidate, draft) {
            Ok(landing) => draft.accept(candidate, landing),
            Err(refusal) => {
                let ends = refusal.reach() == Reach::Cycle;
                draft.refuse(&candidate, refusal);
                if ends {
                    break;
                }
            }
        }
    }
    strategy
}

impl Running {
    /// What it says of each of these pods, in their order. Ask after its turn.
    pub fn words(&self, turn: &StrategyRun<'_, '_>, pods: &[PodId]) -> Vec<PodVerdict> {
        let open: Vec<PodId> = pods
            .iter()
            .copied()
            .filter(|p| turn.answer(*p).is_none())
            .collect();
        let mut not_selected = self.not_selected(turn, &open).into_iter();
        pods.iter()
            .filter_map(|pod| {
                turn.answer(*pod)
                    .or_else(|| not_selected.next().map(PodVerdict::NotSelected))
            })
            .collect()
    }

    fn not_selected(&self, turn: &StrategyRun<'_, '_>, pods: &[PodId]) -> Vec<NotSelected> {
        let each = |why: &dyn Fn(PodId) -> NotSelected| pods.iter().map(|pod| why(*pod)).collect();
        match (self, &turn.before.strategy(turn.position).rule) {
            (Running::Exact(running), rule) => each(&|pod| running.not_selected(turn, rule, pod)),
            (Running::LowNodeUtilization(running), Rule::LowNodeUtilization(rule)) => {
                each(&|pod| running.not_selected(turn, rule, pod))
            }
            (Running::HighNodeUtilization(running), Rule::HighNodeUtilization(rule)) => {
                each(&|pod| running.not_selected(turn, rule, pod))
            }
            (_, Rule::RemoveDuplicates(rule)) => {
                remove_duplicates::Running::not_selected(turn, rule, pods)
            }
            (_, Rule::RemovePodsViolatingTopologySpreadConstraint(rule)) => {
                topology_spread::Running::not_selected(turn, rule, pods)
            }
            (_, Rule::RemovePodsViolatingInterPodAntiAffinity(rule)) => {
                each(&|pod| inter_pod_anti_affinity::Running::not_selected(turn, rule, pod))
            }
            (_, Rule::RemovePodsViolatingNodeAffinity(rule)) => {
                each(&|pod| node_affinity::Running::not_selected(turn, rule, pod))
            }
            (_, Rule::RemovePodsViolatingNodeTaints(rule)) => {
                each(&|pod| node_taints::Running::not_selected(turn, rule, pod))
            }
            (_, Rule::RemovePodsHavingTooManyRestarts(rule)) => {
                each(&|pod| too_many_restarts::Running::not_selected(turn, rule, pod))
            }
            (_, Rule::PodLifeTime(rule)) => {
                each(&|pod| pod_life_time::Running::not_selected(turn, rule, pod))
            }
            (_, Rule::RemoveFailedPods(rule)) => {
                each(&|pod| failed_pods::Running::not_selected(turn, rule, pod))
            }
            // A strategy runs by its own rule, so that no other pair is ever met.
            (_, Rule::LowNodeUtilization(_) | Rule::HighNodeUtilization(_)) => {
                each(&|pod| turn.late(pod))
            }
        }
    }

    /// The pod as a candidate of this strategy, whether or not it asked for it: with the nodes that it would have in mind.
    pub fn candidate(&self, turn: &StrategyRun<'_, '_>, pod: PodId) -> Candidate {
        let plain = || Candidate::counted(pod, turn.position);
        match self {
            Running::LowNodeUtilization(running) => running.candidate(turn, pod),
            Running::HighNodeUtilization(_) => {
                high_node_utilization::Running::candidate(turn, pod).unwrap_or_else(plain)
            }
            Running::Exact(_)
            | Running::RemoveDuplicates(_)
            | Running::RemovePodsViolatingTopologySpreadConstraint(_)
            | Running::RemovePodsViolatingInterPodAntiAffinity(_)
            | Running::RemovePodsViolatingNodeAffinity(_)
            | Running::RemovePodsViolatingNodeTaints(_)
            | Running::RemovePodsHavingTooManyRestarts(_)
            | Running::PodLifeTime(_)
            | Running::RemoveFailedPods(_) => plain(),
        }
    }
}

impl Running {
    /// How a node stood when its turn came, in each resource that it weighs; empty where it weighs none, or not that node.
    pub fn levels(&self, turn: &StrategyRun<'_, '_>, node: NodeId) -> Vec<Level> {
        match self {
            Running::LowNodeUtilization(running) => running.levels(turn, node),
            Running::HighNodeUtilization(_) => high_node_utilization::Running::levels(turn, node),
            Running::Exact(running) => running.levels(node),
            Running::RemoveDuplicates(_)
            | Running::RemovePodsViolatingTopologySpreadConstraint(_)
            | Running::RemovePodsViolatingInterPodAntiAffinity(_)
            | Running::RemovePodsViolatingNodeAffinity(_)
            | Running::RemovePodsViolatingNodeTaints(_)
            | Running::RemovePodsHavingTooManyRestarts(_)
            | Running::PodLifeTime(_)
            | Running::RemoveFailedPods(_) => Vec::new(),
        }
    }
}

impl StrategyRun<'_, '_> {
    /// What was decided about a pod; `None` where the strategy did not ask for it.
    fn answer(&self, pod: PodId) -> Option<PodVerdict> {
        let (after, snapshot) = (self.after, self.after.world.snapshot);
        if let Some((candidate, landing)) = after.move_of(pod) {
            if candidate.strategy != self.position {
                return Some(PodVerdict::NotSelected(NotSelected::MovedBefore(
                    after.strategy(candidate.strategy).rule.name(),
                )));
            }
            let to = landing.on.map(|node| snapshot.node(node).name.clone());
            return Some(PodVerdict::Moved {
                reason: candidate.reason.clone(),
                to,
            });
        }
        after
            .refusal(self.position, pod)
            .map(|refusal| PodVerdict::Kept(refusal.clone()))
    }

    /// Why a pod that the strategy had in mind was not asked for: an answer about another ended it for the node or for the
    /// cycle, or others were chosen.
    pub(super) fn late(&self, pod: PodId) -> NotSelected {
        let snapshot = self.after.world.snapshot;
        let home = snapshot.pod(pod).node;
        let ends = |(other, why): &(PodId, &crate::model::plan::Refusal)| match why.reach() {
            Reach::Cycle => true,
            Reach::Node => snapshot.pod(*other).node == home,
            Reach::Pod => false,
        };
        let ended = self.after.refusals(self.position).find(ends);
        ended.map_or(NotSelected::OthersFirst, |(_, why)| {
            NotSelected::Late(Box::new(why.clone()))
        })
    }

    /// Whether an answer about another pod ended the strategy for this pod's node, or for the cycle.
    pub(super) fn is_late(&self, pod: PodId) -> bool {
        matches!(self.late(pod), NotSelected::Late(_))
    }
}

/// The node on which a pod serves and is to stay, where that node can be weighed by requests; or why it does not count.
pub(super) fn serves(draft: &Draft<'_>, pod: PodId) -> Result<NodeId, NotSelected> {
    let it = draft.world.snapshot.pod(pod);
    let node = it.node.ok_or(NotSelected::Nowhere)?;
    match unfit(draft, Basis::Requests, node) {
        Some(class) => Err(NotSelected::Node(class)),
        None if it.terminating => Err(NotSelected::Terminating),
        None if it.finished() => Err(NotSelected::Finished),
        None => Ok(node),
    }
}
