//! One run of a strategy: the gates answer each candidate, and afterwards every pod has a verdict.

use std::collections::BTreeSet;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::model::plan::{Idle, NotSelected, PodVerdict, Reach, Refusal};
use crate::model::snapshot::{NodeId, PodId};

use super::{ResourceLevel, SelectPods, start};

/// The drafts before and after a strategy has run.
#[derive(Clone, Copy, Debug)]
pub struct StrategyRun<'t, 'w> {
    /// The position of the strategy in the policy.
    pub position: usize,
    /// The draft when the strategy began.
    pub before: &'t Draft<'w>,
    /// The draft when the strategy ended.
    pub after: &'t Draft<'w>,
}

/// A strategy that has run.
#[derive(Debug)]
pub struct FinishedRun<'w> {
    strategy: Box<dyn SelectPods + 'w>,
    /// Candidates without a forecast, because these are limited.
    not_reached: BTreeSet<PodId>,
}

/// Runs the strategy at a position of the policy: each candidate is accepted or refused in the
/// draft.
///
/// `on_candidate` is called before the gates decide about a candidate.
pub fn run<'w>(
    draft: &mut Draft<'w>,
    position: usize,
    mut on_candidate: impl FnMut(&Candidate, &Draft<'w>),
) -> FinishedRun<'w> {
    let mut strategy = start(draft, position);
    let mut not_reached = BTreeSet::new();
    if strategy.work().is_none() {
        draft.limit_forecasts(position, strategy.most_candidates(draft));
    }
    let mut is_cycle_over = false;
    while !is_cycle_over && let Some(candidate) = next(&mut *strategy, draft) {
        on_candidate(&candidate, draft);
        let pod = candidate.pod;
        if !draft.has_turn() && gate::needs_forecast(&candidate, draft) {
            not_reached.insert(pod);
            continue;
        }
        match gate::admit(&candidate, draft) {
            Ok(landing) => draft.accept(candidate, landing),
            Err(refusal) => draft.refuse(&candidate, refusal),
        }
        let refusal = draft.refusal(position, pod);
        strategy.answered(draft, pod, refusal);
        is_cycle_over = refusal.is_some_and(|why| why.reach() == Reach::Cycle);
    }
    if !is_cycle_over {
        for (candidate, refusal) in strategy.refused(draft) {
            on_candidate(&candidate, draft);
            draft.refuse(&candidate, refusal);
        }
        let left = not_reached.len() + strategy.not_reached(draft);
        note_not_reached(draft, position, left);
    }
    draft.end_turns(position, strategy.work());
    FinishedRun { strategy, not_reached }
}

fn next(strategy: &mut dyn SelectPods, draft: &mut Draft<'_>) -> Option<Candidate> {
    draft.next_turn();
    strategy.next(draft)
}

/// Notes how many pods were not reached, if no other one moves.
fn note_not_reached(draft: &mut Draft<'_>, position: usize, left: usize) {
    let moves = draft.accepted().any(|candidate| candidate.strategy == position);
    if left > 0 && !moves {
        let tried = draft.refusals(position).count();
        let why = Idle::SearchUnfinished { tried, left, of: "selected pods" };
        draft.note(draft.world.strategy(position).rule.name(), "default", why);
    }
}

impl FinishedRun<'_> {
    /// The strategy's verdict about a pod.
    pub fn verdict(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> PodVerdict {
        if let Some(answer) = run.answer(pod) {
            return answer;
        }
        let is_left = self.not_reached.contains(&pod);
        let why = is_left.then_some(NotSelected::NotReached);
        PodVerdict::NotSelected(why.unwrap_or_else(|| self.strategy.not_selected(run, pod)))
    }

    /// The pod as a candidate, whether or not the strategy selected it.
    pub fn candidate(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> Candidate {
        self.strategy.candidate(run, pod)
    }

    /// A node's ratios beside the strategy's thresholds when it began; empty if the strategy does
    /// not weigh the node.
    pub fn levels(&self, run: &StrategyRun<'_, '_>, node: NodeId) -> Vec<ResourceLevel> {
        self.strategy.levels(run, node)
    }
}

impl StrategyRun<'_, '_> {
    /// The decision about a pod that was a candidate; `None` if it was none.
    fn answer(&self, pod: PodId) -> Option<PodVerdict> {
        let (after, snapshot) = (self.after, self.after.world.snapshot);
        let Some((candidate, landing)) = after.move_of(pod) else {
            let refusal = after.refusal(self.position, pod);
            return refusal.map(|refusal| PodVerdict::Kept(refusal.clone()));
        };
        if candidate.strategy != self.position {
            let earlier = after.world.strategy(candidate.strategy).rule.name();
            return Some(PodVerdict::NotSelected(NotSelected::MovedBefore(earlier)));
        }
        Some(PodVerdict::Moved {
            reason: candidate.reason.clone(),
            to: landing.expected().map(|node| snapshot.node(node).name.clone()),
            aim: candidate.reason.aim(snapshot.pod(pod).finished()),
            saves: candidate.saves,
            worth: after.worth(candidate),
        })
    }

    /// Why a pod is no candidate: the verdict about it, or else why it came too late.
    pub(super) fn or_late<T>(&self, pod: PodId, verdict: Result<T, NotSelected>) -> NotSelected {
        verdict.err().unwrap_or_else(|| self.late(pod))
    }

    /// Why a pod is no candidate, by a verdict that depends on the moves: other pods that left may
    /// have parted it from those that it avoids.
    pub(super) fn parted_or_late<T>(
        &self,
        pod: PodId,
        judge: impl Fn(&Draft<'_>) -> Result<T, NotSelected>,
    ) -> NotSelected {
        let after = |_| judge(self.after).map_err(|_| NotSelected::Parted);
        self.or_late(pod, judge(self.before).and_then(after))
    }

    /// Why a selected pod did not become a candidate: a refusal of another pod ended the strategy
    /// for the node or for the cycle, or other pods were chosen.
    pub(super) fn late(&self, pod: PodId) -> NotSelected {
        let snapshot = self.after.world.snapshot;
        let node = snapshot.pod(pod).node;
        let finished = snapshot.pod(pod).finished();
        let ends = |(other, why): &(PodId, &Refusal)| match why.reach() {
            Reach::Cycle => true,
            Reach::Replaced => !finished,
            Reach::Node => snapshot.pod(*other).node == node,
            Reach::Pod => false,
        };
        let ending = self.after.refusals(self.position).find(ends);
        ending.map_or(NotSelected::OthersFirst, |(_, why)| NotSelected::Late(Box::new(why.clone())))
    }

    /// Whether a refusal of another pod ended the strategy for this pod's node, or for the cycle.
    pub(super) fn is_late(&self, pod: PodId) -> bool {
        matches!(self.late(pod), NotSelected::Late(_))
    }
}
