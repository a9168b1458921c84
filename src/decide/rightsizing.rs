//! Which workloads request far from what they use, and what they had better request.
//!
//! kube-scheduler sees requests alone. Where they say too little, it fills the wrong nodes, and every eviction that mends it
//! is in vain as soon as the next pod is placed; so it is said here rather than mended there.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use statrs::statistics::{Data, OrderStatistics};

use crate::decide::draft::World;
use crate::model::plan::{Direction, Rightsizing, Suggestion};
use crate::model::snapshot::{Pod, PodId, Snapshot, Workload};
use crate::model::usage::{Measure, PodUsage, Sample};
use crate::policy::RightsizingPolicy;
use crate::values::{Amount, Ratio, ResourceId};

/// Samples of each pod, by its position in the snapshot.
type Samples<'s> = [Option<&'s VecDeque<Sample>>];

/// A pod of which enough is known.
struct Measured<'s> {
    /// Smoothed.
    used: Measure,
    samples: &'s VecDeque<Sample>,
}

/// What is advised of one resource.
#[derive(Clone, Copy)]
struct Kind {
    id: ResourceId,
    name: &'static str,
    of: fn(&Measure) -> Amount,
    /// Suggestions are multiples of this, and none is below it.
    grain: Amount,
    /// Typical use is told to this.
    fine: Amount,
    /// Whether a pod can do with less for a while: then a percentile will do, and where it cannot, the maximum counts.
    compressible: bool,
}

const KINDS: [Kind; 2] = [
    Kind {
        id: ResourceId::CPU,
        name: "cpu",
        of: |m| m.cpu,
        grain: Amount::millicores(10),
        fine: Amount::millicores(1),
        compressible: true,
    },
    Kind {
        id: ResourceId::MEMORY,
        name: "memory",
        of: |m| m.memory,
        grain: Amount::new(16 << 20),
        fine: Amount::new(1 << 20),
        compressible: false,
    },
];

/// The workloads whose requests are far from use, those first that are wrong by the largest part of the cluster.
///
/// Only pods count that are Ready and whose usage is known: what is estimated, stale or has too few samples says nothing of
/// what a workload needs. Static and mirror pods do not count, for no workload has their requests.
pub fn suggest(world: World<'_>, samples: &Samples<'_>) -> Vec<Rightsizing> {
    let (rules, snapshot) = (&world.policy.rightsizing, world.snapshot);
    let whole = KINDS.map(|kind| snapshot.nodes.iter().map(|n| n.allocatable[kind.id]).sum());
    let measured = |id: PodId| match world.usage.pods.get(id.0)? {
        PodUsage::Known(used) if snapshot.pod(id).serves() => Some(Measured {
            used: *used,
            samples: samples[id.0]?,
        }),
        PodUsage::Known(_) | PodUsage::Estimated(_) | PodUsage::Unknown(..) => None,
    };
    let of = |workload: &Workload| of_workload(snapshot, workload, (rules, &whole), &measured);
    let mut all: Vec<Rightsizing> = snapshot.workloads.iter().filter_map(of).collect();
    all.sort_by(|a, b| {
        b.wrong_by()
            .order(a.wrong_by())
            .then_with(|| a.workload.cmp(&b.workload))
    });
    all
}

fn of_workload<'s>(
    snapshot: &Snapshot,
    workload: &Workload,
    (rules, whole): (&RightsizingPolicy, &[Amount; 2]),
    measured: &impl Fn(PodId) -> Option<Measured<'s>>,
) -> Option<Rightsizing> {
    let counts = |id: &&PodId| {
        let pod = snapshot.pod(**id);
        pod.stays() && !pod.annotations.mirror && !pod.annotations.static_pod
    };
    let ids: Vec<PodId> = workload.pods.iter().filter(counts).copied().collect();
    let known: Vec<Measured<'s>> = ids.iter().filter_map(|id| measured(*id)).collect();
    let taken = || known.iter().flat_map(|m| m.samples).map(|s| s.at);
    let span = taken().max()?.duration_since(taken().min()?);
    // What holds from now on: in a rollout, that is what the newer pods have.
    let newest = ids
        .iter()
        .map(|id| snapshot.pod(*id))
        .max_by_key(|pod| (pod.created, &pod.name))?;
    let pods = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let group = Group {
        newest,
        known: &known,
        pods,
    };
    let each = KINDS.iter().zip(whole);
    let resources: BTreeMap<_, _> = each
        .filter_map(|(kind, whole)| Some((kind.name, group.suggest(*kind, rules, *whole)?)))
        .collect();
    let (measured, samples) = (
        u32::try_from(known.len()).unwrap_or(u32::MAX),
        taken().count() as u64,
    );
    let workload = workload.key.clone();
    (!resources.is_empty()).then_some(Rightsizing {
        workload,
        pods,
        measured,
        samples,
        span,
        resources,
    })
}

/// The pods of one workload.
struct Group<'g, 's> {
    newest: &'g Pod,
    known: &'g [Measured<'s>],
    /// All, those of which nothing is known included.
    pods: u32,
}

impl Group<'_, '_> {
    /// What a pod had better request; `None` where what it requests is near enough.
    fn suggest(&self, kind: Kind, rules: &RightsizingPolicy, whole: Amount) -> Option<Suggestion> {
        let request = self.newest.requests[kind.id];
        let limit = self
            .newest
            .limits
            .iter()
            .find(|(name, _)| name == kind.name)
            .map(|(_, limit)| *limit);
        let fits = suggested(kind, self.covered(kind, rules), rules.headroom);
        let suggested = limit.map_or(fits, |limit| fits.min(limit));
        let direction = direction(request, suggested, rules.tolerance)?;
        let apart = suggested.minus(request).plus(request.minus(suggested));
        let total = Amount::new(apart.get().saturating_mul(u64::from(self.pods)));
        Some(Suggestion {
            direction,
            resource: kind.name,
            request: (request > Amount::ZERO).then_some(request),
            typical: self.typical(kind),
            suggested,
            limit,
            total,
            wrong_by: total.share_of(whole).unwrap_or_default(),
        })
    }

    /// What the suggestion has to cover, of the samples of all pods together.
    fn covered(&self, kind: Kind, rules: &RightsizingPolicy) -> Amount {
        let used = self
            .known
            .iter()
            .flat_map(|m| m.samples)
            .map(|sample| (kind.of)(&sample.used));
        if kind.compressible {
            let mut data = Data::new(used.map(Amount::as_f64).collect::<Vec<_>>());
            Amount::from_f64(data.quantile(rules.percentile.get()))
        } else {
            used.max().unwrap_or_default()
        }
    }

    /// The median over the pods, to the nearest thousandth of a core or mebibyte.
    fn typical(&self, kind: Kind) -> Amount {
        let mut data = Data::new(
            self.known
                .iter()
                .map(|m| (kind.of)(&m.used).as_f64())
                .collect::<Vec<_>>(),
        );
        let steps = Amount::from_f64(data.median() / kind.fine.as_f64());
        Amount::new(steps.get().saturating_mul(kind.fine.get()))
    }
}

/// With the headroom, rounded up to the grain, and one grain at least.
fn suggested(kind: Kind, covered: Amount, headroom: Ratio) -> Amount {
    let wanted = covered.plus(covered.times(headroom));
    Amount::new(
        wanted
            .get()
            .div_ceil(kind.grain.get())
            .max(1)
            .saturating_mul(kind.grain.get()),
    )
}

/// Which way a request is wrong; `None` where the larger of the two exceeds the smaller by no more than is tolerated.
fn direction(request: Amount, suggested: Amount, tolerance: Ratio) -> Option<Direction> {
    let far = |small: Amount, large: Amount| large.minus(small) > small.times(tolerance);
    match request.cmp(&suggested) {
        Ordering::Less => far(request, suggested).then_some(Direction::TooLow),
        Ordering::Equal => None,
        Ordering::Greater => far(suggested, request).then_some(Direction::TooHigh),
    }
}
