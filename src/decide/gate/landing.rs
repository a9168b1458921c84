//! Where the replacement will land: the scheduler is asked beforehand, and what it would answer is
//! judged by usage.
//!
//! kube-scheduler goes by requests, taints, affinity and spread. So the landing is foreseen by
//! those, and then the worst of the nodes that may win has to be an improvement: not the pod's own,
//! not hot by usage, and one of those that the strategy has in mind. How likely a bad landing may
//! be is up to the policy; by default it may not be at all.

use std::collections::BTreeMap;

use crate::decide::draft::{Candidate, Draft, Landing};
use crate::decide::scheduler::{self, Forecast, Scored};
use crate::model::plan::{PlacementCause, Refusal};
use crate::model::snapshot::NodeId;
use crate::model::usage::Unmeasured;
use crate::policy::{Basis, Evictable, LowNodeUtilization, Pool};
use crate::values::{Amount, Ratio, ResourceId};

/// Where the candidate's replacement would land, if that is good enough.
pub(super) fn find(candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
    // Nothing has to land in the stead of a pod that has finished.
    let finished = draft.world.snapshot.pod(candidate.pod).finished();
    if candidate.room.is_none() && (finished || !rules(candidate, draft).node_fit) {
        return Ok(Landing::default());
    }
    let forecast = scheduler::forecast(draft, candidate.pod);
    elsewhere(candidate, draft, &forecast)?;
    let mut trial = Judged::default();
    trial.take(candidate, draft, &forecast, None);
    let worlds = if let Some(open) = draft.open() {
        trial.take(
            candidate,
            open,
            &scheduler::forecast(open, candidate.pod),
            Some(&draft.tied_landings()),
        );
        2.0
    } else {
        1.0
    };
    match trial.worst {
        Some(why) if trial.bad / worlds > draft.world.policy.forecast.tolerance.get() => Err(why),
        Some(_) | None => Ok(trial.landing),
    }
}

/// What became of the nodes that may win.
#[derive(Default)]
struct Judged {
    landing: Landing,
    /// How full the node of the landing would be.
    fullest: Ratio,
    /// How likely it is that nothing is gained, summed over the forecasts.
    bad: f64,
    /// Why, in the likeliest case.
    worst: Option<Refusal>,
}

impl Judged {
    /// With `lots` the draft is the open one, and they are the nodes for which lots were drawn: who
    /// takes the place of an earlier pod there leaves that one the other place, so that as much is
    /// gained.
    fn take(
        &mut self,
        candidate: &Candidate,
        draft: &Draft<'_>,
        forecast: &Forecast,
        lots: Option<&[NodeId]>,
    ) {
        for winner in &forecast.winners {
            if !self.landing.among.contains(&winner.node) {
                self.landing.among.push(winner.node);
            }
            match judge(candidate, draft, winner.node) {
                Ok(after)
                    if lots.is_none() && (self.landing.on.is_none() || after > self.fullest) =>
                {
                    (self.landing.on, self.fullest) = (Some(winner.node), after);
                }
                Ok(_) => {}
                Err(Flaw::Elsewhere(node)) if lots.is_some_and(|lots| lots.contains(&node)) => {}
                Err(flaw) => {
                    self.bad += winner.chance.get();
                    self.worst.get_or_insert_with(|| {
                        flaw.refusal(candidate, draft, winner.chance, forecast)
                    });
                }
            }
        }
    }
}

/// Some other node must be able to take the pod, or it would return or wait.
fn elsewhere(candidate: &Candidate, draft: &Draft<'_>, forecast: &Forecast) -> Result<(), Refusal> {
    let home = draft.world.snapshot.pod(candidate.pod).node;
    if forecast.scored.iter().any(|s| Some(s.node) != home) {
        return Ok(());
    }
    let mut misfits: BTreeMap<String, usize> = BTreeMap::new();
    for (_, why) in forecast
        .misfits
        .iter()
        .filter(|(node, _)| Some(*node) != home)
    {
        *misfits.entry(why.to_string()).or_default() += 1;
    }
    Err(Refusal::NoRoom(summary(&misfits)))
}

/// Why a landing would be no good.
pub(super) enum Flaw {
    Home(NodeId),
    Hot {
        node: NodeId,
        resource: ResourceId,
        ratio: Ratio,
        target: Ratio,
        basis: Basis,
    },
    Unknown(NodeId),
    Elsewhere(NodeId),
    Excluded(NodeId),
}

impl Flaw {
    fn refusal(
        self,
        candidate: &Candidate,
        draft: &Draft<'_>,
        chance: Ratio,
        forecast: &Forecast,
    ) -> Refusal {
        let name = |n: NodeId| draft.world.snapshot.node(n).name.clone();
        match self {
            Flaw::Home(home) => {
                let pull = pull(candidate, draft, home, forecast);
                Refusal::WouldReturn {
                    node: name(home),
                    chance,
                    cause: pull,
                }
            }
            Flaw::Hot {
                node,
                resource,
                ratio,
                target,
                basis,
            } => {
                let resource = draft.world.snapshot.resources.name(resource).to_owned();
                Refusal::WouldBeHot {
                    node: name(node),
                    resource,
                    ratio,
                    target,
                    basis,
                }
            }
            Flaw::Unknown(node) => Refusal::WouldBeUnknown(name(node)),
            Flaw::Elsewhere(node) => Refusal::WouldNotHelp(name(node)),
            Flaw::Excluded(node) => Refusal::WouldBeExcluded(name(node)),
        }
    }
}

/// How full the node would be, in the resource that counts most; or why it is not to land there.
fn judge(candidate: &Candidate, draft: &Draft<'_>, node: NodeId) -> Result<Ratio, Flaw> {
    let home = draft.world.snapshot.pod(candidate.pod).node == Some(node);
    if home && !candidate.reason.lies_in_the_pod() {
        return Err(Flaw::Home(node));
    }
    let destinations = rules(candidate, draft).destinations.as_ref();
    if destinations.is_some_and(|s| !s.matches(&draft.world.snapshot.node(node).labels)) {
        return Err(Flaw::Excluded(node));
    }
    if candidate.reason.is_a_preference() {
        stays_cool(candidate, draft, node, &targets(draft, node))?;
    }
    let Some(room) = &candidate.room else {
        return Ok(requested_after(candidate, draft, node));
    };
    stays_cool(candidate, draft, node, &room.cool)?;
    let mut most = requested_after(candidate, draft, node);
    for &(resource, target) in room.ceiling.iter() {
        let ratio =
            after(candidate, draft, node, resource, room.basis).ok_or(Flaw::Unknown(node))?;
        if ratio > target {
            return Err(Flaw::Hot {
                node,
                resource,
                ratio,
                target,
                basis: room.basis,
            });
        }
        most = if ratio > most { ratio } else { most };
    }
    // Last, so that who overlooks this flaw overlooks no other.
    if room.nodes.contains(&node) {
        Ok(most)
    } else {
        Err(Flaw::Elsewhere(node))
    }
}

/// A node that is, or would be, hot by usage would only give the pod away again. One whose usage is
/// not known may take pods all the same, unless it will be known in a moment: what has just been
/// started does not act blindly.
pub(super) fn stays_cool(
    candidate: &Candidate,
    draft: &Draft<'_>,
    node: NodeId,
    targets: &[(ResourceId, Ratio)],
) -> Result<(), Flaw> {
    for &(resource, target) in targets {
        let Some(ratio) = after(candidate, draft, node, resource, Basis::Actual) else {
            if matches!(
                draft.world.usage.unmeasured(node),
                Some(Unmeasured::Few { .. })
            ) {
                return Err(Flaw::Unknown(node));
            }
            continue;
        };
        if ratio > target {
            return Err(Flaw::Hot {
                node,
                resource,
                ratio,
                target,
                basis: Basis::Actual,
            });
        }
    }
    Ok(())
}

/// Above what the policy holds a node to be hot by usage. Targets that are distances from a mean
/// are left out.
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

/// By usage, what is on its way out goes on using the node until it has ended, and what is on its
/// way here is yet to come.
fn after(
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
        let there = snapshot.node(node);
        let ending = there
            .pods
            .iter()
            .copied()
            .filter(|p| snapshot.pod(*p).terminating);
        let uncounted = ending.chain(ledger.pending_replacements(snapshot, &there.name));
        more = more.plus(
            uncounted
                .filter_map(|p| draft.weight(p, resource, basis))
                .sum(),
        );
    }
    draft.ratio_with(node, resource, basis, more)
}

fn requested_after(candidate: &Candidate, draft: &Draft<'_>, node: NodeId) -> Ratio {
    let requested =
        |r: ResourceId| after(candidate, draft, node, r, Basis::Requests).unwrap_or(Ratio::ONE);
    let (cpu, memory) = (requested(ResourceId::CPU), requested(ResourceId::MEMORY));
    if cpu > memory { cpu } else { memory }
}

/// What every node that could take the replacement would come to.
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

/// What draws the replacement home rather than to the best of the nodes where it is wanted.
pub(super) fn pull(
    candidate: &Candidate,
    draft: &Draft<'_>,
    home: NodeId,
    forecast: &Forecast,
) -> PlacementCause {
    if !scheduler::is_known(draft, candidate.pod) {
        return PlacementCause::Unscored;
    }
    let of = |node: NodeId| forecast.scored.iter().find(|s| s.node == node);
    let wanted = |s: &&Scored| s.node != home && judge(candidate, draft, s.node).is_ok();
    let best = forecast
        .scored
        .iter()
        .find(wanted)
        .or(forecast.scored.iter().find(|s| s.node != home));
    let Some((home, best)) = of(home).zip(best) else {
        return PlacementCause::Tie;
    };
    scheduler::pull(home, best)
}

pub(super) fn rules<'w>(candidate: &Candidate, draft: &Draft<'w>) -> &'w Evictable {
    &draft.world.policy.profiles[draft.strategy(candidate.strategy).profile].evictable
}

/// Why other nodes cannot take a pod, counted.
pub(super) fn summary(misfits: &BTreeMap<String, usize>) -> String {
    if misfits.is_empty() {
        return "there is no other".to_owned();
    }
    let counted =
        |(why, n): (&String, &usize)| format!("{n} {} {why}", if *n == 1 { "is" } else { "are" });
    misfits.iter().map(counted).collect::<Vec<_>>().join(", ")
}
