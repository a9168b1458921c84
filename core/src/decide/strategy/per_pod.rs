//! Strategies that judge every pod by itself: the state of other pods does not matter.

use std::collections::VecDeque;
use std::fmt::Debug;

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::Scope;

use super::listing::{in_scope, pods};
use super::{SelectPods, StrategyRun};

/// Why a strategy moves a pod, and where the replacement has to land.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) reason: Reason,
    /// `None` where any node will do.
    pub(super) destinations: Option<DestinationLimits>,
}

impl Selected {
    /// A selected pod whose replacement may land on any node.
    pub(super) const fn anywhere(reason: Reason) -> Self {
        Selected { reason, destinations: None }
    }
}

/// The rule of a strategy that judges every pod by itself.
pub(super) trait JudgePod: Debug {
    /// The pods that the strategy looks at.
    fn scope(&self) -> &Scope;

    /// Decides about a pod in scope, given its node.
    fn judge(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> Result<Selected, NotSelected>;

    /// Puts the selected pods into the order in which the gates are asked.
    ///
    /// They come node by node, and on each node the workloads in proportion.
    fn sort(&self, _draft: &Draft<'_>, _selected: &mut Vec<(PodId, Selected)>) {}
}

/// One cycle of a strategy that judges every pod by itself.
#[derive(Debug)]
pub(super) struct PerPodRun<J> {
    position: usize,
    rule: J,
    waiting: VecDeque<(PodId, Selected)>,
}

impl<J: JudgePod> PerPodRun<J> {
    pub(super) fn start(draft: &Draft<'_>, position: usize, rule: J) -> Self {
        let mut selected: Vec<(PodId, Selected)> = pods(draft, rule.scope())
            .into_iter()
            .filter_map(|pod| Some((pod, judge(&rule, draft, pod).ok()?)))
            .collect();
        rule.sort(draft, &mut selected);
        PerPodRun { position, rule, waiting: selected.into() }
    }
}

/// Decides about any pod.
fn judge<J: JudgePod>(rule: &J, draft: &Draft<'_>, pod: PodId) -> Result<Selected, NotSelected> {
    let node = in_scope(draft, rule.scope(), pod)?;
    rule.judge(draft, node, pod)
}

impl<J: JudgePod> SelectPods for PerPodRun<J> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        let mut waiting = std::iter::from_fn(|| self.waiting.pop_front());
        let is_open = |pod: PodId| !draft.is_on_closed_node(self.position, pod);
        let (pod, Selected { reason, destinations }) = waiting.find(|(pod, _)| is_open(*pod))?;
        Some(Candidate::new(pod, self.position, reason).within(destinations))
    }

    fn most_candidates(&self, _draft: &Draft<'_>) -> usize {
        self.waiting.len()
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        run.or_late(pod, judge(&self.rule, run.before, pod))
    }
}
