//! The nodes of replacements in the exact mode, where no forecast decides.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::placement::Landing;
use crate::decide::scheduler;
use crate::model::ledger::Aim;
use crate::model::plan::{Move, Plan};

use super::Engine;
use super::balance_report::balance_report;
use super::observed::Observed;

impl Engine {
    /// Names the expected node of each replacement in a plan of the exact mode, which asks for no
    /// forecast, and counts its load there. A replacement that no node can run keeps none.
    ///
    /// For people who read the plan: nothing is decided by it. In any other plan, the landing gate
    /// has named these nodes.
    pub fn predict_landings(&self, observed: &Observed<'_>, plan: &mut Plan) {
        let unpredicted = |planned: &Move| planned.to.is_none() && planned.aim != Aim::Clear;
        if self.policy.forecasts() || !plan.moves.iter().any(unpredicted) {
            return;
        }
        let snapshot = observed.snapshot;
        let mut draft = Draft::new(self.world(observed));
        for planned in &mut plan.moves {
            let Some(pod) = snapshot.find_pod(&planned.namespace, &planned.pod) else {
                continue;
            };
            if unpredicted(planned) {
                let likeliest = scheduler::forecast(&draft, pod).possible_nodes.first().copied();
                planned.to = likeliest.map(|possible| snapshot.node(possible.node).name.clone());
            }
            let to = planned.to.as_deref();
            let landing =
                Landing { on: to.and_then(|name| snapshot.find_node(name)), ..Landing::default() };
            draft.accept(Candidate::counted(pod, 0), landing);
        }
        plan.after = balance_report(&draft);
    }
}
