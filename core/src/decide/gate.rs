//! Gates: each may refuse a candidate and says why. Every gate must admit it.
//!
//! Properties of the pod are checked first, limits of the moment last. So a refusal names the
//! reason that lasts longest, and only pods that could be evicted use up a limit.

use crate::decide::draft::{Candidate, Draft, Prospect};
use crate::decide::placement::Landing;
use crate::decide::scheduler::Forecast;
use crate::model::plan::{BadLanding, Disruption, PlacementCause, Refusal, UnknownKind};
use crate::model::snapshot::{NodeId, PodId};
use crate::values::{Ratio, ResourceId};

mod approval;
mod cooldown;
mod day_ahead;
mod disruption;
mod evictable;
mod exact;
mod in_turn;
mod kubelet;
mod landing;
mod landing_flaw;
mod limits;
mod preference;
mod replacement;
mod replicas;
mod undecided;
mod worth;

pub use evictable::do_not_disrupt;
use landing_flaw::LandingFlaw;
use preference::Preferences;
pub use replacement::{RULES as REPLACEMENT_RULES, ReplacementRule};

crate::names! {
    /// A gate; the variants are in the order in which they decide.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Gate {
        /// The pod may be evicted at all.
        Evictable = "evictable",
        /// Its replacement will exist, may start and finds what it needs.
        Replacement = "replacement",
        /// Its workload has enough replicas.
        Replicas = "replicas",
        /// Its PodDisruptionBudget allows the eviction.
        Disruption = "disruption",
        /// It is not in its cooldown.
        Cooldown = "cooldown",
        /// It pays for the start of its replacement.
        Worth = "worth",
        /// A person has approved its eviction, where the policy requires that.
        Approval = "approval",
        /// Its replacement would land on a node where it helps.
        Landing = "landing",
        /// No limit of evictions is reached.
        Limits = "limits",
    }
    /// The stable code in JSON.
    pub fn code;
}

impl Gate {
    /// Asks this gate only. The landing is empty except for [`Gate::Landing`].
    pub fn ask(self, candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
        let checks = checks(draft);
        match self {
            Gate::Evictable => (checks.evictable)(candidate, draft)?,
            Gate::Replacement => replacement::admit(candidate, draft)?,
            Gate::Replicas => (checks.replicas)(candidate, draft)?,
            Gate::Disruption => (checks.disruption)(candidate, draft)?,
            Gate::Cooldown => (checks.cooldown)(candidate, draft)?,
            Gate::Worth => (checks.worth)(candidate, draft)?,
            Gate::Approval => approval::admit(candidate, draft)?,
            Gate::Landing => {
                let landing = prospect(candidate, draft)?.landing;
                approval::admit_landing(candidate, draft, &landing)?;
                in_turn::admit(candidate, draft, &landing)?;
                return Ok(landing);
            }
            Gate::Limits => limits::admit(candidate, draft)?,
        }
        Ok(Landing::default())
    }
}

/// The checks in which the two modes differ. Each mode has its own set.
struct Checks {
    evictable: Check,
    replacement: fn(&ReplacementRule, &Candidate, &Draft<'_>) -> Result<(), Refusal>,
    replicas: Check,
    disruption: fn(&Candidate, &Draft<'_>) -> Result<(), Disruption>,
    again: Check,
    cooldown: Check,
    worth: Check,
    landing: fn(&Candidate, &Draft<'_>) -> Result<Prospect, Refusal>,
    landings: fn(&Candidate, &Draft<'_>, &Forecast) -> Vec<JudgedLanding>,
    unknown_kinds: fn(&Draft<'_>) -> Vec<UnknownKind>,
}

type Check = fn(&Candidate, &Draft<'_>) -> Result<(), Refusal>;

/// A node that can take a replacement: how full it would be, or why the move would gain nothing.
type JudgedLanding = (NodeId, Result<Ratio, BadLanding>);

static NATIVE: Checks = Checks {
    evictable: evictable::admit,
    replacement: ReplacementRule::check,
    replicas: replicas::admit,
    disruption: |candidate, draft| {
        disruption::admit(candidate, draft)?;
        disruption::all_known(candidate, draft)
    },
    again: |candidate, draft| {
        replacement::admit(candidate, draft)?;
        replicas::admit(candidate, draft)
    },
    cooldown: cooldown::admit,
    worth: worth::admit,
    landing: |candidate, draft| draft.remembered(candidate, || landing::find(candidate, draft)),
    landings: landing::each,
    unknown_kinds: replacement::unknown_kinds,
};

/// The checks of the policy's mode.
fn checks(draft: &Draft<'_>) -> &'static Checks {
    if draft.world.policy.exact { &exact::CHECKS } else { &NATIVE }
}

/// Asks the gates in order, up to the first refusal.
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

/// Asks the gates about the pod itself and its workload, up to [`Gate::Replicas`], for strategies
/// that count only such pods.
pub fn evictable(pod: PodId, strategy: usize, draft: &Draft<'_>) -> Result<(), Refusal> {
    let candidate = Candidate::counted(pod, strategy);
    (checks(draft).evictable)(&candidate, draft)?;
    replacement::admit(&candidate, draft)?;
    (checks(draft).replicas)(&candidate, draft)
}

/// Asks the gates again before a planned eviction: those whose answers depend on other objects than
/// the pod, its claims, its budgets and its destinations.
pub fn admit_again(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    (checks(draft).again)(candidate, draft)
}

/// Returns true if [`evictable`] admits a pod. The checks that moves do not change are asked once
/// in a cycle.
pub fn is_evictable(pod: PodId, strategy: usize, draft: &Draft<'_>) -> bool {
    let (candidate, checks) = (Candidate::counted(pod, strategy), checks(draft));
    let is_permitted = draft.permitted(strategy, pod, || {
        (checks.evictable)(&candidate, draft).is_ok()
            && replacement::admit_part(&candidate, draft, false).is_ok()
    });
    let answer = is_permitted
        && replacement::admit_part(&candidate, draft, true).is_ok()
        && (checks.replicas)(&candidate, draft).is_ok();
    debug_assert_eq!(answer, evictable(pod, strategy, draft).is_ok());
    answer
}

/// Returns the objects that are not known, with the number of pods that stay because of them.
pub fn unknown_kinds(draft: &Draft<'_>) -> Vec<UnknownKind> {
    (checks(draft).unknown_kinds)(draft)
}

/// Asks [`Gate::Disruption`] about a pod.
pub fn disruption(pod: PodId, strategy: usize, draft: &Draft<'_>) -> Result<(), Disruption> {
    (checks(draft).disruption)(&Candidate::counted(pod, strategy), draft)
}

/// Asks [`Gate::Landing`] only, for strategies that move several pods together or none of them.
pub fn landing(candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
    Gate::Landing.ask(candidate, draft)
}

/// Returns where the replacement would land, with the probability that the move helps. It does not
/// ask what other moves and approvals expect. The draft remembers a forecast until it accepts
/// another move.
pub fn prospect(candidate: &Candidate, draft: &Draft<'_>) -> Result<Prospect, Refusal> {
    (checks(draft).landing)(candidate, draft)
}

/// Like [`prospect`], by a forecast of this draft for the candidate's pod, which the draft does not
/// remember. Not for the exact mode, which makes no forecast.
pub fn prospect_by(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Result<Prospect, Refusal> {
    landing::find_by(candidate, draft, forecast)
}

/// Returns true if the replacement lands well where it lands on this node.
pub fn lands_well(candidate: &Candidate, draft: &Draft<'_>, node: NodeId) -> bool {
    let preferences = Preferences::of(draft, candidate.pod);
    landing_flaw::check(candidate, draft, &preferences, node).is_ok()
}

/// Returns true if [`admit`] needs a forecast for its answer.
///
/// Not for the exact mode, which makes no forecast.
pub fn needs_forecast(candidate: &Candidate, draft: &Draft<'_>) -> bool {
    admit_before_landing(candidate, draft).is_ok()
        && landing::without_forecast(candidate, draft).is_none()
}

/// Asks every gate before [`Gate::Landing`], none of which needs a forecast.
pub fn admit_before_landing(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let mut before = Gate::ALL.iter().take_while(|gate| **gate != Gate::Landing);
    before.try_for_each(|gate| gate.ask(candidate, draft).map(drop))
}

/// Whether a node stays below these ceilings and the policy's usage targets once the pod has landed
/// there. Unknown usage counts as below.
pub fn stays_cool(
    pod: PodId,
    strategy: usize,
    draft: &Draft<'_>,
    node: NodeId,
    ceilings: &[(ResourceId, Ratio)],
) -> bool {
    let pod = Candidate::counted(pod, strategy);
    let found = landing_flaw::stays_cool(&pod, draft, node, ceilings, false)
        .and_then(|()| landing_flaw::stays_below_targets(&pod, draft, node));
    !matches!(found, Err(LandingFlaw::Hot(_)))
}

/// For each node that can take the replacement: how full it would be, or why the move would gain
/// nothing.
///
/// The order is that of the forecast. The result is empty in the exact mode, which makes no
/// forecast.
pub fn landings(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Vec<(NodeId, Result<Ratio, BadLanding>)> {
    (checks(draft).landings)(candidate, draft, forecast)
}

/// Why the scheduler would place the replacement on the pod's own node; `None` if that node would
/// not win.
pub fn return_cause(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Option<PlacementCause> {
    let home = draft.world.snapshot.pod(candidate.pod).node?;
    let wins = forecast.possible_nodes.iter().any(|w| w.node == home);
    wins.then(|| landing_flaw::placement_cause(candidate, draft, home, forecast))
}
