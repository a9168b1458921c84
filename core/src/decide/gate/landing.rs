//! The landing gate: predicts where the replacement will land, and refuses moves that gain too
//! little.
//!
//! kube-scheduler places pods by requests, taints, affinity and spread, not by usage. The forecast
//! therefore follows those rules and gives each node that may win a probability. A landing is bad
//! on the pod's own node, on a node that is hot by usage or takes no new pods, and where the
//! strategy does not want the pod. The policy limits the probability of a bad landing. A move away
//! from a hot node must also lower the expected usage above the targets, summed over the nodes. A
//! node that the policy's selector excludes, that takes no new pods or whose kubelet would refuse
//! the pod is never accepted, however unlikely it is.

use std::collections::BTreeSet;

use crate::decide::draft::{Candidate, DestinationLimits, Draft, OtherCase, Prospect};
use crate::decide::placement::Landing;
use crate::decide::projection::Projection;
use crate::decide::scheduler::{self, Forecast, PossibleNode};
use crate::decide::targets::load_above;
use crate::model::plan::{BadLanding, Refusal, Replacement};
use crate::model::snapshot::NodeId;
use crate::policy::LowNodeUtilization;
use crate::values::{Ratio, ResourceId};

use super::landing_flaw::{LandingFlaw, check, ratio_after};
use super::preference::Preferences;
use super::undecided;

/// The expected landing of the candidate's replacement, or why the move would gain too little.
pub(super) fn find(candidate: &Candidate, draft: &Draft<'_>) -> Result<Prospect, Refusal> {
    let known = without_forecast(candidate, draft);
    known.unwrap_or_else(|| find_by(candidate, draft, &draft.forecast(candidate.pod)))
}

/// The answer to a candidate that needs no forecast.
pub(super) fn without_forecast(
    candidate: &Candidate,
    draft: &Draft<'_>,
) -> Option<Result<Prospect, Refusal>> {
    // A finished pod has no replacement that must land somewhere.
    let finished = draft.world.snapshot.pod(candidate.pod).finished();
    if candidate.destinations.is_none() && finished {
        return Some(Ok(Prospect::certain()));
    }
    if needs_room(candidate, draft)
        && let Some(misfits) = draft.known_misfits(candidate.pod)
    {
        let refusal = Refusal::from(Replacement::NoRoom(misfits));
        let forecast = || scheduler::forecast(draft, candidate.pod);
        debug_assert_eq!(require_room(candidate, draft, &forecast()), Err(refusal.clone()));
        return Some(Err(refusal));
    }
    None
}

/// Whether the replacement must find a node other than the pod's own.
fn needs_room(candidate: &Candidate, draft: &Draft<'_>) -> bool {
    candidate.destinations.is_some() || candidate.rules(draft.world).node_fit
}

/// Like [`find`], by a forecast of this draft.
pub(super) fn find_by(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Result<Prospect, Refusal> {
    require_room(candidate, draft, forecast)?;
    undecided::admit(candidate, draft, forecast)?;
    let relief = Relief::of(candidate, draft);
    let mut outcome = LandingOutcome::default();
    let case = LandingCase {
        candidate,
        projection: draft,
        forecast,
        relief,
        weight: draft.forecast_weight(),
    };
    let mut risk = outcome.add(case, None);
    outcome.landing.starts.clone_from(&forecast.starts);
    if let Some(without) = draft.other_case().projection() {
        let forecast = scheduler::forecast(without, candidate.pod);
        let case = LandingCase { projection: without, forecast: &forecast, ..case };
        let other = outcome.add(case, Some(draft.undecided_nodes()));
        let doubtful = matches!(draft.other_case(), OtherCase::Doubtful(_));
        risk = if doubtful { risk.or(other) } else { risk.plus(other) };
    }
    let Risk { bad, loss } = risk;
    // The probabilities mean something only if the scores of the scheduler are known.
    let weighed = LowNodeUtilization::of(&draft.world.strategy(candidate.strategy).rule).is_some()
        && scheduler::is_known(draft, candidate.pod);
    let accepted = draft.world.policy.forecast.accepted(weighed).get();
    // A policy that tolerates everything asks for moves that gain nothing, too.
    let gains = relief.0 <= 0.0 || loss < relief.0 || accepted >= 1.0;
    let refusal = if outcome.never.is_some() {
        outcome.never
    } else if bad > accepted {
        outcome.likeliest.map(|(_, why)| why)
    } else if gains {
        None
    } else {
        outcome.costliest.map(|(_, why)| why)
    };
    match refusal {
        Some(why) => Err(why.into()),
        None => Ok(Prospect {
            landing: outcome.landing.on_another(draft.world.snapshot.pod(candidate.pod).node),
            success: Ratio::new(1.0 - bad).unwrap_or_default(),
        }),
    }
}

/// The usage above the targets that leaves the candidate's node, as a share of the node, summed
/// over the resources. Zero if the candidate's strategy has no targets.
#[derive(Clone, Copy)]
struct Relief(f64);

impl Relief {
    fn of(candidate: &Candidate, draft: &Draft<'_>) -> Self {
        let home = draft.world.snapshot.pod(candidate.pod).node;
        let Some((destinations, home)) = candidate.destinations.as_ref().zip(home) else {
            return Relief(0.0);
        };
        let of_resource = |&(resource, target): &(ResourceId, Ratio)| {
            let above = load_above(draft, home, destinations.basis, resource, target)?;
            let weight = draft.weight(candidate.pod, resource, destinations.basis)?;
            draft.share(home, resource, weight.min(above))
        };
        Relief(destinations.targets.iter().filter_map(of_resource).map(Ratio::get).sum())
    }

    /// The part of the benefit that a bad landing loses: all of it, or more if the move adds more
    /// usage above the targets on the new node than it removes from the old one.
    fn lost(self, candidate: &Candidate, projection: &Projection<'_>, flaw: &LandingFlaw) -> f64 {
        match (flaw, &candidate.destinations) {
            (LandingFlaw::Hot(hot), Some(destinations)) => {
                self.0.max(added_excess(candidate, projection, hot.node, destinations))
            }
            _ => self.0,
        }
    }
}

/// The usage above the limits that the pod adds on a node, as a share of the node, summed over the
/// resources.
fn added_excess(
    candidate: &Candidate,
    projection: &Projection<'_>,
    node: NodeId,
    destinations: &DestinationLimits,
) -> f64 {
    let added = |&(resource, target): &(ResourceId, Ratio)| {
        let after = ratio_after(candidate, projection, node, resource, destinations.basis)?;
        let more = projection.uncounted_load(node, resource, destinations.basis);
        let before = projection.ratio_with(node, resource, destinations.basis, more)?;
        Some(after.minus(target).get() - before.minus(target).get())
    };
    destinations.targets.iter().filter_map(added).sum()
}

/// One forecast for a candidate.
#[derive(Clone, Copy)]
struct LandingCase<'c, 'w> {
    candidate: &'c Candidate,
    projection: &'c Projection<'w>,
    forecast: &'c Forecast,
    relief: Relief,
    /// The probability of this forecast.
    weight: f64,
}

/// The risk of a move.
#[derive(Clone, Copy, Default)]
struct Risk {
    /// The probability that the move gains nothing.
    bad: f64,
    /// The expected loss of benefit.
    loss: f64,
}

impl Risk {
    /// The risk if one of two cases holds, each weighed by its probability.
    fn plus(self, other: Self) -> Self {
        Risk { bad: self.bad + other.bad, loss: self.loss + other.loss }
    }

    /// The risk if nothing is known about which of two cases holds.
    const fn or(self, other: Self) -> Self {
        Risk { bad: self.bad.max(other.bad), loss: self.loss.max(other.loss) }
    }
}

/// The judgement about all nodes that may win.
#[derive(Default)]
struct LandingOutcome {
    landing: Landing,
    /// The node of the landing: its probability, and its ratio after the move.
    booked: (f64, Ratio),
    /// The reason for a possible landing that must never happen.
    never: Option<BadLanding>,
    /// The reason for the likeliest bad landing, with its probability.
    likeliest: Option<(f64, BadLanding)>,
    /// The reason for the bad landing with the highest expected loss, with that loss.
    costliest: Option<(f64, BadLanding)>,
}

impl LandingOutcome {
    /// Adds the possible nodes of one forecast, and returns its risk.
    ///
    /// `tied` is given for the forecast without undecided moves: the nodes where their replacements
    /// may land. If this pod lands on such a node, the earlier replacement gets the other node. The
    /// gain is the same, so the strategy's choice of destinations does not matter there.
    fn add(&mut self, case: LandingCase<'_, '_>, tied: Option<&BTreeSet<NodeId>>) -> Risk {
        let mut risk = Risk::default();
        let (candidate, projection) = (case.candidate, case.projection);
        let preferences = Preferences::of(projection, candidate.pod);
        let before: BTreeSet<NodeId> = self.landing.possible_nodes.iter().copied().collect();
        for possible in &case.forecast.possible_nodes {
            if !before.contains(&possible.node) {
                self.landing.possible_nodes.push(possible.node);
            }
            match check(candidate, projection, &preferences, possible.node) {
                Ok(ratio) if tied.is_none() => self.book(possible.node, possible.chance, ratio),
                Ok(_) => {}
                Err(LandingFlaw::NotADestination(node, _))
                    if tied.is_some_and(|tied| tied.contains(&node)) => {}
                Err(flaw) => risk = risk.plus(self.add_bad(case, possible, flaw)),
            }
        }
        risk
    }

    fn add_bad(
        &mut self,
        case: LandingCase<'_, '_>,
        possible: &PossibleNode,
        flaw: LandingFlaw,
    ) -> Risk {
        let (candidate, projection) = (case.candidate, case.projection);
        let chance = possible.chance.get() * case.weight;
        let loss = chance * case.relief.lost(candidate, projection, &flaw);
        let risk = Risk { bad: chance, loss };
        let exceeds = |most: &Option<(f64, BadLanding)>, by: f64| {
            most.as_ref().is_none_or(|(most, _)| by > *most)
        };
        let never = flaw.is_never_accepted() && self.never.is_none();
        let likelier = exceeds(&self.likeliest, chance);
        let costlier = exceeds(&self.costliest, loss);
        if !(never || likelier || costlier) {
            return risk;
        }
        let chance_of_all = Ratio::new(chance).unwrap_or_default();
        let why = flaw.refusal(candidate, projection, chance_of_all, case.forecast);
        if never {
            self.never = Some(why.clone());
        }
        if costlier {
            self.costliest = Some((loss, why.clone()));
        }
        if likelier {
            self.likeliest = Some((chance, why));
        }
        risk
    }

    /// The draft adds the load to the likeliest good node, so that the next forecast sees the
    /// cluster as it probably will be. Among equally likely nodes it is the fullest one.
    fn book(&mut self, node: NodeId, chance: Ratio, ratio: Ratio) {
        let (likeliest, fullest) = (self.booked.0, self.booked.1);
        let equal = (chance.get() - likeliest).abs() < 1e-9;
        if self.landing.on.is_none()
            || (equal && ratio > fullest)
            || (!equal && chance.get() > likeliest)
        {
            self.landing.on = Some(node);
            self.booked = (chance.get(), ratio);
        }
    }
}

/// Requires a feasible node other than the pod's own. Without one, the replacement would return or
/// stay pending.
///
/// Without `nodeFit`, it may stay pending if the strategy names no destinations.
fn require_room(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Result<(), Refusal> {
    let home = draft.world.snapshot.pod(candidate.pod).node;
    if forecast.scored.iter().any(|s| Some(s.node) != home) {
        return Ok(());
    }
    if !needs_room(candidate, draft) {
        return forbid_preemption(candidate, draft);
    }
    let others = forecast.misfits.iter().filter(|(n, _)| Some(*n) != home);
    let misfits = others.map(|(_, why)| why.clone()).collect();
    draft.remember_misfits(candidate.pod, &misfits);
    Err(Replacement::NoRoom(misfits).into())
}

/// Refuses a move whose replacement fits only if the scheduler removes other pods for it. One that
/// may stay pending must not cost pods that the policy does not evict.
fn forbid_preemption(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    if !candidate.rules(draft.world).protected.preemption {
        return Ok(());
    }
    match scheduler::preempted(draft, candidate.pod) {
        None => Ok(()),
        Some((node, pod)) => Err(Replacement::WouldPreempt {
            node: snapshot.node(node).name.clone(),
            pod: snapshot.pod(pod).name.clone(),
        }
        .into()),
    }
}

/// For each feasible node: its largest ratio after the move, or why the move would gain nothing.
pub(super) fn each(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Vec<(NodeId, Result<Ratio, BadLanding>)> {
    let preferences = Preferences::of(draft, candidate.pod);
    let judged = |node: NodeId| {
        check(candidate, draft, &preferences, node)
            .map_err(|flaw| flaw.refusal(candidate, draft, forecast.chance(node), forecast))
    };
    forecast.scored.iter().map(|s| (s.node, judged(s.node))).collect()
}
