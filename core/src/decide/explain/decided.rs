//! Runs the strategies as for a plan, and collects their verdicts about some pods and a node.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::projection::World;
use crate::decide::strategy::{self, ResourceLevel, StrategyRun};
use crate::model::plan::{Class, Idle, NotSelected, PodVerdict};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{HighNodeUtilization, LowNodeUtilization, Strategy};

use super::{Context, StrategyVerdict};

/// The verdicts of all strategies.
pub(super) struct AllVerdicts<'w> {
    /// The draft after all strategies.
    pub(super) draft: Draft<'w>,
    /// By strategy, its verdict about each pod.
    of_pods: Vec<Vec<StrategyVerdict>>,
    /// By strategy, its verdict about the node.
    pub(super) of_node: Vec<NodeVerdict>,
    /// Each time that the first pod became a candidate: the candidate, and the draft at that
    /// moment.
    asked: Vec<(Candidate, Draft<'w>)>,
    /// By strategy, the first pod as its candidate, whether or not the strategy selected it.
    candidates: Vec<Candidate>,
}

/// The verdict of a strategy about a node.
pub(super) struct NodeVerdict {
    pub(super) strategy: usize,
    pub(super) class: Option<Class>,
    /// Why the strategy does nothing, by pool.
    pub(super) idle: Vec<(String, Idle)>,
    pub(super) levels: Vec<ResourceLevel>,
}

impl<'w> AllVerdicts<'w> {
    /// Decides as the engine does, and collects the verdicts about these pods and this node.
    pub(super) fn new(case: &Context<'w>, pods: &[PodId], node: Option<NodeId>) -> Self {
        let mut decided = AllVerdicts {
            draft: Draft::new(case.world),
            of_pods: Vec::new(),
            of_node: Vec::new(),
            asked: Vec::new(),
            candidates: Vec::new(),
        };
        for position in 0..case.world.policy.strategies.len() {
            if let Some(halt) = case.halted {
                let verdict = PodVerdict::NotSelected(NotSelected::Halted(halt.clone()));
                let verdict = decided.verdict_of(position, verdict);
                decided.of_pods.push(vec![verdict; pods.len()]);
                decided.of_node.push(NodeVerdict {
                    strategy: position,
                    class: None,
                    idle: Vec::new(),
                    levels: Vec::new(),
                });
            } else {
                decided.run(position, pods, node);
            }
        }
        if case.halted.is_none() && asks_for_approvals(case) {
            decided.look_past_approvals(case, pods, node);
        }
        decided
    }

    /// Replaces the verdicts that only say that an approval is missing by those without that
    /// condition. The first missing approval ends the cycle, so that no other pod is looked at.
    fn look_past_approvals(&mut self, case: &Context<'_>, pods: &[PodId], node: Option<NodeId>) {
        let mut policy = case.world.policy.clone();
        policy.approval.required = false;
        let world = World { policy: &policy, ..case.world };
        let free = AllVerdicts::new(&Context { world, ..*case }, pods, node);
        let free = free.of_pods.into_iter().flatten();
        for (own, free) in self.of_pods.iter_mut().flatten().zip(free) {
            if lacks_approval(&own.verdict) {
                own.verdict = match free.verdict {
                    PodVerdict::Moved { reason, to, .. } => PodVerdict::Proposed { reason, to },
                    stays @ (PodVerdict::Proposed { .. }
                    | PodVerdict::Kept(_)
                    | PodVerdict::NotSelected(_)) => stays,
                };
            }
        }
    }

    /// Runs one strategy.
    fn run(&mut self, position: usize, pods: &[PodId], node: Option<NodeId>) {
        let first = pods.first().copied();
        let before = self.draft.fork();
        let (verdicts, notes) = (self.draft.verdicts().len(), self.draft.notes().len());
        let asked = &mut self.asked;
        let finished = strategy::run(&mut self.draft, position, |candidate, draft| {
            if Some(candidate.pod) == first {
                asked.push((candidate.clone(), draft.fork()));
            }
        });
        let run = StrategyRun { position, before: &before, after: &self.draft };
        let candidate = first.map(|pod| finished.candidate(&run, pod));
        self.candidates.extend(candidate);
        let pods = pods.iter().map(|pod| finished.verdict(&run, *pod));
        let of_pods = pods.map(|verdict| self.verdict_of(position, verdict)).collect();
        self.of_pods.push(of_pods);
        let name = node.map(|node| self.draft.world.snapshot.node(node).name.as_str());
        let verdict =
            self.draft.verdicts()[verdicts..].iter().find(|v| Some(v.node.as_str()) == name);
        let new_notes = self.draft.notes()[notes..].iter();
        self.of_node.push(NodeVerdict {
            strategy: position,
            class: verdict.map(|v| v.class.clone()),
            idle: new_notes.map(|n| (n.pool.clone(), n.why.clone())).collect(),
            levels: node.map_or_else(Vec::new, |node| finished.levels(&run, node)),
        });
    }

    fn verdict_of(&self, position: usize, verdict: PodVerdict) -> StrategyVerdict {
        let strategy = self.draft.world.strategy(position);
        let profile = &self.draft.world.policy.profiles[strategy.profile];
        StrategyVerdict { strategy: strategy.rule.name(), profile: profile.name.clone(), verdict }
    }

    /// The verdicts of all strategies about the pod at a position.
    pub(super) fn of_pod(&self, pod: usize) -> Vec<StrategyVerdict> {
        self.of_pods.iter().filter_map(|verdicts| verdicts.get(pod).cloned()).collect()
    }

    /// The first pod as a candidate, and the draft in which the gates decide about it. `None` if
    /// there is no strategy.
    ///
    /// The candidate is that of the strategy that moves the pod or would, with an approval,
    /// otherwise of one that selected it, otherwise of the first that balances nodes, otherwise of
    /// the first.
    pub(super) fn candidate(&self, pod: PodId) -> Option<(Candidate, &Draft<'w>)> {
        let selected_by = self
            .first_that(|verdict| matches!(verdict, PodVerdict::Moved { .. }))
            .or_else(|| self.first_that(|verdict| matches!(verdict, PodVerdict::Proposed { .. })))
            .or_else(|| self.first_that(|verdict| matches!(verdict, PodVerdict::Kept(_))));
        if let Some(position) = selected_by {
            let asked = self.asked.iter().find(|(c, _)| c.strategy == position);
            if let Some((candidate, draft)) = asked {
                return Some((candidate.clone(), draft));
            }
        }
        let strategies = &self.draft.world.policy.strategies;
        let position = selected_by.or_else(|| strategies.iter().position(balances)).unwrap_or(0);
        strategies.get(position)?;
        let candidate = self.candidates.get(position).cloned();
        let candidate = candidate.unwrap_or_else(|| Candidate::counted(pod, position));
        Some((candidate, &self.draft))
    }

    /// The first strategy with such a verdict about the first pod.
    fn first_that(&self, wanted: fn(&PodVerdict) -> bool) -> Option<usize> {
        self.of_pods
            .iter()
            .position(|verdicts| verdicts.first().is_some_and(|first| wanted(&first.verdict)))
    }
}

/// Whether evictions wait until a person approves some.
fn asks_for_approvals(case: &Context<'_>) -> bool {
    case.world.policy.approval.required && case.world.approved.is_empty()
}

/// Whether a pod stays only because a person has approved no eviction yet.
fn lacks_approval(verdict: &PodVerdict) -> bool {
    let why = match verdict {
        PodVerdict::Kept(why) => why,
        PodVerdict::NotSelected(NotSelected::Late(why)) => why,
        PodVerdict::Moved { .. } | PodVerdict::Proposed { .. } | PodVerdict::NotSelected(_) => {
            return false;
        }
    };
    why.needs_approval()
}

/// Whether a strategy balances the load of nodes.
fn balances(strategy: &Strategy) -> bool {
    LowNodeUtilization::of(&strategy.rule).is_some()
        || HighNodeUtilization::of(&strategy.rule).is_some()
}
