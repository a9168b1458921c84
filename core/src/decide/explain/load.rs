//! The usage of a pod or a node: the samples of the window, the smoothed value, and the requests.

use jiff::Timestamp;
use serde::Serialize;

use crate::model::plan::Stop;
use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::{Measure, PodUsage, Sample};
use crate::values::ResourceId;

use super::{CodedMessage, Context};

/// One sample of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UsagePoint {
    /// The time of the sample by the source's clock.
    pub at: Timestamp,
    /// The usage.
    #[serde(flatten)]
    pub used: Measure,
}

/// The usage and the requests.
#[derive(Clone, Debug, Serialize)]
pub struct LoadSummary {
    /// The length of the window in seconds.
    pub window_seconds: i64,
    /// How the samples are smoothed: `trend`, `mean`, `max`, `half_life` or `percentile`.
    pub smoothing: &'static str,
    /// Whether the past of the node says how its usage goes on. Without a trend, `trend` is the
    /// newest usage.
    pub has_trend: bool,
    /// The samples, the oldest first.
    pub samples: Vec<UsagePoint>,
    /// The value that decisions use; `None` if it is unknown.
    pub smoothed: Option<Measure>,
    /// Whether the value comes from the pod's siblings or its requests, because the pod is too new
    /// to have samples.
    pub estimated: bool,
    /// Why it is unknown.
    pub unknown: Option<CodedMessage>,
    /// The requests of the pod, or of the pods of the node that stay.
    pub requests: Measure,
    /// The allocatable amounts of a node.
    pub allocatable: Option<Measure>,
}

impl LoadSummary {
    /// The newest sample, not smoothed.
    pub fn newest(&self) -> Option<Measure> {
        self.samples.last().map(|point| point.used)
    }
}

pub(super) fn of_pod(case: &Context<'_>, pod: PodId) -> LoadSummary {
    let world = case.world;
    let unknown = world
        .usage
        .unmeasured_pod(pod)
        .map(|why| CodedMessage::refusal(&Stop::Unmeasured(why).into()));
    LoadSummary {
        smoothed: world.usage.pod(pod),
        estimated: matches!(
            world.usage.pods.get(pod.0),
            Some(PodUsage::Estimated(_) | PodUsage::Assumed(_))
        ),
        unknown,
        requests: Measure::from_all(&world.snapshot.pod(pod).requests),
        ..windowed(case, world.snapshot.pod(pod).node, case.history.pod_window(world.snapshot, pod))
    }
}

pub(super) fn of_node(case: &Context<'_>, node: NodeId) -> LoadSummary {
    let world = case.world;
    let pods = world.snapshot.node(node).pods.iter().map(|p| world.snapshot.pod(*p));
    let sum = |r: ResourceId| pods.clone().map(|p| p.requests[r]).sum();
    LoadSummary {
        smoothed: world.usage.node(node),
        unknown: world.usage.unmeasured(node).map(|why| CodedMessage::unknown(&why)),
        requests: Measure { cpu: sum(ResourceId::CPU), memory: sum(ResourceId::MEMORY) },
        allocatable: Some(Measure::from_all(&world.snapshot.node(node).allocatable)),
        ..windowed(case, Some(node), case.history.node_window(world.snapshot, node))
    }
}

fn windowed(case: &Context<'_>, node: Option<NodeId>, samples: Vec<Sample>) -> LoadSummary {
    let rules = &case.world.policy.usage;
    let point = |sample: Sample| UsagePoint { at: sample.at, used: sample.used };
    LoadSummary {
        window_seconds: rules.window.as_secs(),
        smoothing: rules.smoothing.label(),
        has_trend: node.is_some_and(|node| case.world.usage.error(node).is_some()),
        samples: samples.into_iter().map(point).collect(),
        smoothed: None,
        estimated: false,
        unknown: None,
        requests: Measure::default(),
        allocatable: None,
    }
}
