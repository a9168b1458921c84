//! The landing gate: predicts where the replacement will land, and refuses moves that gain too
//! little.
//!
//! kube-scheduler places pods by requests, taints, affinity and spread, not by usage. The forecast
//! therefore follows those rules and gives each node that may win a probability. A landing is bad on
//! the pod's own node, on a node that is hot by usage, and where the strategy does not want the pod.
//! The policy limits the probability of a bad landing. A move away from a hot node must also lower
//! the expected usage above the targets, summed over the nodes. A node that the policy's selector
//! excludes is never accepted, however unlikely it is.

use std::collections::BTreeMap;

use crate::decide::draft::{Candidate, DestinationLimits, Draft, Landing, Prospect};
use crate::decide::scheduler::{self, Forecast, Scored, Winner};
use crate::model::plan::{PlacementCause, Refusal};
use crate::model::snapshot::NodeId;
use crate::model::usage::Unmeasured;
use crate::policy::{Basis, Evictable, LowNodeUtilization, Pool};
use crate::values::{Amount, Ratio, ResourceId};

/// The expected landing of the candidate's replacement, or why the move would gain too little.
pub(super) fn find(candidate: &Candidate, draft: &Draft<'_>) -> Result<Prospect, Refusal> {
    // A finished pod has no replacement that must land somewhere.
    let finished = draft.world.snapshot.pod(candidate.pod).finished();
    if candidate.room.is_none() && (finished || !rules(candidate, draft).node_fit) {
        return Ok(Prospect::certain());
    }
    let forecast = scheduler::forecast(draft, candidate.pod);
    require_other_node(candidate, draft, &forecast)?;
    let relief = Relief::of(candidate, draft);
    let mut outcome = LandingOutcome::default();
    outcome.add(candidate, draft, &forecast, &relief, None);
    let mut forecasts = 1.0;
    if let Some(open) = draft.open() {
        let forecast = scheduler::forecast(open, candidate.pod);
        let tied = draft.tied_landings();
        outcome.add(candidate, open, &forecast, &relief, Some(&tied));
        forecasts = 2.0;
    }
    let (bad, loss) = (outcome.bad / forecasts, outcome.loss / forecasts);
    // The probabilities mean something only if the scores of the scheduler are known.
    let weighed = LowNodeUtilization::of(&draft.strategy(candidate.strategy).rule).is_some()
        && scheduler::is_known(draft, candidate.pod);
    let accepted = draft.world.policy.forecast.accepted(weighed).get();
    let gains = relief.0 <= 0.0 || loss < relief.0;
    match outcome.refusal {
        Some((_, why)) if outcome.never || bad > accepted || !gains => Err(why),
        Some(_) | None => Ok(Prospect {
            landing: outcome.landing,
            success: Ratio::new(1.0 - bad).unwrap_or_default(),
        }),
    }
}

/// The usage above the targets that leaves the candidate's node, as a share of the node, summed over
/// the resources. Zero if the candidate's strategy has no targets.
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
    fn add(
        &mut self,
        candidate: &Candidate,
        draft: &Draft<'_>,
        forecast: &Forecast,
        relief: &Relief,
        tied: Option<&[NodeId]>,
    ) {
        for winner in &forecast.winners {
            if !self.landing.among.contains(&winner.node) {
                self.landing.among.push(winner.node);
            }
            match judge(candidate, draft, winner.node) {
                Ok(ratio) if tied.is_none() => self.book(winner.node, winner.chance, ratio),
                Ok(_) => {}
                Err(LandingFlaw::NotADestination(node))
                    if tied.is_some_and(|tied| tied.contains(&node)) => {}
                Err(flaw) => self.add_bad(candidate, draft, forecast, relief, (winner, flaw)),
            }
        }
    }

    fn add_bad(
        &mut self,
        candidate: &Candidate,
        draft: &Draft<'_>,
        forecast: &Forecast,
        relief: &Relief,
        (winner, flaw): (&Winner, LandingFlaw),
    ) {
        let chance = winner.chance.get();
        let never = matches!(flaw, LandingFlaw::ExcludedByPolicy(_));
        self.bad += chance;
        self.loss += chance * relief.lost(candidate, draft, &flaw);
        let likelier = self.refusal.as_ref().is_none_or(|(of, _)| chance > *of);
        if (never && !self.never) || (likelier && never == self.never) {
            let why = flaw.refusal(candidate, draft, winner.chance, forecast);
            self.refusal = Some((chance, why));
        }
        self.never |= never;
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

/// Why a landing on a node would gain nothing.
pub(super) enum LandingFlaw {
    /// The pod would return to its own node.
    OwnNode(NodeId),
    /// The node would be above a target.
    Hot(HotLanding),
    /// The usage of the node is unknown.
    UnknownUsage(NodeId),
    /// The strategy does not want the pod there.
    NotADestination(NodeId),
    /// The policy's selector for destinations excludes the node.
    ExcludedByPolicy(NodeId),
}

/// A node that would be above a target after the move.
pub(super) struct HotLanding {
    node: NodeId,
    resource: ResourceId,
    ratio: Ratio,
    target: Ratio,
    basis: Basis,
}

impl LandingFlaw {
    fn refusal(
        self,
        candidate: &Candidate,
        draft: &Draft<'_>,
        chance: Ratio,
        forecast: &Forecast,
    ) -> Refusal {
        let snapshot = draft.world.snapshot;
        let name = |node: NodeId| snapshot.node(node).name.clone();
        match self {
            LandingFlaw::OwnNode(home) => Refusal::WouldReturn {
                node: name(home),
                chance,
                cause: pull(candidate, draft, home, forecast),
            },
            LandingFlaw::Hot(hot) => Refusal::WouldBeHot {
                node: name(hot.node),
                resource: snapshot.resources.name(hot.resource).to_owned(),
                ratio: hot.ratio,
                target: hot.target,
                basis: hot.basis,
            },
            LandingFlaw::UnknownUsage(node) => Refusal::WouldBeUnknown(name(node)),
            LandingFlaw::NotADestination(node) => Refusal::WouldNotHelp(name(node)),
            LandingFlaw::ExcludedByPolicy(node) => Refusal::WouldBeExcluded(name(node)),
        }
    }
}

/// The largest ratio of a node after the move, or why the pod should not land there.
fn judge(candidate: &Candidate, draft: &Draft<'_>, node: NodeId) -> Result<Ratio, LandingFlaw> {
    let home = draft.world.snapshot.pod(candidate.pod).node == Some(node);
    if home && !candidate.reason.lies_in_the_pod() {
        return Err(LandingFlaw::OwnNode(node));
    }
    let destinations = rules(candidate, draft).destinations.as_ref();
    if destinations.is_some_and(|s| !s.matches(&draft.world.snapshot.node(node).labels)) {
        return Err(LandingFlaw::ExcludedByPolicy(node));
    }
    if candidate.reason.is_a_preference() {
        stays_cool(candidate, draft, node, &targets(draft, node))?;
    }
    let requested = requested_after(candidate, draft, node);
    match &candidate.room {
        Some(room) => judge_limits(candidate, draft, node, room, requested),
        None => Ok(requested),
    }
}

/// Applies the limits of the strategy. `requested` is the largest ratio so far.
fn judge_limits(
    candidate: &Candidate,
    draft: &Draft<'_>,
    node: NodeId,
    room: &DestinationLimits,
    requested: Ratio,
) -> Result<Ratio, LandingFlaw> {
    stays_cool(candidate, draft, node, &room.cool)?;
    let mut largest = requested;
    for &(resource, target) in room.ceiling.iter() {
        let ratio = ratio_after(candidate, draft, node, resource, room.basis)
            .ok_or(LandingFlaw::UnknownUsage(node))?;
        if ratio > target {
            return Err(LandingFlaw::Hot(HotLanding {
                node,
                resource,
                ratio,
                target,
                basis: room.basis,
            }));
        }
        largest = if ratio > largest { ratio } else { largest };
    }
    // This check is the last one: a caller that ignores this flaw must not miss another.
    if room.nodes.contains(&node) {
        Ok(largest)
    } else {
        Err(LandingFlaw::NotADestination(node))
    }
}

/// Requires that the node stays at or below these usage targets. A hot node would soon lose the pod
/// again.
///
/// A node of unknown usage is accepted, unless its usage is about to become known: after a start,
/// evenkeel waits for the first samples.
pub(super) fn stays_cool(
    candidate: &Candidate,
    draft: &Draft<'_>,
    node: NodeId,
    targets: &[(ResourceId, Ratio)],
) -> Result<(), LandingFlaw> {
    for &(resource, target) in targets {
        let Some(ratio) = ratio_after(candidate, draft, node, resource, Basis::Actual) else {
            let unmeasured = draft.world.usage.unmeasured(node);
            if matches!(unmeasured, Some(Unmeasured::Few { .. })) {
                return Err(LandingFlaw::UnknownUsage(node));
            }
            continue;
        };
        if ratio > target {
            return Err(LandingFlaw::Hot(HotLanding {
                node,
                resource,
                ratio,
                target,
                basis: Basis::Actual,
            }));
        }
    }
    Ok(())
}

/// The usage targets of the policy for a node. Deviation thresholds are omitted.
pub(super) fn targets(draft: &Draft<'_>, node: NodeId) -> Vec<(ResourceId, Ratio)> {
    let snapshot = draft.world.snapshot;
    let rules = draft
        .world
        .policy
        .strategies
        .iter()
        .filter_map(|s| LowNodeUtilization::of(&s.rule));
    let mut pools = rules
        .filter(|r| r.basis == Basis::Actual && !r.deviation)
        .flat_map(|r| &r.pools);
    let selects = |p: &&Pool| {
        p.selector
            .as_ref()
            .is_none_or(|s| s.matches(&snapshot.node(node).labels))
    };
    let targets = pools.find(selects).into_iter().flat_map(|p| &p.targets);
    targets
        .filter_map(|(name, target)| Some((snapshot.resources.find(name)?, *target)))
        .collect()
}

/// The ratio of a node after the move; `None` if its usage is unknown.
///
/// Terminating pods use their node until they have ended, and replacements expected on the node do
/// not run yet. Usage therefore includes both.
fn ratio_after(
    candidate: &Candidate,
    draft: &Draft<'_>,
    node: NodeId,
    resource: ResourceId,
    basis: Basis,
) -> Option<Ratio> {
    let mut more = draft
        .weight(candidate.pod, resource, basis)
        .unwrap_or(Amount::ZERO);
    if basis == Basis::Actual && [ResourceId::CPU, ResourceId::MEMORY].contains(&resource) {
        let (snapshot, ledger) = (draft.world.snapshot, draft.world.ledger);
        let facts = snapshot.node(node);
        let pods = facts.pods.iter().copied();
        let terminating = pods.filter(|p| snapshot.pod(*p).terminating);
        let uncounted = terminating.chain(ledger.pending_replacements(snapshot, &facts.name));
        let weights = uncounted.filter_map(|p| draft.weight(p, resource, basis));
        more = more.plus(weights.sum());
    }
    draft.ratio_with(node, resource, basis, more)
}

/// The larger of the cpu and memory requests of a node after the move, as a ratio.
fn requested_after(candidate: &Candidate, draft: &Draft<'_>, node: NodeId) -> Ratio {
    let requested = |r: ResourceId| {
        ratio_after(candidate, draft, node, r, Basis::Requests).unwrap_or(Ratio::ONE)
    };
    let (cpu, memory) = (requested(ResourceId::CPU), requested(ResourceId::MEMORY));
    if cpu > memory { cpu } else { memory }
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

/// Why the scheduler prefers the pod's own node to the best other node, if possible a good landing.
pub(super) fn pull(
    candidate: &Candidate,
    draft: &Draft<'_>,
    home: NodeId,
    forecast: &Forecast,
) -> PlacementCause {
    if !scheduler::is_known(draft, candidate.pod) {
        return PlacementCause::Unscored;
    }
    let wanted = |s: &&Scored| s.node != home && judge(candidate, draft, s.node).is_ok();
    let scored = || forecast.scored.iter();
    let best = scored().find(wanted).or(scored().find(|s| s.node != home));
    let Some((home, best)) = scored().find(|s| s.node == home).zip(best) else {
        return PlacementCause::Tie;
    };
    scheduler::pull(home, best)
}

/// The rules of the candidate's profile about which pods may be evicted.
pub(super) fn rules<'w>(candidate: &Candidate, draft: &Draft<'w>) -> &'w Evictable {
    &draft.world.policy.profiles[draft.strategy(candidate.strategy).profile].evictable
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
