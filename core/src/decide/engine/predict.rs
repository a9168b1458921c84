//! The nodes of replacements whose landing did not matter to the decision.

use crate::decide::placement::{Landing, Placement};
use crate::decide::scheduler;
use crate::model::ledger::Aim;
use crate::model::plan::{Move, Plan};

use super::Engine;
use super::observed::Observed;

impl Engine {
    /// Names the expected node of each replacement that has none in the plan, because a strategy or
    /// the exact mode asked for no forecast. A replacement that no node can run keeps none.
    ///
    /// For people who read the plan: nothing is decided by it.
    pub fn predict_landings(&self, observed: &Observed<'_>, plan: &mut Plan) {
        let unpredicted = |planned: &Move| planned.to.is_none() && planned.aim != Aim::Clear;
        if !plan.moves.iter().any(unpredicted) {
            return;
        }
        let snapshot = observed.snapshot;
        let mut placement = Placement::new(&self.policy, snapshot, &self.search_start);
        for planned in &mut plan.moves {
            let Some(pod) = snapshot.find_pod(&planned.namespace, &planned.pod) else {
                continue;
            };
            if unpredicted(planned) {
                let likeliest = scheduler::forecast(&placement, pod)
                    .possible_nodes
                    .first()
                    .copied();
                planned.to = likeliest.map(|possible| snapshot.node(possible.node).name.clone());
            }
            let to = planned.to.as_deref();
            let landing = Landing {
                on: to.and_then(|name| snapshot.find_node(name)),
                ..Landing::default()
            };
            placement.book(pod, &landing);
        }
    }
}
