//! The evictions that wait for an approval, and the approved ones that are not made.

use std::collections::BTreeSet;

use crate::decide::draft::Draft;
use crate::decide::projection::World;
use crate::decide::strategy;
use crate::model::approval::{Approved, ProposedMove, Unmade};
use crate::model::plan::{Halt, Kept, Move, Plan, Verdict};

use super::{Engine, Observed};

impl Engine {
    /// Records which evictions a person has approved, in place of earlier ones. They matter only
    /// if the policy requires approvals.
    pub fn approve(&mut self, moves: &[ProposedMove]) {
        self.approved = Approved::new(moves);
    }

    /// Records which evictions wait for an answer of a person, and that none is approved. With
    /// `None` that is not known, so no eviction is automatic.
    pub fn wait_for(&mut self, moves: Option<&[ProposedMove]>) {
        self.approved = Approved::none_of(moves);
    }

    /// Adds to the plan the evictions that it would make without approvals, and does not make, in
    /// place of the refusals of these pods. It adds none if the policy requires no approvals.
    ///
    /// It costs as much as a decision.
    pub fn propose(&self, observed: &Observed<'_>, plan: &mut Plan) {
        if !self.policy.approval.required || plan.halted.is_some() {
            return;
        }
        let mut policy = self.policy.clone();
        policy.approval.required = false;
        let mut draft = Draft::new(World { policy: &policy, ..self.world(observed) });
        for position in 0..policy.strategies.len() {
            strategy::run(&mut draft, position, |_, _| {});
        }
        plan.proposed = draft.finish().0;
        let moves = &plan.moves;
        plan.proposed.retain(|one| moves.iter().all(|made| made.uid != one.uid));
        let proposed = plan.proposed.iter().map(|one| (&one.namespace, &one.pod));
        let proposed: BTreeSet<_> = proposed.collect();
        plan.kept.retain(|kept| !proposed.contains(&(&kept.namespace, &kept.pod)));
    }
}

/// Returns the approved evictions that the plan does not make, each with the difference.
pub(super) fn unmade(
    world: World<'_>,
    halted: Option<&Halt>,
    moves: &[Move],
    kept: &[Kept],
    verdicts: &[Verdict],
) -> Vec<Unmade> {
    let is_made = |approved: &ProposedMove| {
        let mut earlier = world.ledger.entries().iter();
        moves.iter().any(|made| made.uid == approved.uid)
            // By an earlier cycle.
            || earlier.any(|entry| entry.uid == approved.uid) && !approved.stays(world.snapshot)
    };
    let approved = world.approved.moves().filter(|one| !is_made(one));
    let unmade = approved.map(|one| Unmade {
        namespace: one.namespace.clone(),
        pod: one.pod.clone(),
        node: one.node.clone(),
        why: difference(world, halted, one, kept, verdicts),
    });
    unmade.collect()
}

fn difference(
    world: World<'_>,
    halted: Option<&Halt>,
    approved: &ProposedMove,
    kept: &[Kept],
    verdicts: &[Verdict],
) -> String {
    let snapshot = world.snapshot;
    let Some(pod) = snapshot.find_pod(&approved.namespace, &approved.pod) else {
        return "the pod is gone".to_owned();
    };
    let pod = snapshot.pod(pod);
    if pod.uid != approved.uid {
        return "another pod has its name now".to_owned();
    }
    let node = pod.node.map(|node| snapshot.node(node).name.as_str());
    if node != Some(approved.node.as_str()) {
        return format!("it is on node {} now", node.unwrap_or("none"));
    }
    if let Some(halt) = halted {
        return halt.to_string();
    }
    let is_it = |kept: &&Kept| (&kept.namespace, &kept.pod) == (&approved.namespace, &approved.pod);
    if let Some(kept) = kept.iter().find(is_it) {
        return kept.refusal.to_string();
    }
    match verdicts.iter().find(|verdict| verdict.leaves_open(approved)) {
        Some(verdict) => format!("its node is {}", verdict.class),
        None => "no strategy would move it now".to_owned(),
    }
}
