//! The gates: each may refuse a candidate, in words. All must admit it.
//!
//! What lies in the pod comes first, what lies in the moment last: so a refusal names the reason that will outlive the
//! others, and only pods that could go use up a limit.

use crate::decide::draft::{Candidate, Draft, Landing};
use crate::decide::scheduler::Forecast;
use crate::model::plan::{PlacementCause, Refusal};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::Ratio;

mod cooldown;
mod disruption;
mod evictable;
mod exact_landing;
mod landing;
mod limits;

use landing::Flaw;

/// A gate, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Whether the pod may go at all.
    Evictable,
    /// Whether its PodDisruptionBudget lets it go.
    Disruption,
    /// Whether it rests.
    Cooldown,
    /// Whether its replacement would land where it helps.
    Landing,
    /// Whether so many may go.
    Limits,
}

impl Gate {
    /// All of them, in order.
    pub const ALL: [Gate; 5] = [
        Gate::Evictable,
        Gate::Disruption,
        Gate::Cooldown,
        Gate::Landing,
        Gate::Limits,
    ];

    /// The stable label.
    pub const fn code(self) -> &'static str {
        match self {
            Gate::Evictable => "evictable",
            Gate::Disruption => "disruption",
            Gate::Cooldown => "cooldown",
            Gate::Landing => "landing",
            Gate::Limits => "limits",
        }
    }

    /// Asks this gate alone, whatever the others say. Only [`Gate::Landing`] tells of a landing.
    pub fn ask(self, candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
        match self {
            Gate::Evictable => evictable::admit(candidate, draft)?,
            Gate::Disruption => disruption::admit(candidate, draft)?,
            Gate::Cooldown => cooldown::admit(candidate, draft)?,
            Gate::Landing => return landing(candidate, draft),
            Gate::Limits => limits::admit(candidate, draft)?,
        }
        Ok(Landing::default())
    }
}

/// Asks every gate in turn.
pub fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
    let mut landing = Landing::default();
    for gate in Gate::ALL {
        let answer = gate.ask(candidate, draft)?;
        if gate == Gate::Landing {
            landing = answer;
        }
    }
    Ok(landing)
}

/// Whether a pod may go at all, by what it is: for strategies that count only such pods.
pub fn evictable(pod: PodId, strategy: usize, draft: &Draft<'_>) -> Result<(), Refusal> {
    evictable::admit(&Candidate::counted(pod, strategy), draft)
}

/// Whether the budgets let a pod go.
pub fn disruption(pod: PodId, strategy: usize, draft: &Draft<'_>) -> Result<(), Refusal> {
    disruption::admit(&Candidate::counted(pod, strategy), draft)
}

/// Where a candidate would land, whatever the moment says: for strategies that move some pods together or not at all.
pub fn landing(candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
    if draft.world.policy.exact {
        exact_landing::find(candidate, draft)
    } else {
        landing::find(candidate, draft)
    }
}

/// Whether a node stays below what the policy holds to be hot by usage, once the pod has landed there, as far as is known.
pub fn stays_cool(pod: PodId, strategy: usize, draft: &Draft<'_>, node: NodeId) -> bool {
    let pod = Candidate::counted(pod, strategy);
    !matches!(
        landing::stays_cool(&pod, draft, node, &landing::targets(draft, node)),
        Err(Flaw::Hot { .. })
    )
}

/// What becomes of the nodes that could take the replacement, if it landed there: how full the node would be, or why
/// nothing would be gained. In the order of the forecast; empty in the exact mode, which does not ask.
pub fn landings(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Vec<(NodeId, Result<Ratio, Refusal>)> {
    if draft.world.policy.exact {
        Vec::new()
    } else {
        landing::each(candidate, draft, forecast)
    }
}

/// What draws the replacement to the node of its pod, where that is as likely to win as any other; `None` where it is not.
pub fn pull_home(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Option<PlacementCause> {
    let home = draft.world.snapshot.pod(candidate.pod).node?;
    let wins = forecast.winners.iter().any(|w| w.node == home);
    wins.then(|| landing::pull(candidate, draft, home, forecast))
}
