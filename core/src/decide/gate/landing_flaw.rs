//! The judgement about one possible landing: how full the node would be, or why the move would gain
//! nothing there.

use crate::decide::draft::{Candidate, DestinationLimits};
use crate::decide::projection::Projection;
use crate::decide::scheduler::{self, Forecast};
use crate::decide::targets::{AboveTarget, least_targets};
use crate::model::plan::{
    BadLanding, BrokenPreference, KubeletRefusal, NoGain, PlacementCause, Reason, Removal,
    SteerValue,
};
use crate::model::snapshot::facts::{NodeClosure, PodPhase};
use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::Unmeasured;
use crate::policy::{Basis, LowNodeUtilization};
use crate::values::{Amount, Ratio, ResourceId};

use super::preference::Preferences;
use super::{day_ahead, kubelet};

/// Why a landing on a node would gain nothing.
pub(super) enum LandingFlaw {
    /// The pod would return to its own node.
    OwnNode(NodeId),
    /// The node would be above a target.
    Hot(HotLanding),
    /// The usage of the node is unknown.
    UnknownUsage(NodeId),
    /// The strategy does not want the pod there.
    NotADestination(NodeId, NoGain),
    /// This object on the node cannot be read, so data about the node may be wrong.
    Unreadable(NodeId, String),
    /// The node takes no new pods, although the scheduler may not see that.
    Closed(NodeId, NodeClosure),
    /// The kubelet of the node does not run the pod, which the scheduler does not foresee.
    Refused(NodeId, KubeletRefusal),
    /// The node lacks this CSI driver, so its kubelet cannot mount a volume of the pod.
    LacksDriver(NodeId, String),
    /// A taint of the node, which the pod tolerates for a limited time, would remove it again.
    Removed(NodeId, Removal),
    /// The move would mend one preference of the pod and break this one.
    Trade(NodeId, BrokenPreference),
    /// The policy's selector for destinations excludes the node.
    ExcludedByPolicy(NodeId),
}

/// A node that would be above a target after the move.
pub(super) struct HotLanding {
    pub(super) node: NodeId,
    above: AboveTarget,
    basis: Basis,
    /// Whether the limit is a ceiling of HighNodeUtilization.
    while_emptying: bool,
    /// Whether the ratio is expected in an hour of the next day.
    within_a_day: bool,
}

impl HotLanding {
    /// Refuses a node that would be above a target.
    const fn check(
        node: NodeId,
        above: Option<AboveTarget>,
        basis: Basis,
        within_a_day: bool,
    ) -> Result<(), LandingFlaw> {
        match above {
            None => Ok(()),
            Some(above) => {
                let while_emptying = false;
                let hot = HotLanding { node, above, basis, while_emptying, within_a_day };
                Err(LandingFlaw::Hot(hot))
            }
        }
    }
}

impl LandingFlaw {
    /// Returns true if the landing must not happen, however unlikely it is. A pod that the kubelet
    /// refuses fails, and another one takes its turn, without end. A taint removes pods without
    /// regard to budgets.
    pub(super) const fn is_never_accepted(&self) -> bool {
        matches!(
            self,
            LandingFlaw::ExcludedByPolicy(_)
                | LandingFlaw::Unreadable(..)
                | LandingFlaw::Refused(..)
                | LandingFlaw::Closed(..)
                | LandingFlaw::LacksDriver(..)
                | LandingFlaw::Removed(..)
        )
    }

    /// The same flaw, where the limits are the ceilings of HighNodeUtilization.
    fn while_emptying(self) -> Self {
        if let LandingFlaw::Hot(hot) = self {
            LandingFlaw::Hot(HotLanding { while_emptying: true, ..hot })
        } else {
            self
        }
    }

    pub(super) fn refusal(
        self,
        candidate: &Candidate,
        projection: &Projection<'_>,
        chance: Ratio,
        forecast: &Forecast,
    ) -> BadLanding {
        let snapshot = projection.world.snapshot;
        let name = |node: NodeId| snapshot.node(node).name.clone();
        match self {
            LandingFlaw::OwnNode(home) => BadLanding::WouldReturn {
                node: name(home),
                chance,
                cause: placement_cause(candidate, projection, home, forecast),
            },
            LandingFlaw::Hot(hot) => BadLanding::WouldBeHot {
                node: name(hot.node),
                resource: hot.above.name(projection),
                ratio: hot.above.ratio,
                target: hot.above.target,
                while_emptying: hot.while_emptying,
                basis: hot.basis,
                within_a_day: hot.within_a_day,
            },
            LandingFlaw::UnknownUsage(node) => BadLanding::WouldBeUnknown(name(node)),
            LandingFlaw::NotADestination(node, why) => {
                BadLanding::WouldNotHelp { node: name(node), why }
            }
            LandingFlaw::Unreadable(node, why) => BadLanding::WouldBeUnreadable(name(node), why),
            LandingFlaw::Closed(node, closure) => BadLanding::WouldBeClosed(name(node), closure),
            LandingFlaw::Refused(node, why) => BadLanding::WouldBeRefused(name(node), why),
            LandingFlaw::LacksDriver(node, driver) => {
                BadLanding::WouldLackDriver(name(node), driver)
            }
            LandingFlaw::Removed(node, by) => BadLanding::WouldBeRemoved(name(node), by),
            LandingFlaw::Trade(node, preference) => BadLanding::WouldTrade(name(node), preference),
            LandingFlaw::ExcludedByPolicy(node) => BadLanding::WouldBeExcluded(name(node)),
        }
    }
}

/// The largest ratio of a node after the move, or why the pod should not land there.
///
/// `preferences` are those of the candidate's pod in this projection.
pub(super) fn check(
    candidate: &Candidate,
    projection: &Projection<'_>,
    preferences: &Preferences<'_, '_>,
    node: NodeId,
) -> Result<Ratio, LandingFlaw> {
    let home = projection.world.snapshot.pod(candidate.pod).node == Some(node);
    if home && !candidate.reason.lies_in_the_pod() {
        return Err(LandingFlaw::OwnNode(node));
    }
    if let Some(why) = &projection.world.snapshot.node(node).unreadable {
        return Err(LandingFlaw::Unreadable(node, why.clone()));
    }
    check_closure(projection, candidate.pod, node)?;
    check_driver(projection, candidate.pod, node)?;
    check_removal(projection, candidate.pod, node)?;
    let destinations = candidate.rules(projection.world).destinations.as_ref();
    if destinations.is_some_and(|s| !s.matches(&projection.world.snapshot.node(node).labels)) {
        return Err(LandingFlaw::ExcludedByPolicy(node));
    }
    if candidate.reason.is_a_wish()
        && let Some(preference) = preferences.broken(node)
    {
        return Err(LandingFlaw::Trade(node, preference));
    }
    if candidate.reason.is_a_preference() {
        stays_below_targets(candidate, projection, node)?;
    }
    let requested = requested_after(candidate, projection, node);
    let ratio = match &candidate.destinations {
        Some(destinations) => check_limits(candidate, projection, node, destinations, requested)?,
        None => requested,
    };
    // A caller that ignores this flaw must not miss another one, so it is looked for last.
    let taints = &projection.world.snapshot.node(node).taints;
    if candidate.reason.is_a_wish() && SteerValue::Emptying.is_set(taints) {
        return Err(LandingFlaw::NotADestination(node, NoGain::Leaving));
    }
    Ok(ratio)
}

/// Requires that the node takes new pods, and that its kubelet admits this one.
fn check_closure(projection: &Projection<'_>, pod: PodId, node: NodeId) -> Result<(), LandingFlaw> {
    kubelet::admits(projection, pod, node).map_err(|why| LandingFlaw::Refused(node, why))?;
    let snapshot = projection.world.snapshot;
    let (pod, there) = (snapshot.pod(pod), snapshot.node(node));
    let absent = (!there.ready).then_some(NodeClosure::NotReady);
    // A pod that waits on its own node loses nothing if its replacement waits there.
    let waits_there = pod.node == Some(node) && pod.phase == PodPhase::Pending;
    let closure = if waits_there { there.closure() } else { projection.closure(node) };
    closure.or(absent).map_or(Ok(()), |closure| Err(LandingFlaw::Closed(node, closure)))
}

/// Requires that the node runs the CSI drivers of the pod's volumes. kube-scheduler does not: to
/// it, a driver that the CSINode does not list has no limit. The kubelet cannot mount the volume
/// (`newCsiDriverClient` in kubernetes/pkg/volume/csi/csi_client.go), so the pod does not start.
fn check_driver(projection: &Projection<'_>, pod: PodId, node: NodeId) -> Result<(), LandingFlaw> {
    let snapshot = projection.world.snapshot;
    let missing = snapshot.missing_driver(snapshot.pod(pod), snapshot.node(node));
    missing.map_or(Ok(()), |driver| Err(LandingFlaw::LacksDriver(node, driver.to_owned())))
}

/// Requires that no taint of the node removes the pod after a while.
fn check_removal(projection: &Projection<'_>, pod: PodId, node: NodeId) -> Result<(), LandingFlaw> {
    let snapshot = projection.world.snapshot;
    let removal = scheduler::removal(snapshot.pod(pod), snapshot.node(node));
    removal.map_or(Ok(()), |by| Err(LandingFlaw::Removed(node, by)))
}

/// Applies the limits of the strategy. `requested` is the largest ratio so far.
fn check_limits(
    candidate: &Candidate,
    projection: &Projection<'_>,
    node: NodeId,
    destinations: &DestinationLimits,
    requested: Ratio,
) -> Result<Ratio, LandingFlaw> {
    let usage_targets = &destinations.usage_targets;
    // Most strategies have none, and this is asked for each node of each forecast.
    if !usage_targets.is_empty() {
        stays_cool(candidate, projection, node, usage_targets, true)
            .map_err(LandingFlaw::while_emptying)?;
    }
    let mut largest = requested;
    for &(resource, target) in projection.judged_by(node, &destinations.targets) {
        let ratio = ratio_after(candidate, projection, node, resource, destinations.basis)
            .ok_or(LandingFlaw::UnknownUsage(node))?;
        let above = AboveTarget::new(resource, ratio, target);
        HotLanding::check(node, above, destinations.basis, false)?;
        largest = ratio.at_least(largest);
    }
    // This check comes last: a caller that ignores this flaw must not miss one of the above.
    debug_assert!(destinations.nodes.is_sorted());
    if destinations.nodes.binary_search(&node).is_ok() {
        Ok(largest)
    } else {
        let why = no_gain(candidate, projection, node, destinations);
        Err(LandingFlaw::NotADestination(node, why))
    }
}

/// Why a node is none of the strategy's destinations. The destinations are those of the selected,
/// Ready nodes that the strategy prefers; `destinations.others` is the reason for the others.
fn no_gain(
    candidate: &Candidate,
    projection: &Projection<'_>,
    node: NodeId,
    destinations: &DestinationLimits,
) -> NoGain {
    let world = projection.world;
    let facts = world.snapshot.node(node);
    if !world.policy.selects(&facts.labels) {
        return NoGain::NotSelected;
    }
    let by_load = !destinations.targets.is_empty();
    let judged = || projection.judged_by(node, &destinations.targets).next().is_some();
    match other_pool(candidate, projection, node) {
        Some(pool) => pool,
        None if by_load && !judged() => NoGain::Lacks,
        None => destinations.others.clone(),
    }
}

/// The reason if LowNodeUtilization balances the node in another pool than the pod's, or in none.
fn other_pool(candidate: &Candidate, projection: &Projection<'_>, node: NodeId) -> Option<NoGain> {
    let snapshot = projection.world.snapshot;
    let rule = LowNodeUtilization::of(&projection.world.strategy(candidate.strategy).rule)?;
    let home = rule.pool_of(&snapshot.node(snapshot.pod(candidate.pod).node?).labels);
    match rule.pool_of(&snapshot.node(node).labels) {
        None => Some(NoGain::NoPool),
        Some(pool) if Some(pool) != home => Some(NoGain::OtherPool(pool.name.clone())),
        Some(_) => None,
    }
}

/// Requires that the node stays at or below the targets of LowNodeUtilization. Targets relative to
/// the mean do not keep nodes from being emptied.
pub(super) fn stays_below_targets(
    candidate: &Candidate,
    projection: &Projection<'_>,
    node: NodeId,
) -> Result<(), LandingFlaw> {
    let reason = &candidate.reason;
    let by_mean = reason.is_a_preference() && !matches!(reason, Reason::UnderusedNode { .. });
    let targets = |basis| least_targets(projection, node, basis, by_mean);
    stays_cool(candidate, projection, node, &targets(Basis::Actual), false)?;
    for (resource, target) in targets(Basis::Requests) {
        let ratio = ratio_after(candidate, projection, node, resource, Basis::Requests);
        let above = ratio.and_then(|ratio| AboveTarget::new(resource, ratio, target));
        HotLanding::check(node, above, Basis::Requests, false)?;
    }
    Ok(())
}

/// Requires that the node stays at or below these usage targets, where `undecided` also with the
/// moved pods that may land there. A hot node would soon lose the pod again. The same holds for the
/// hours of the next day.
///
/// A node of unknown usage is accepted, unless its usage is about to become known: after a start,
/// evenkeel waits for the first samples.
pub(super) fn stays_cool(
    candidate: &Candidate,
    projection: &Projection<'_>,
    node: NodeId,
    targets: &[(ResourceId, Ratio)],
    undecided: bool,
) -> Result<(), LandingFlaw> {
    for &(resource, target) in targets {
        let more = projection.undecided_usage(node).of(resource).filter(|_| undecided);
        let more = more.unwrap_or(Amount::ZERO);
        let ratio = ratio_beside(candidate, projection, node, resource, Basis::Actual, more);
        let Some(ratio) = ratio else {
            let unmeasured = projection.world.usage.unmeasured(node);
            if matches!(unmeasured, Some(Unmeasured::Few { .. })) {
                return Err(LandingFlaw::UnknownUsage(node));
            }
            continue;
        };
        let above = AboveTarget::new(resource, ratio, target);
        HotLanding::check(node, above, Basis::Actual, false)?;
        if resource == ResourceId::CPU {
            let above = day_ahead::too_hot(candidate, projection, node, undecided, target);
            HotLanding::check(node, above, Basis::Actual, true)?;
        }
    }
    Ok(())
}

/// The ratio of a node after the move; `None` if its usage is unknown.
///
/// Usage includes the pods that the node's load does not count yet or no longer.
pub(super) fn ratio_after(
    candidate: &Candidate,
    projection: &Projection<'_>,
    node: NodeId,
    resource: ResourceId,
    basis: Basis,
) -> Option<Ratio> {
    ratio_beside(candidate, projection, node, resource, basis, Amount::ZERO)
}

/// Like [`ratio_after`], with more load on the node.
fn ratio_beside(
    candidate: &Candidate,
    projection: &Projection<'_>,
    node: NodeId,
    resource: ResourceId,
    basis: Basis,
    more: Amount,
) -> Option<Ratio> {
    let own = projection.last_weight(candidate.pod, resource, basis);
    let more = more.plus(own).plus(projection.uncounted_load(node, resource, basis));
    projection.ratio_with(node, resource, basis, more)
}

/// The larger of the cpu and memory requests of a node after the move, as a ratio.
fn requested_after(candidate: &Candidate, projection: &Projection<'_>, node: NodeId) -> Ratio {
    let [cpu, memory] = [ResourceId::CPU, ResourceId::MEMORY].map(|resource| {
        ratio_after(candidate, projection, node, resource, Basis::Requests).unwrap_or(Ratio::ONE)
    });
    cpu.at_least(memory)
}

/// Why the scheduler prefers the pod's own node to the best other node, if possible a good landing.
pub(super) fn placement_cause(
    candidate: &Candidate,
    projection: &Projection<'_>,
    home: NodeId,
    forecast: &Forecast,
) -> PlacementCause {
    if !scheduler::is_known(projection, candidate.pod) {
        return PlacementCause::Unscored;
    }
    let own = forecast.scored.iter().find(|scored| scored.node == home);
    let mut others = forecast.scored.iter().filter(|scored| scored.node != home);
    let first = others.clone().next();
    let preferences = Preferences::of(projection, candidate.pod);
    let is_good = |node: NodeId| check(candidate, projection, &preferences, node).is_ok();
    let good = others.find(|scored| is_good(scored.node));
    match own.zip(good.or(first)) {
        Some((own, best)) => scheduler::placement_cause(projection, candidate.pod, own, best),
        None => PlacementCause::OnlyNode,
    }
}
