//! Right-sizing: workloads whose requests are far from their usage, and recommended requests.
//!
//! kube-scheduler only sees requests. If they are too low, it fills the wrong nodes, and the next
//! pod that it places undoes every eviction. Evictions cannot correct that, so it is reported
//! instead.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use statrs::statistics::{Data, OrderStatistics};

use crate::decide::projection::World;
use crate::model::plan::{Direction, Rightsizing, Suggestion};
use crate::model::snapshot::facts::Role;
use crate::model::snapshot::{Pod, PodId, Workload, WorkloadId};
use crate::model::usage::history::PodSamples;
use crate::model::usage::{Measure, PodUsage};
use crate::policy::RightsizingPolicy;
use crate::values::{Amount, Ratio, ResourceId, value_of};

/// Samples of each pod, by its position in the snapshot.
type Samples<'s> = [Option<&'s PodSamples>];

/// A pod with known usage.
struct MeasuredPod<'s> {
    /// The smoothed usage.
    used: Measure,
    samples: &'s PodSamples,
}

/// The allocatable amounts of one resource.
#[derive(Clone, Copy)]
struct NodeSizes {
    /// Of all nodes.
    whole: Amount,
    /// Of the largest node. A pod that requests more would never run.
    largest: Amount,
}

/// How requests of one resource are recommended.
#[derive(Clone, Copy)]
struct ResourceRule {
    id: ResourceId,
    name: &'static str,
    of: fn(&Measure) -> Amount,
    /// Recommendations are positive multiples of this.
    grain: Amount,
    /// Typical usage is rounded to this.
    fine: Amount,
    /// Whether a pod that gets less only slows down. If so, a percentile of the samples counts,
    /// otherwise the maximum.
    compressible: bool,
}

const RESOURCES: [ResourceRule; 2] = [
    ResourceRule {
        id: ResourceId::CPU,
        name: "cpu",
        of: |m| m.cpu,
        grain: Amount::millicores(10),
        fine: Amount::millicores(1),
        compressible: true,
    },
    ResourceRule {
        id: ResourceId::MEMORY,
        name: "memory",
        of: |m| m.memory,
        grain: Amount::new(16 << 20),
        fine: Amount::new(1 << 20),
        compressible: false,
    },
];

/// The workloads whose requests are far from their usage, the largest difference first as a share
/// of the cluster.
///
/// Only Ready pods with known usage count. Estimated or stale usage, or too few samples, do not
/// show what a workload needs. Static and mirror pods do not count, because no workload sets their
/// requests.
pub fn suggest(world: World<'_>, samples: &Samples<'_>) -> Vec<Rightsizing> {
    let nodes = &world.snapshot.nodes;
    let sizes = RESOURCES.map(|rule| NodeSizes {
        whole: nodes.iter().map(|n| n.allocatable[rule.id]).sum(),
        largest: nodes.iter().map(|n| n.allocatable[rule.id]).max().unwrap_or_default(),
    });
    let groups = world.snapshot.workloads.iter().zip(grouped(world, samples));
    let mut all: Vec<(Ratio, Rightsizing)> = groups
        .filter_map(|(workload, group)| of_workload(world, workload, &group?, &sizes))
        .map(|found| (found.wrong_by(), found))
        .collect();
    all.sort_by(|(wrong_a, a), (wrong_b, b)| {
        let by_difference = wrong_b.order(*wrong_a);
        by_difference.then_with(|| a.workload.cmp(&b.workload))
    });
    all.into_iter().map(|(_, found)| found).collect()
}

/// The pods that stay, by workload; `None` for a workload without such pods.
fn grouped<'w, 's>(world: World<'w>, samples: &Samples<'s>) -> Vec<Option<WorkloadPods<'w, 's>>> {
    let snapshot = world.snapshot;
    let mut groups: Vec<_> = snapshot.workloads.iter().map(|_| None).collect();
    // In the order of the pods, because those of a workload may be far from each other in memory.
    for (position, pod) in snapshot.pods.iter().enumerate() {
        let Some(WorkloadId(workload)) = pod.workload else {
            continue;
        };
        if pod.stays() && !pod.annotations.mirror && !pod.annotations.static_pod {
            groups[workload]
                .get_or_insert_with(|| WorkloadPods::new(pod))
                .add(pod, measured(world, samples, PodId(position)));
        }
    }
    groups
}

/// The recommendation for one workload; `None` if its requests are near enough, or nothing is
/// known.
fn of_workload(
    world: World<'_>,
    workload: &Workload,
    group: &WorkloadPods<'_, '_>,
    sizes: &[NodeSizes; 2],
) -> Option<Rightsizing> {
    let mut resources = BTreeMap::new();
    for (rule, sizes) in RESOURCES.iter().zip(sizes) {
        if let Some(suggestion) = group.suggest(*rule, &world.policy.rightsizing, *sizes) {
            resources.insert(rule.name, suggestion);
        }
    }
    if resources.is_empty() {
        return None;
    }
    let spans = || group.known.iter().filter_map(|pod| pod.samples.span());
    let oldest = spans().map(|(oldest, _)| oldest).min()?;
    let newest = spans().map(|(_, newest)| newest).max()?;
    Some(Rightsizing {
        workload: workload.key.clone(),
        pods: group.pods,
        measured: u32::try_from(group.known.len()).unwrap_or(u32::MAX),
        samples: group.known.iter().map(|pod| pod.samples.len() as u64).sum(),
        span: newest.duration_since(oldest),
        resources,
    })
}

/// The usage of a Ready pod; `None` if it is not known well enough.
fn measured<'s>(world: World<'_>, samples: &Samples<'s>, pod: PodId) -> Option<MeasuredPod<'s>> {
    let facts = world.snapshot.pod(pod);
    match world.usage.pods.get(pod.0)? {
        PodUsage::Known(used) if facts.serves() && !is_down(facts) => {
            Some(MeasuredPod { used: *used, samples: samples[pod.0]? })
        }
        PodUsage::Known(_)
        | PodUsage::Estimated(_)
        | PodUsage::Assumed(_)
        | PodUsage::Unknown(..) => None,
    }
}

/// Whether a container of the pod waits or has ended, as in a crash loop. The usage of the others
/// does not show the needs of the pod.
fn is_down(pod: &Pod) -> bool {
    let mut main = pod.containers.iter().filter(|c| c.role == Role::Main);
    main.any(|container| container.waiting.is_some() || container.ended.is_some())
}

struct WorkloadPods<'w, 's> {
    newest: &'w Pod,
    known: Vec<MeasuredPod<'s>>,
    /// The number of pods, including those with unknown usage.
    pods: u32,
    /// The most memory that a pod needs because a container of it was killed.
    killed_at: Amount,
}

impl<'w, 's> WorkloadPods<'w, 's> {
    const fn new(newest: &'w Pod) -> Self {
        WorkloadPods { newest, known: Vec::new(), pods: 0, killed_at: Amount::ZERO }
    }

    fn add(&mut self, pod: &'w Pod, measured: Option<MeasuredPod<'s>>) {
        // In a rollout, the requests of the newest pods are the ones that stay. Pods come in the
        // order of names, so the last of equally new ones counts.
        if pod.created >= self.newest.created {
            self.newest = pod;
        }
        self.known.extend(measured);
        self.pods += 1;
        self.killed_at = self.killed_at.max(pod.sizes.killed_at.unwrap_or_default());
    }
}

impl WorkloadPods<'_, '_> {
    /// The recommended request of a pod; `None` if its request is near enough.
    fn suggest(
        &self,
        rule: ResourceRule,
        policy: &RightsizingPolicy,
        nodes: NodeSizes,
    ) -> Option<Suggestion> {
        let request = self.newest.requests[rule.id];
        let sizes = &self.newest.sizes;
        let limit = value_of(&sizes.limits, rule.name);
        let overhead = value_of(&sizes.overhead, rule.name).unwrap_or_default();
        let init_peak = value_of(&sizes.init_peak, rule.name).unwrap_or_default();
        let fits = suggested(rule, self.covered(rule, policy), policy.headroom).plus(overhead);
        let most = limit.map_or(nodes.largest, |limit| limit.min(nodes.largest));
        let suggested = fits.max(self.killed_at(rule.id)).min(most);
        // The scheduler reserves as much for any request of the containers that run now.
        let suggested = suggested.max(init_peak.plus(overhead));
        let direction = direction(request, suggested, policy.tolerance)?;
        let apart = suggested.minus(request).plus(request.minus(suggested));
        let total = Amount::new(apart.get().saturating_mul(u64::from(self.pods)));
        Some(Suggestion {
            direction,
            resource: rule.name,
            request: (request > Amount::ZERO).then_some(request),
            typical: self.typical(rule),
            suggested,
            limit,
            total,
            wrong_by: total.share_of(nodes.whole).unwrap_or_default(),
        })
    }

    /// The memory that a pod needed when it was killed.
    fn killed_at(&self, resource: ResourceId) -> Amount {
        if resource == ResourceId::MEMORY { self.killed_at } else { Amount::ZERO }
    }

    /// The usage that the recommendation has to cover, from the samples of all pods together.
    fn covered(&self, rule: ResourceRule, policy: &RightsizingPolicy) -> Amount {
        let used =
            self.known.iter().flat_map(|pod| pod.samples.used()).map(|used| (rule.of)(&used));
        if rule.compressible {
            let mut data = Data::new(used.map(Amount::as_f64).collect::<Vec<_>>());
            Amount::from_f64(data.quantile(policy.percentile.get()))
        } else {
            used.max().unwrap_or_default()
        }
    }

    /// The median over the pods, rounded to a thousandth of a core or to a mebibyte.
    fn typical(&self, rule: ResourceRule) -> Amount {
        let mut data =
            Data::new(self.known.iter().map(|m| (rule.of)(&m.used).as_f64()).collect::<Vec<_>>());
        let steps = Amount::from_f64(data.median() / rule.fine.as_f64());
        Amount::new(steps.get().saturating_mul(rule.fine.get()))
    }
}

/// The usage plus the headroom, rounded up to a positive multiple of the grain.
fn suggested(rule: ResourceRule, covered: Amount, headroom: Ratio) -> Amount {
    let wanted = covered.plus(covered.times(headroom));
    Amount::new(wanted.get().div_ceil(rule.grain.get()).max(1).saturating_mul(rule.grain.get()))
}

/// Whether a request is too low or too high; `None` if the difference is within the tolerance.
fn direction(request: Amount, suggested: Amount, tolerance: Ratio) -> Option<Direction> {
    let far = |small: Amount, large: Amount| large.minus(small) > small.times(tolerance);
    match request.cmp(&suggested) {
        Ordering::Less => far(request, suggested).then_some(Direction::TooLow),
        Ordering::Equal => None,
        Ordering::Greater => far(suggested, request).then_some(Direction::TooHigh),
    }
}
