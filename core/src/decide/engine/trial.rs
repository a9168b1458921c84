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
    BalanceReport, Plan, STEERING_KEY, SteerAction, SteerValue, SteeringTrial, TrialEffect,
};
use crate::model::snapshot::NodeId;
use crate::model::snapshot::facts::{Effect, Taint};
use crate::policy::{Limits, Policy, Share};

use super::balance_report::balance_report;
use super::{Engine, Observed};

/// The most evictions of a trial. It bounds the cost in a large cluster with many hot nodes.
const MOST_MOVES: u32 = 100;
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
        let effect = self.effect(observed, plan, World { snapshot: &snapshot, ..world })?;
        Some(SteeringTrial {
            asked: self.policy.steering.hot,
            refused: plan.kept.len(),
            refused_for_landing: plan.kept_for_landing(),
            tainted: tainted.len(),
            effect,
        })
    }

    /// Returns the effect of a trial in this world for the hot nodes of a plan. `None` if as many
    /// cycles with the policy as it is, also without limits, relieve as many of them. A plan alone
    /// would not do for the comparison: it may begin what needs several cycles.
    pub(super) fn effect(
        &self,
        observed: &Observed<'_>,
        plan: &Plan,
        trial: World<'_>,
    ) -> Option<TrialEffect> {
        let verdicts = plan.nodes.iter().filter(|verdict| verdict.class.is_hot());
        let hot: BTreeSet<&str> = verdicts.map(|verdict| verdict.node.as_str()).collect();
        let draft = after_cycles(trial);
        let relieved_in_trial = relieved(&hot, &balance_report(&draft));
        if relieved_in_trial == 0 {
            return None;
        }
        let moves = draft.finish().0;
        let policy = without_limits(&self.policy);
        let as_it_is = World { policy: &policy, ledger: trial.ledger, ..self.world(observed) };
        let effect = TrialEffect {
            hot: hot.len(),
            relieved: relieved(&hot, &balance_report(&after_cycles(as_it_is))),
            relieved_in_trial,
            moves: moves.iter().filter(|m| hot.contains(m.node.as_str())).count(),
            more: u32::try_from(moves.len()).is_ok_and(|number| number >= MOST_MOVES),
        };
        (effect.relieved_in_trial > effect.relieved).then_some(effect)
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
fn after_cycles(world: World<'_>) -> Draft<'_> {
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

/// The number of these nodes that are at or below each of their targets.
fn relieved(hot: &BTreeSet<&str>, report: &BalanceReport) -> usize {
    report
        .nodes
        .iter()
        .filter(|node| hot.contains(node.name.as_str()) && node.is_at_target())
        .count()
}
