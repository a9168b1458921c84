//! The landing gate: predicts where the replacement will land, and refuses moves that gain too
//! little.
//!
//! kube-scheduler places pods by requests, taints, affinity and spread, not by usage. The forecast
//! therefore follows those rules and gives each node that may win a probability. A landing is bad
//! on the pod's own node, on a node that is hot by usage, and where the strategy does not want the
//! pod. The policy limits the probability of a bad landing. A move away from a hot node must also
//! lower the expected usage above the targets, summed over the nodes. A node that the policy's
//! selector excludes is never accepted, however unlikely it is.

use std::collections::BTreeMap;

use crate::decide::draft::{Candidate, DestinationLimits, Draft, Landing, Prospect};
use crate::decide::scheduler::{self, Forecast, Winner};
use crate::model::plan::Refusal;
use crate::model::snapshot::NodeId;
use crate::policy::LowNodeUtilization;
use crate::values::{Ratio, ResourceId};

use super::landing_flaw::{LandingFlaw, judge, ratio_after, rules};

/// The expected landing of the candidate's replacement, or why the move would gain too little.
pub(super) fn find(candidate: &Candidate, draft: &Draft<'_>) -> Result<Prospect, Refusal> {
    // A finished pod has no replacement that must land somewhere.
    let finished = draft.world.snapshot.pod(candidate.pod).finished();
    if candidate.room.is_none() && finished {
        return Ok(Prospect::certain());
    }
    if candidate.room.is_none() && !rules(candidate, draft).node_fit {
        return forbid_preemption(candidate, draft).map(|()| Prospect::certain());
    }
    find_by(candidate, draft, &scheduler::forecast(draft, candidate.pod))
}

/// Like [`find`], by a forecast of this draft.
pub(super) fn find_by(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Result<Prospect, Refusal> {
    require_other_node(candidate, draft, forecast)?;
    let relief = Relief::of(candidate, draft);
    let mut outcome = LandingOutcome::default();
    let case = LandingCase {
        candidate,
        draft,
        forecast,
        relief,
    };
    outcome.add(case, None);
    outcome.landing.starts.clone_from(&forecast.starts);
    let mut forecasts = 1.0;
    if let Some(open) = draft.open() {
        let forecast = scheduler::forecast(open, candidate.pod);
        let case = LandingCase {
            draft: open,
            forecast: &forecast,
            ..case
        };
        outcome.add(case, Some(&draft.tied_landings()));
        forecasts = 2.0;
    }
    let (bad, loss) = (outcome.bad / forecasts, outcome.loss / forecasts);
    // The probabilities mean something only if the scores of the scheduler are known.
    let weighed = LowNodeUtilization::of(&draft.strategy(candidate.strategy).rule).is_some()
        && scheduler::is_known(draft, candidate.pod);
    let accepted = draft.world.policy.forecast.accepted(weighed).get();
    // A policy that tolerates everything asks for moves that gain nothing, too.
    let gains = relief.0 <= 0.0 || loss < relief.0 || accepted >= 1.0;
    match outcome.refusal {
        Some((_, why)) if outcome.never || bad > accepted || !gains => Err(why),
        Some(_) | None => Ok(Prospect {
            landing: outcome.landing(draft.world.snapshot.pod(candidate.pod).node),
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
        let Some((room, home)) = candidate.room.as_ref().zip(home) else {
            return Relief(0.0);
        };
        let of_resource = |&(resource, target): &(ResourceId, Ratio)| {
            let load = draft.load(home, resource, room.basis)?;
            let whole = draft.world.snapshot.node(home).allocatable[resource];
            let weight = draft.weight(candidate.pod, resource, room.basis)?;
            weight.min(load.minus(whole.times(target))).share_of(whole)
        };
        Relief(
            room.ceiling
                .iter()
                .filter_map(of_resource)
                .map(Ratio::get)
                .sum(),
        )
    }

    /// The part of the benefit that a bad landing loses: all of it, or more if the move adds more
    /// usage above the targets on the new node than it removes from the old one.
    fn lost(self, candidate: &Candidate, draft: &Draft<'_>, flaw: &LandingFlaw) -> f64 {
        match (flaw, &candidate.room) {
            (LandingFlaw::Hot(hot), Some(room)) => {
                self.0.max(added_excess(candidate, draft, hot.node, room))
            }
            _ => self.0,
        }
    }
}

/// The usage above the limits that the pod adds on a node, as a share of the node, summed over the
/// resources.
fn added_excess(
    candidate: &Candidate,
    draft: &Draft<'_>,
    node: NodeId,
    room: &DestinationLimits,
) -> f64 {
    let added = |&(resource, target): &(ResourceId, Ratio)| {
        let after = ratio_after(candidate, draft, node, resource, room.basis)?;
        let before = draft.ratio(node, resource, room.basis)?;
        Some(after.minus(target).get() - before.minus(target).get())
    };
    room.ceiling.iter().filter_map(added).sum()
}

/// One forecast for a candidate.
#[derive(Clone, Copy)]
struct LandingCase<'c, 'w> {
    candidate: &'c Candidate,
    draft: &'c Draft<'w>,
    forecast: &'c Forecast,
    relief: Relief,
}

/// The judgement about all nodes that may win.
#[derive(Default)]
struct LandingOutcome {
    landing: Landing,
    /// The node of the landing: its probability, and its ratio after the move.
    booked: (f64, Ratio),
    /// The probability that the move gains nothing, summed over the forecasts.
    bad: f64,
    /// The expected loss of benefit, summed over the forecasts.
    loss: f64,
    /// Whether a landing is possible that must never happen.
    never: bool,
    /// The reason for a bad landing in the likeliest case, with its probability.
    refusal: Option<(f64, Refusal)>,
}

impl LandingOutcome {
    /// Adds the winners of one forecast.
    ///
    /// `tied` is given for the open draft: the nodes that earlier replacements may land on. If this
    /// pod lands on such a node, the earlier replacement gets the other node. The gain is the same,
    /// so the strategy's choice of destinations does not matter there.
    fn add(&mut self, case: LandingCase<'_, '_>, tied: Option<&[NodeId]>) {
        let LandingCase {
            candidate, draft, ..
        } = case;
        for winner in &case.forecast.winners {
            if !self.landing.among.contains(&winner.node) {
                self.landing.among.push(winner.node);
            }
            match judge(candidate, draft, winner.node) {
                Ok(ratio) if tied.is_none() => self.book(winner.node, winner.chance, ratio),
                Ok(_) => {}
                Err(LandingFlaw::NotADestination(node))
                    if tied.is_some_and(|tied| tied.contains(&node)) => {}
                Err(flaw) => self.add_bad(case, winner, flaw),
            }
        }
    }

    fn add_bad(&mut self, case: LandingCase<'_, '_>, winner: &Winner, flaw: LandingFlaw) {
        let LandingCase {
            candidate, draft, ..
        } = case;
        let chance = winner.chance.get();
        let never = matches!(flaw, LandingFlaw::ExcludedByPolicy(_));
        self.bad += chance;
        self.loss += chance * case.relief.lost(candidate, draft, &flaw);
        let likelier = self.refusal.as_ref().is_none_or(|(of, _)| chance > *of);
        if (never && !self.never) || (likelier && never == self.never) {
            let why = flaw.refusal(candidate, draft, winner.chance, case.forecast);
            self.refusal = Some((chance, why));
        }
        self.never |= never;
    }

    /// The landing. Without a good node in the first forecast, the draft adds the load to the
    /// likeliest node other than the pod's own.
    fn landing(self, home: Option<NodeId>) -> Landing {
        let mut others = self.landing.among.iter().copied();
        let likeliest = others.find(|node| Some(*node) != home);
        Landing {
            on: self.landing.on.or(likeliest),
            ..self.landing
        }
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
fn require_other_node(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Result<(), Refusal> {
    let home = draft.world.snapshot.pod(candidate.pod).node;
    if forecast.scored.iter().any(|s| Some(s.node) != home) {
        return Ok(());
    }
    let mut misfits: BTreeMap<String, usize> = BTreeMap::new();
    for (node, why) in &forecast.misfits {
        if Some(*node) != home {
            *misfits.entry(why.to_string()).or_default() += 1;
        }
    }
    Err(Refusal::NoRoom(summary(&misfits)))
}

/// Refuses a move whose replacement fits only if the scheduler removes other pods for it. Without
/// `nodeFit`, the replacement may stay pending, but it must not cost pods that the policy does not
/// evict.
fn forbid_preemption(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let snapshot = draft.world.snapshot;
    if !rules(candidate, draft).protected.preemption {
        return Ok(());
    }
    match scheduler::preempted(draft, candidate.pod) {
        None => Ok(()),
        Some((node, pod)) => Err(Refusal::WouldPreempt {
            node: snapshot.node(node).name.clone(),
            pod: snapshot.pod(pod).name.clone(),
        }),
    }
}

/// For each feasible node: its largest ratio after the move, or why the move would gain nothing.
pub(super) fn each(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Vec<(NodeId, Result<Ratio, Refusal>)> {
    let chance = |node: NodeId| {
        forecast
            .winners
            .iter()
            .find(|w| w.node == node)
            .map_or(Ratio::ZERO, |w| w.chance)
    };
    let judged = |node: NodeId| {
        judge(candidate, draft, node)
            .map_err(|flaw| flaw.refusal(candidate, draft, chance(node), forecast))
    };
    forecast
        .scored
        .iter()
        .map(|s| (s.node, judged(s.node)))
        .collect()
}

/// Counts the reasons why other nodes cannot take a pod, as one phrase.
pub(super) fn summary(misfits: &BTreeMap<String, usize>) -> String {
    if misfits.is_empty() {
        return "there is no other".to_owned();
    }
    let counted =
        |(why, n): (&String, &usize)| format!("{n} {} {why}", if *n == 1 { "is" } else { "are" });
    misfits.iter().map(counted).collect::<Vec<_>>().join(", ")
}
