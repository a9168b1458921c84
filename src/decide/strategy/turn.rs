//! A strategy that has had its turn: what it says of each pod, those that it never asked for included.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::model::plan::{Reach, Unasked, Word};
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
pub struct Turn<'t, 'w> {
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
    pub fn words(&self, turn: &Turn<'_, '_>, pods: &[PodId]) -> Vec<Word> {
        let open: Vec<PodId> = pods
            .iter()
            .copied()
            .filter(|p| turn.answer(*p).is_none())
            .collect();
        let mut unasked = self.unasked(turn, &open).into_iter();
        pods.iter()
            .filter_map(|pod| {
                turn.answer(*pod)
                    .or_else(|| unasked.next().map(Word::Unasked))
            })
            .collect()
    }

    fn unasked(&self, turn: &Turn<'_, '_>, pods: &[PodId]) -> Vec<Unasked> {
        let each = |why: &dyn Fn(PodId) -> Unasked| pods.iter().map(|pod| why(*pod)).collect();
        match (self, &turn.before.strategy(turn.position).rule) {
            (Running::Exact(running), rule) => each(&|pod| running.unasked(turn, rule, pod)),
            (Running::LowNodeUtilization(running), Rule::LowNodeUtilization(rule)) => {
                each(&|pod| running.unasked(turn, rule, pod))
            }
            (Running::HighNodeUtilization(running), Rule::HighNodeUtilization(rule)) => {
                each(&|pod| running.unasked(turn, rule, pod))
            }
            (_, Rule::RemoveDuplicates(rule)) => {
                remove_duplicates::Running::unasked(turn, rule, pods)
            }
            (_, Rule::RemovePodsViolatingTopologySpreadConstraint(rule)) => {
                topology_spread::Running::unasked(turn, rule, pods)
            }
            (_, Rule::RemovePodsViolatingInterPodAntiAffinity(rule)) => {
                each(&|pod| inter_pod_anti_affinity::Running::unasked(turn, rule, pod))
            }
            (_, Rule::RemovePodsViolatingNodeAffinity(rule)) => {
                each(&|pod| node_affinity::Running::unasked(turn, rule, pod))
            }
            (_, Rule::RemovePodsViolatingNodeTaints(rule)) => {
                each(&|pod| node_taints::Running::unasked(turn, rule, pod))
            }
            (_, Rule::RemovePodsHavingTooManyRestarts(rule)) => {
                each(&|pod| too_many_restarts::Running::unasked(turn, rule, pod))
            }
            (_, Rule::PodLifeTime(rule)) => {
                each(&|pod| pod_life_time::Running::unasked(turn, rule, pod))
            }
            (_, Rule::RemoveFailedPods(rule)) => {
                each(&|pod| failed_pods::Running::unasked(turn, rule, pod))
            }
            // A strategy runs by its own rule, so that no other pair is ever met.
            (_, Rule::LowNodeUtilization(_) | Rule::HighNodeUtilization(_)) => {
                each(&|pod| turn.late(pod))
            }
        }
    }

    /// The pod as a candidate of this strategy, whether or not it asked for it: with the nodes that it would have in mind.
    pub fn candidate(&self, turn: &Turn<'_, '_>, pod: PodId) -> Candidate {
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
    pub fn levels(&self, turn: &Turn<'_, '_>, node: NodeId) -> Vec<Level> {
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

impl Turn<'_, '_> {
    /// What was decided about a pod; `None` where the strategy did not ask for it.
    fn answer(&self, pod: PodId) -> Option<Word> {
        let (after, snapshot) = (self.after, self.after.world.snapshot);
        if let Some((candidate, landing)) = after.move_of(pod) {
            if candidate.strategy != self.position {
                return Some(Word::Unasked(Unasked::MovedBefore(
                    after.strategy(candidate.strategy).rule.name(),
                )));
            }
            let to = landing.on.map(|node| snapshot.node(node).name.clone());
            return Some(Word::Moved {
                reason: candidate.reason.clone(),
                to,
            });
        }
        after
            .refusal(self.position, pod)
            .map(|refusal| Word::Kept(refusal.clone()))
    }

    /// Why a pod that the strategy had in mind was not asked for: an answer about another ended it for the node or for the
    /// cycle, or others were chosen.
    pub(super) fn late(&self, pod: PodId) -> Unasked {
        let snapshot = self.after.world.snapshot;
        let home = snapshot.pod(pod).node;
        let ends = |(other, why): &(PodId, &crate::model::plan::Refusal)| match why.reach() {
            Reach::Cycle => true,
            Reach::Node => snapshot.pod(*other).node == home,
            Reach::Pod => false,
        };
        let ended = self.after.refusals(self.position).find(ends);
        ended.map_or(Unasked::OthersFirst, |(_, why)| {
            Unasked::Late(Box::new(why.clone()))
        })
    }

    /// Whether an answer about another pod ended the strategy for this pod's node, or for the cycle.
    pub(super) fn is_late(&self, pod: PodId) -> bool {
        matches!(self.late(pod), Unasked::Late(_))
    }
}

/// The node on which a pod serves and is to stay, where that node can be weighed by requests; or why it does not count.
pub(super) fn serves(draft: &Draft<'_>, pod: PodId) -> Result<NodeId, Unasked> {
    let it = draft.world.snapshot.pod(pod);
    let node = it.node.ok_or(Unasked::Nowhere)?;
    match unfit(draft, Basis::Requests, node) {
        Some(class) => Err(Unasked::Node(class)),
        None if it.terminating => Err(Unasked::Terminating),
        None if it.finished() => Err(Unasked::Finished),
        None => Ok(node),
    }
}
