//! NodeResourcesFit: the requests of the pod must be free. A node scores by how full it would be.
//!
//! An example: with the pod, 5 of 8 cores and 8 of 32 GiB are requested. LeastAllocated gives 37
//! for cpu and 75 for memory, and 56 for the node. MostAllocated gives 62, 25 and 43.

use crate::model::snapshot::NodeId;
use crate::policy::{FilterPlugin, Fit, FitStrategy};
use crate::values::{Amount, PerResource, ResourceId};

use super::nominated::NominatedPods;
use super::question::Question;

/// Returns the first resource with less free than the pod requests. A request of zero always fits.
pub(super) fn lacking(
    requests: &PerResource<Amount>,
    free: impl Fn(ResourceId) -> Amount,
) -> Option<ResourceId> {
    let short =
        |(r, wanted): &(ResourceId, &Amount)| **wanted > Amount::ZERO && **wanted > free(*r);
    requests.iter().find(short).map(|(r, _)| r)
}

/// Returns the requests of a pod that must be free.
pub(super) struct Wanted(Vec<(ResourceId, Amount)>);

impl Wanted {
    pub(super) fn new(question: &Question<'_, '_>) -> Self {
        let names = &question.snapshot.resources;
        let runs = question.runs(FilterPlugin::NodeResourcesFit);
        let counts = |(r, wanted): &(ResourceId, &Amount)| {
            **wanted > Amount::ZERO && !ignored(names.name(*r), question)
        };
        let all = question.pod.requests.iter().filter(|one| runs && counts(one));
        Wanted(all.map(|(r, wanted)| (r, *wanted)).collect())
    }

    /// Returns the first resource with less free than the pod requests. Nominated pods take room,
    /// too.
    pub(super) fn lacking(
        &self,
        question: &Question<'_, '_>,
        nominated: &NominatedPods,
        node: NodeId,
    ) -> Option<ResourceId> {
        let whole = &question.node(node).allocatable;
        let taken = |r: ResourceId| {
            let promised = nominated.requests(question, node, r);
            question.reserved(node, r).plus(promised)
        };
        let short = |(r, wanted): &&(ResourceId, Amount)| *wanted > whole[*r].minus(taken(*r));
        self.0.iter().find(short).map(|(r, _)| *r)
    }
}

/// Only extended resources can be ignored. Their names have a domain that does not belong to
/// Kubernetes.
fn ignored(name: &str, question: &Question<'_, '_>) -> bool {
    let Fit { ignored_resources, ignored_resource_groups, .. } = &question.profile.fit;
    let Some((group, _)) =
        name.split_once('/').filter(|(group, _)| !group.ends_with("kubernetes.io"))
    else {
        return false;
    };
    ignored_resources.contains(name) || ignored_resource_groups.contains(group)
}

/// A resource that counts for a score.
pub(super) struct ScoredResource {
    id: ResourceId,
    weight: i64,
    /// The request of the pod.
    takes: i64,
    /// Whether to use the requests with defaults instead of the real ones.
    non_zero_requests: bool,
}

/// The allocatable amount of a node and the amount that would be requested.
#[derive(Clone, Copy)]
pub(super) struct ResourceRequests {
    pub(super) whole: i64,
    pub(super) before: i64,
    pub(super) after: i64,
}

impl ScoredResource {
    /// Uses real requests, or for cpu and memory the requests with defaults. A resource that the
    /// pod does not request counts only if it is cpu, memory or ephemeral storage. `None` for a
    /// resource that no pod requests.
    pub(super) fn new(
        question: &Question<'_, '_>,
        name: &str,
        weight: i64,
        with_defaults: bool,
    ) -> Option<Self> {
        let id = question.snapshot.resources.find(name);
        let id = id.filter(|id| *id != ResourceId::PODS)?;
        let non_zero_requests =
            with_defaults && [ResourceId::CPU, ResourceId::MEMORY].contains(&id);
        let takes = match (non_zero_requests, id) {
            (true, ResourceId::CPU) => question.pod.sizes.non_zero_requests_of_containers.cpu,
            (true, _) => question.pod.sizes.non_zero_requests_of_containers.memory,
            (false, _) => question.pod.requests[id],
        };
        let basic = ["cpu", "memory", "ephemeral-storage"].contains(&name);
        (basic || takes > Amount::ZERO).then(|| ScoredResource {
            id,
            weight,
            takes: units(id, takes),
            non_zero_requests,
        })
    }

    /// Returns true if the pod requests some of it.
    pub(super) const fn requested(&self) -> bool {
        self.takes != 0
    }

    /// Returns `None` if the node does not have the resource.
    pub(super) fn level(
        &self,
        question: &Question<'_, '_>,
        node: NodeId,
    ) -> Option<ResourceRequests> {
        let whole = units(self.id, question.node(node).allocatable[self.id]);
        let taken = match (self.non_zero_requests, self.id) {
            (true, ResourceId::CPU) => question.non_zero_requests(node).0,
            (true, _) => question.non_zero_requests(node).1,
            (false, id) => question.reserved(node, id),
        };
        let before = units(self.id, taken);
        (whole > 0).then_some(ResourceRequests { whole, before, after: before + self.takes })
    }
}

/// Converts to the units of the scheduler: millicores, bytes or a count.
fn units(resource: ResourceId, amount: Amount) -> i64 {
    let units =
        if resource == ResourceId::CPU { amount.get().div_ceil(1_000_000) } else { amount.get() };
    i64::try_from(units).unwrap_or(i64::MAX)
}

pub(super) fn score(question: &Question<'_, '_>, nodes: &[NodeId]) -> Vec<i64> {
    let Fit { strategy, resources, .. } = &question.profile.fit;
    let weighed = resources
        .iter()
        .filter_map(|(name, weight)| ScoredResource::new(question, name, *weight, true));
    let weighed: Vec<ScoredResource> = weighed.collect();
    nodes
        .iter()
        .map(|node| {
            mean(
                strategy,
                weighed.iter().filter_map(|w| Some((w.weight, w.level(question, *node)?))),
            )
        })
        .collect()
}

fn mean(strategy: &FitStrategy, levels: impl Iterator<Item = (i64, ResourceRequests)>) -> i64 {
    let (mut sum, mut weights) = (0, 0);
    for (weight, level) in levels {
        let points = points(strategy, level);
        // A resource with a score of zero on the shape does not count at all.
        if points > 0 || !matches!(strategy, FitStrategy::RequestedToCapacityRatio(_)) {
            sum += points * weight;
            weights += weight;
        }
    }
    match strategy {
        _ if weights == 0 => 0,
        FitStrategy::RequestedToCapacityRatio(_) => rounded(sum, weights),
        FitStrategy::LeastAllocated | FitStrategy::MostAllocated => sum / weights,
    }
}

/// Divides two non-negative numbers and rounds half up.
const fn rounded(sum: i64, by: i64) -> i64 {
    (2 * sum + by) / (2 * by)
}

fn points(strategy: &FitStrategy, level: ResourceRequests) -> i64 {
    let ResourceRequests { whole, after, .. } = level;
    match strategy {
        FitStrategy::LeastAllocated => percent((whole - after).max(0), whole),
        FitStrategy::MostAllocated => percent(after.min(whole), whole),
        FitStrategy::RequestedToCapacityRatio(line) => {
            on_line(line, if after > whole { 100 } else { percent(after, whole) })
        }
    }
}

fn percent(part: i64, whole: i64) -> i64 {
    match part.checked_mul(100) {
        Some(parts) => parts / whole,
        None => i64::try_from(i128::from(part) * 100 / i128::from(whole)).unwrap_or_default(),
    }
}

/// Interpolates the shape at a share. Its points score up to 10, the result is up to 100.
fn on_line(line: &[(i64, i64)], share: i64) -> i64 {
    let height = |point: &(i64, i64)| point.1 * 10;
    match line.iter().position(|(at, _)| share <= *at) {
        None => line.last().map_or(0, height),
        Some(0) => height(&line[0]),
        Some(next) => {
            let (from, to) = (&line[next - 1], &line[next]);
            height(from) + (height(to) - height(from)) * (share - from.0) / (to.0 - from.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(after: i64, whole: i64) -> ResourceRequests {
        ResourceRequests { whole, before: 0, after }
    }

    #[test]
    fn the_strategy_prefers_the_least_or_the_most_allocated_node() {
        let cpu_and_memory = [(1, level(1500, 4000)), (1, level(5, 8))];
        // 62.5% and 37.5% are left, each rounded down.
        assert_eq!(mean(&FitStrategy::LeastAllocated, cpu_and_memory.into_iter()), 49);
        assert_eq!(mean(&FitStrategy::MostAllocated, cpu_and_memory.into_iter()), 49);
        let over = [(3, level(9, 8)), (1, level(0, 8))];
        assert_eq!(mean(&FitStrategy::LeastAllocated, over.into_iter()), 25);
        assert_eq!(mean(&FitStrategy::MostAllocated, over.into_iter()), 75);
        assert_eq!(mean(&FitStrategy::LeastAllocated, std::iter::empty()), 0);
    }

    #[test]
    fn a_shape_is_interpolated_and_a_score_of_zero_does_not_count() {
        let line = FitStrategy::RequestedToCapacityRatio(vec![(0, 0), (50, 10), (100, 4)]);
        let at = |after| points(&line, level(after, 100));
        assert_eq!([0, 10, 50, 75, 100, 140].map(at), [0, 20, 100, 70, 40, 40]);
        assert_eq!(mean(&line, [(1, level(0, 100)), (1, level(10, 100))].into_iter()), 20);
        // (20 + 2 × 21) / 3 = 20.67
        assert_eq!(mean(&line, [(1, level(10, 100)), (2, level(1050, 10_000))].into_iter()), 20);
        assert_eq!(rounded(62, 3), 21);
    }
}
