//! PodTopologySpread: required constraints exclude nodes, and soft constraints score them. A pod
//! without constraints uses those of the profile and is spread with the pods of its controller or
//! services.

use std::rc::Rc;

use crate::decide::placement::index::{Pods, Topology};
use crate::model::plan::Misfit;
use crate::model::snapshot::NodeId;
use crate::model::snapshot::facts::Spread;
use crate::policy::{DefaultConstraint, DefaultSpread, FilterPlugin};

use super::question::Question;
use super::walk::quota;
use super::{node_affinity, taints};

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// A constraint with the data to evaluate it.
struct SpreadConstraint {
    max_skew: i64,
    min_domains: usize,
    by_host: bool,
    topology: Rc<Topology>,
    /// The pods that count. None with an empty selector, which the scheduler treats as no selector.
    pods: Pods,
    /// Whether the pod counts itself.
    counts_itself: bool,
    honours: Honours,
}

/// The inclusion policies: whether node affinity and taints keep a node from counting.
#[derive(Clone, Copy)]
struct Honours {
    affinity: bool,
    taints: bool,
}

impl SpreadConstraint {
    fn own(question: &Question<'_, '_>, spread: &Spread) -> Self {
        let index = question.index();
        let selector = spread.pods.as_ref();
        let asked = selector.filter(|s| !s.is_empty());
        SpreadConstraint {
            max_skew: i64::from(spread.max_skew),
            min_domains: spread.min_domains.map_or(1, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            by_host: spread.topology_key == HOST,
            topology: index.topology(&spread.topology_key),
            pods: asked
                .map_or_else(|| Rc::from([]), |s| index.selected(&question.pod.namespace, s)),
            counts_itself: selector.is_some_and(|s| s.matches(&question.pod.labels)),
            honours: Honours { affinity: spread.honours_affinity, taints: spread.honours_taints },
        }
    }

    fn of_profile(
        question: &Question<'_, '_>,
        constraint: &DefaultConstraint,
        pods: &Pods,
    ) -> Self {
        SpreadConstraint {
            max_skew: i64::from(constraint.max_skew),
            min_domains: constraint
                .min_domains
                .map_or(1, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            by_host: constraint.topology_key == HOST,
            topology: question.index().topology(&constraint.topology_key),
            pods: Rc::clone(pods),
            counts_itself: true,
            honours: Honours {
                affinity: constraint.honours_affinity,
                taints: constraint.honours_taints,
            },
        }
    }

    /// Returns true if a node counts by the inclusion policies.
    fn includes(&self, question: &Question<'_, '_>, node: NodeId) -> bool {
        let there = question.node(node);
        (!self.honours.affinity || node_affinity::admits(question.pod, there))
            && (!self.honours.taints || taints::tolerated(&there.taints, &question.pod.tolerations))
    }
}

/// Returns true if required constraints may exclude nodes.
pub(super) fn is_limited(question: &Question<'_, '_>) -> bool {
    question.runs(FilterPlugin::PodTopologySpread) && !constraints(question, true).is_empty()
}

/// Returns the required or the soft constraints of the pod. If the pod has none, returns those of
/// the profile.
fn constraints(question: &Question<'_, '_>, hard: bool) -> Vec<SpreadConstraint> {
    if !question.pod.spread.is_empty() {
        let own = question.pod.spread.iter().filter(|s| s.hard == hard);
        return own.map(|spread| SpreadConstraint::own(question, spread)).collect();
    }
    let system;
    let defaults = match &question.profile.spread {
        DefaultSpread::List(list) => list,
        DefaultSpread::System => {
            system = [(3, HOST), (5, ZONE)].map(|(max_skew, key)| soft(max_skew, key)).to_vec();
            &system
        }
    };
    let defaults: Vec<_> = defaults.iter().filter(|c| c.hard == hard).collect();
    if defaults.is_empty() {
        return Vec::new();
    }
    let Some(pods) = question.index().group(question.id) else {
        return Vec::new();
    };
    defaults.into_iter().map(|c| SpreadConstraint::of_profile(question, c, &pods)).collect()
}

fn soft(max_skew: u32, topology_key: &str) -> DefaultConstraint {
    DefaultConstraint {
        max_skew,
        topology_key: topology_key.to_owned(),
        hard: false,
        min_domains: None,
        honours_affinity: true,
        honours_taints: false,
    }
}

/// The pods per domain for the required constraints.
#[derive(Default)]
pub(super) struct SpreadLimits {
    limits: Vec<SpreadLimit>,
    /// Whether the constraints are those of the profile, because the pod has none.
    of_profile: bool,
}

#[derive(Debug)]
struct SpreadLimit {
    topology: Rc<Topology>,
    counts: Vec<i64>,
    /// The most pods that a domain may have before this pod joins.
    most: i64,
}

impl SpreadLimits {
    pub(super) fn new(question: &Question<'_, '_>) -> Self {
        if !question.runs(FilterPlugin::PodTopologySpread) {
            return SpreadLimits::default();
        }
        SpreadLimits::of(question, &constraints(question, true))
    }

    /// The limits of these constraints, which are all required or all soft.
    fn of(question: &Question<'_, '_>, all: &[SpreadConstraint]) -> Self {
        if all.is_empty() {
            return SpreadLimits::default();
        }
        let labelled = |node: &NodeId| all.iter().all(|c| c.topology.place(*node).is_some());
        let nodes = question.snapshot.node_ids().filter(labelled);
        let nodes: Vec<NodeId> = nodes.collect();
        SpreadLimits {
            limits: all.iter().map(|c| SpreadLimit::new(question, c, &nodes, &labelled)).collect(),
            of_profile: question.pod.spread.is_empty(),
        }
    }

    /// Why a node that is not admitted cannot take the pod.
    pub(super) const fn misfit(&self) -> Misfit {
        if self.of_profile { Misfit::DefaultSpread } else { Misfit::Spread }
    }

    pub(super) fn admit(&self, node: NodeId) -> bool {
        let within = |limit: &SpreadLimit| {
            limit.topology.place(node).is_some_and(|place| limit.counts[place] <= limit.most)
        };
        self.limits.iter().all(within)
    }
}

impl SpreadLimit {
    /// How many pods above maxSkew a node's domain would have with this pod.
    fn excess(&self, node: NodeId) -> i64 {
        let place = self.topology.place(node);
        place.map_or(0, |place| self.counts[place] - self.most)
    }

    /// The rule: pods of the group + itself − the smallest count of any domain ≤ maxSkew.
    fn new(
        question: &Question<'_, '_>,
        constraint: &SpreadConstraint,
        nodes: &[NodeId],
        labelled: &impl Fn(&NodeId) -> bool,
    ) -> Self {
        let topology = &constraint.topology;
        let mut counts = vec![0; topology.count];
        let mut known = vec![false; topology.count];
        for node in nodes.iter().filter(|n| constraint.includes(question, **n)) {
            topology.place(*node).into_iter().for_each(|place| known[place] = true);
        }
        let places = constraint.pods.iter().filter_map(|p| question.lasting_place(*p));
        for node in places.filter(|n| labelled(n) && constraint.includes(question, *n)) {
            topology.place(node).into_iter().for_each(|place| counts[place] += 1);
        }
        let eligible =
            || counts.iter().zip(&known).filter(|(_, known)| **known).map(|(count, _)| *count);
        let enough = eligible().count() >= constraint.min_domains;
        let fewest = eligible().min().filter(|_| enough).unwrap_or_default();
        let most = constraint.max_skew + fewest - i64::from(constraint.counts_itself);
        SpreadLimit { topology: Rc::clone(topology), counts, most }
    }
}

/// The own constraints of a pod with the pods per domain, counted once for all nodes.
#[derive(Debug)]
pub struct SpreadExcess<'w>(Vec<(&'w Spread, SpreadLimit)>);

impl<'w> SpreadExcess<'w> {
    pub(super) fn new(question: &Question<'_, 'w>) -> Self {
        let of_kind = |hard: bool| {
            let own = question.pod.spread.iter().filter(|s| s.hard == hard);
            let own: Vec<&'w Spread> = own.collect();
            let constraints = own.iter().map(|s| SpreadConstraint::own(question, s));
            let limits = SpreadLimits::of(question, &constraints.collect::<Vec<_>>());
            own.into_iter().zip(limits.limits)
        };
        SpreadExcess([true, false].into_iter().flat_map(of_kind).collect())
    }

    /// Returns for each constraint how many pods above `maxSkew` the domain of a node would have
    /// with the pod there; zero or less if the constraint is met. A node without a domain has none
    /// too many.
    pub fn at(&self, node: NodeId) -> impl Iterator<Item = (&'w Spread, i64)> {
        self.0.iter().map(move |(spread, limit)| (*spread, limit.excess(node)))
    }
}

/// Scores the nodes: fewer pods of the group in the node's domains score higher.
pub(super) fn score(question: &Question<'_, '_>, nodes: &[NodeId]) -> Option<Vec<i64>> {
    let all = constraints(question, false);
    if all.is_empty() {
        return None;
    }
    // The system defaults include nodes without a zone.
    let own = !question.pod.spread.is_empty();
    let strict = own || question.profile.spread != DefaultSpread::System;
    let counted = |node: &NodeId| !strict || all.iter().all(|c| c.topology.place(*node).is_some());
    let weighed: Vec<CountedConstraint<'_>> =
        all.iter().map(|c| CountedConstraint::new(question, c, nodes, &counted)).collect();
    let sums: Vec<Option<i64>> =
        nodes.iter().map(|n| counted(n).then(|| sum(&weighed, *n))).collect();
    Some(reversed(&sums))
}

/// A soft constraint with the pods of each domain.
struct CountedConstraint<'c> {
    constraint: &'c SpreadConstraint,
    counts: Vec<i64>,
    /// The weight of each pod, which grows with the number of domains.
    weight: f64,
}

impl<'c> CountedConstraint<'c> {
    fn new(
        question: &Question<'_, '_>,
        constraint: &'c SpreadConstraint,
        nodes: &[NodeId],
        counted: &impl Fn(&NodeId) -> bool,
    ) -> Self {
        let topology = &constraint.topology;
        let by_host = constraint.by_host;
        // For the host topology every node counts. For other topologies the inclusion policies
        // decide.
        let counts =
            |node: &NodeId| by_host || counted(node) && constraint.includes(question, *node);
        let mut sums = vec![0; topology.count];
        for node in constraint.pods.iter().filter_map(|p| question.lasting_place(*p)).filter(counts)
        {
            topology.place(node).into_iter().for_each(|place| sums[place] += 1);
        }
        let nodes = nodes.iter().filter(|n| counted(n));
        // Of many nodes, the scheduler finds and scores only some.
        let hosts = |nodes: usize| nodes.min(quota(question));
        let size = if by_host { hosts(nodes.count()) } else { places(topology, nodes) };
        CountedConstraint { constraint, counts: sums, weight: weight(size) }
    }
}

/// Counts the domains of these nodes. Nodes without the label share one more domain.
fn places<'n>(topology: &Topology, nodes: impl Iterator<Item = &'n NodeId>) -> usize {
    let mut seen = vec![false; topology.count + 1];
    nodes.for_each(|node| seen[topology.place(*node).unwrap_or(topology.count)] = true);
    seen.into_iter().filter(|s| *s).count()
}

#[expect(clippy::cast_precision_loss, reason = "as the scheduler rounds it")]
fn weight(places: usize) -> f64 {
    ((places + 2) as f64).ln()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "as the scheduler rounds it"
)]
fn sum(weighed: &[CountedConstraint<'_>], node: NodeId) -> i64 {
    let mut sum = 0.0;
    for one in weighed {
        if let Some(place) = one.constraint.topology.place(node) {
            sum += one.counts[place] as f64 * one.weight + (one.constraint.max_skew - 1) as f64;
        }
    }
    sum.round() as i64
}

/// Maps sums to scores: the smallest becomes 100. A node that does not count scores zero.
///
/// With three zones that have 4, 2 and 1 of the pods and a `maxSkew` of 1, a pod weighs
/// ln 5 = 1.61. The sums are 6, 3 and 2, and the scores 33, 83 and 100.
fn reversed(sums: &[Option<i64>]) -> Vec<i64> {
    let least = sums.iter().flatten().copied().min().unwrap_or_default();
    let most = sums.iter().flatten().copied().max().unwrap_or_default();
    let points = |sum: i64| {
        if most == 0 { 100 } else { 100 * (most + least - sum) / most }
    };
    sums.iter().map(|sum| sum.map_or(0, points)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_sum_scores_100() {
        assert_eq!(reversed(&[Some(2), Some(4), None, Some(8)]), [100, 75, 0, 25]);
        assert_eq!(reversed(&[Some(0), Some(0), None]), [100, 100, 0]);
    }

    #[test]
    fn the_weight_of_a_pod_grows_with_the_number_of_domains() {
        let shown: Vec<_> = [0, 1, 5].map(|n| format!("{:.3}", weight(n))).into();
        assert_eq!(shown, ["0.693", "1.099", "1.946"]);
    }
}
