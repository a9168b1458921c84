//! A trial decision with the steering taint on the hot nodes, which shows the effect of steering.
//!
//! Where steering is off or not permitted, a plan may keep most candidates because their
//! replacements could land on hot nodes. The trial decides once more, with the taints that
//! steering would set already on the nodes.

use std::collections::BTreeSet;

use crate::decide::draft::Draft;
use crate::decide::projection::World;
use crate::decide::steering;
use crate::decide::strategy;
use crate::model::ledger::Ledger;
use crate::model::plan::{
    BalanceReport, Plan, STEERING_KEY, SteerAction, SteerValue, SteeringTrial,
};
use crate::model::snapshot::NodeId;
use crate::model::snapshot::facts::{Effect, Taint};
use crate::policy::{Limits, Policy, Share};

use super::balance_report::balance_report;
use super::{Engine, Observed};

/// The most evictions of a trial. It bounds the cost in a large cluster with many hot nodes.
pub(super) const MOST_MOVES: u32 = 100;
/// The most cycles of a trial.
const CYCLES: usize = 4;

impl Engine {
    /// Finds out what steering would achieve for a plan that keeps most candidates because of where
    /// their replacements could land. Returns `None` for any other plan, and if steering would
    /// relieve no further node.
    ///
    /// It costs as much as some decisions, and changes nothing.
    pub fn steering_trial(
        &self,
        observed: &Observed<'_>,
        ledger: &Ledger,
        plan: &Plan,
    ) -> Option<SteeringTrial> {
        if plan.halted.is_some() || !plan.keeps_most_for_landing() {
            return None;
        }
        let policy = trial_policy(&self.policy);
        let world = World { policy: &policy, ledger, ..self.world(observed) };
        let tainted = nodes_to_taint(world, plan);
        if tainted.is_empty() {
            return None;
        }
        let snapshot = observed.snapshot.with_taint(&tainted, &hot_taint());
        let draft = after_cycles(World { snapshot: &snapshot, ..world });
        let hot = hot_nodes(plan);
        let relieved_with_taints = relieved(&hot, &balance_report(&draft));
        if relieved_with_taints == 0 {
            return None;
        }
        let moves = draft.finish().0;
        let more = u32::try_from(moves.len()).is_ok_and(|number| number >= MOST_MOVES);
        let from_hot = moves.iter().filter(|m| hot.contains(m.node.as_str()));
        let trial = SteeringTrial {
            asked: self.policy.steering.hot,
            refused: plan.kept.len(),
            refused_for_landing: plan.kept_for_landing(),
            hot: hot.len(),
            relieved: self.relieved_as_it_is(observed, ledger, &hot),
            tainted: tainted.len(),
            moves: from_hot.count(),
            more,
            relieved_with_taints,
        };
        (trial.relieved_with_taints > trial.relieved).then_some(trial)
    }

    /// The number of these nodes that as many cycles relieve with the policy as it is, also without
    /// limits. A plan alone would not do for the comparison: it may begin what needs several
    /// cycles.
    pub(super) fn relieved_as_it_is(
        &self,
        observed: &Observed<'_>,
        ledger: &Ledger,
        hot: &BTreeSet<&str>,
    ) -> usize {
        let policy = without_limits(&self.policy);
        let draft = after_cycles(World { policy: &policy, ledger, ..self.world(observed) });
        relieved(hot, &balance_report(&draft))
    }
}

/// The policy with `taintHot` and without limits.
fn trial_policy(policy: &Policy) -> Policy {
    let mut policy = without_limits(policy);
    policy.steering.hot = true;
    policy
}

/// The draft after some cycles, each of which knows where the moves of the one before have landed.
/// One cycle makes few moves whose landing is uncertain.
pub(super) fn after_cycles(world: World<'_>) -> Draft<'_> {
    let mut draft = Draft::new(world);
    for _ in 0..CYCLES {
        let moves = draft.accepted().count();
        for position in 0..world.policy.strategies.len() {
            strategy::run(&mut draft, position, |_, _| {});
        }
        if draft.accepted().count() == moves {
            break;
        }
        draft = draft.later();
    }
    draft
}

/// The policy with no limits except one for the cost of a trial, without approvals and ramp.
pub(super) fn without_limits(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    policy.approval.required = false;
    policy.ramp = None;
    policy.limits = Limits {
        per_cycle: Some(Share::Count(MOST_MOVES)),
        per_node: None,
        per_namespace: None,
        per_workload: None,
        per_minute: None,
    };
    policy
}

/// The hot nodes that steering would taint and that have no taint yet.
fn nodes_to_taint(world: World<'_>, plan: &Plan) -> BTreeSet<NodeId> {
    // No landing is kept free, because this taint is only for hot nodes.
    let changes = steering::steer(world, &plan.nodes, &steering::Landings::default(), None);
    changes
        .iter()
        .filter(|change| change.action == SteerAction::Add(SteerValue::Hot))
        .filter_map(|change| world.snapshot.find_node(&change.node))
        .collect()
}

fn hot_taint() -> Taint {
    Taint {
        key: STEERING_KEY.to_owned(),
        value: SteerValue::Hot.text().to_owned(),
        effect: Effect::PreferNoSchedule,
    }
}

/// The names of the nodes that a strategy found hot.
pub(super) fn hot_nodes(plan: &Plan) -> BTreeSet<&str> {
    let verdicts = plan.nodes.iter().filter(|verdict| verdict.class.is_hot());
    verdicts.map(|verdict| verdict.node.as_str()).collect()
}

/// The number of these nodes that are at or below each of their targets.
pub(super) fn relieved(hot: &BTreeSet<&str>, report: &BalanceReport) -> usize {
    report
        .nodes
        .iter()
        .filter(|node| hot.contains(node.name.as_str()) && node.is_at_target())
        .count()
}
