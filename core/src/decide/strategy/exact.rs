//! The strategies of the exact mode, where they differ: those of descheduler.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::model::plan::{NotSelected, Refusal};
use crate::model::snapshot::PodId;
use crate::policy::Rule;

use super::SelectPods;
use super::inter_pod_anti_affinity::InterPodAntiAffinityRun;
use super::listing::not_moved;
use super::per_pod::PerPodRun;
use super::remove_duplicates::{DuplicateRules, RemoveDuplicatesRun};

use topology_spread::ExactTopologySpreadRun;
use utilization::ExactUtilizationRun;

mod topology_spread;
mod utilization;

/// Starts the strategy at a position of the policy; `None` if it does not differ.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other strategies judge each pod as descheduler does"
)]
pub(super) fn start<'w>(
    draft: &mut Draft<'w>,
    position: usize,
) -> Option<Box<dyn SelectPods + 'w>> {
    Some(match &draft.world.strategy(position).rule {
        Rule::LowNodeUtilization(rule) => Box::new(ExactUtilizationRun::low(draft, position, rule)),
        Rule::HighNodeUtilization(rule) => {
            Box::new(ExactUtilizationRun::high(draft, position, rule))
        }
        Rule::RemoveDuplicates(rule) => {
            Box::new(RemoveDuplicatesRun::start(draft, position, rule, &DUPLICATES))
        }
        Rule::RemovePodsViolatingTopologySpreadConstraint(rule) => {
            Box::new(ExactTopologySpreadRun::start(draft, position, rule))
        }
        Rule::RemovePodsViolatingInterPodAntiAffinity(rule) => {
            Box::new(InterPodAntiAffinityRun::start(draft, position, rule, true))
        }
        Rule::RemovePodsViolatingNodeTaints(rule) => {
            Box::new(PerPodRun::start(draft, position, rule.clone()))
        }
        _ => return None,
    })
}

/// A pod counts only if it may be evicted, and if another node can take it.
static DUPLICATES: DuplicateRules = DuplicateRules {
    counts: |draft, position, pod| {
        may_go(draft, position, pod)?;
        let prospect = gate::prospect(&Candidate::counted(pod, position), draft);
        prospect.map(drop).map_err(may_not_go)
    },
    as_descheduler: true,
};

/// Refuses a pod that an earlier strategy moves, or that may not be evicted.
fn may_go(draft: &Draft<'_>, position: usize, pod: PodId) -> Result<(), NotSelected> {
    not_moved(draft, pod)?;
    gate::evictable(pod, position, draft).map_err(may_not_go)
}

fn may_not_go(why: Refusal) -> NotSelected {
    NotSelected::MayNotGo(Box::new(why))
}
