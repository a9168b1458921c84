//! Usage that is expected in the period `lookAhead`, by the trend of each node.

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::{Node, Pod, Snapshot};
use crate::model::usage::{Measure, Outlook, PodUsage, PresentUsage, Usage};
use crate::values::Amount;

use super::History;
use super::course::{Course, MeasuredPeriods, Newest};
use super::expectation::ExpectedUsage;
use super::node_usage::{BesidePods, with_pods};
use super::series::PodSeries;
use super::trend::{SeriesState, Trend};

/// Expected usage, by position in the snapshot.
pub(super) struct LookAhead {
    /// The expected usage of each pod. A pod without a course keeps its present usage.
    pub(super) pods: Vec<PodUsage>,
    /// The standard deviation of the usage of each node around the expectation; `None` if its pods
    /// have no past.
    pub(super) errors: Vec<Option<Measure>>,
}

impl LookAhead {
    /// Returns the mean usage that is expected in this period from now, given present usage.
    pub(super) fn of(
        snapshot: &Snapshot,
        present: &[PodUsage],
        series: &[Option<&PodSeries>],
        now: Timestamp,
        ahead: SignedDuration,
    ) -> Self {
        // The mean of a period that begins now is the value in its middle.
        let minutes = ahead.as_secs_f64() / 60.0 / 2.0;
        let mut courses = Courses::new(snapshot, now);
        // In the order of the pods, because those of a node are far from each other in memory.
        let pods = snapshot.pods.iter().zip(present).zip(series);
        let states: Vec<_> =
            pods.map(|((pod, present), series)| courses.add(pod, present, *series)).collect();
        let trends: Vec<_> = courses.trends(snapshot).collect();
        let expected = snapshot.pods.iter().zip(present).zip(states);
        let expected = expected.map(|((pod, present), state)| {
            let trend = pod.node.and_then(|node| trends[node.0].as_ref());
            match (trend, state, present) {
                (Some(trend), Some(state), PodUsage::Known(present)) => {
                    PodUsage::Known(trend.after(minutes, state, *present))
                }
                _ => present.clone(),
            }
        });
        LookAhead {
            pods: expected.collect(),
            errors: trends.iter().map(|trend| trend.as_ref().map(NodeTrend::error)).collect(),
        }
    }
}

impl History {
    /// Replaces present usage by the expectation, if the policy asks for it.
    pub(super) fn expect(
        &self,
        snapshot: &Snapshot,
        usage: &mut Usage,
        series: &[Option<&PodSeries>],
        beside: &[BesidePods],
        now: Timestamp,
    ) {
        if let Some(ahead) = self.rules.look_ahead() {
            let trend = LookAhead::of(snapshot, &usage.pods, series, now, ahead);
            usage.errors = trend.errors;
            replace(snapshot, usage, beside, trend.pods, ahead, None);
        }
        let Some(ahead) = self.rules.ahead else {
            return;
        };
        let (nodes, pods) = (&usage.nodes, &usage.pods);
        if let Some(expected) = ExpectedUsage::of(snapshot, nodes, pods, series, now, ahead) {
            let outlook = Some(expected.outlook);
            replace(snapshot, usage, beside, expected.pods, ahead, outlook);
        }
    }
}

/// Replaces the usage of pods and nodes. The first usage stays as the present one.
fn replace(
    snapshot: &Snapshot,
    usage: &mut Usage,
    beside: &[BesidePods],
    pods: Vec<PodUsage>,
    ahead: SignedDuration,
    outlook: Option<Outlook>,
) {
    let nodes = with_pods(snapshot, beside, &pods);
    let nodes = std::mem::replace(&mut usage.nodes, nodes);
    let pods = std::mem::replace(&mut usage.pods, pods);
    let earlier = usage.present.take();
    let (nodes, pods) = earlier.map_or((nodes, pods), |first| (first.nodes, first.pods));
    usage.present = Some(Box::new(PresentUsage { ahead, nodes, pods, outlook }));
}

/// The courses of the nodes, if the pods that stay had been on them all the time.
struct Courses {
    now: Timestamp,
    nodes: Vec<NodeCourse>,
}

#[derive(Clone)]
struct NodeCourse {
    /// The sums over the pods that have a past.
    sums: MeasuredPeriods,
    /// The sums of their newest means.
    newest: Newest,
    /// The usage of the other pods, as if they had always used what they use now.
    constant: Measure,
    /// Whether a pod has a past.
    has_past: bool,
}

impl Courses {
    fn new(snapshot: &Snapshot, now: Timestamp) -> Self {
        let none = NodeCourse {
            sums: [[0.0; Course::PERIODS]; Course::MEASURED.len()],
            newest: [[0.0; Course::NEWEST]; Course::MEASURED.len()],
            constant: Measure::default(),
            has_past: false,
        };
        let nodes = vec![none; snapshot.nodes.len()];
        Courses { now, nodes }
    }

    /// Adds a pod. Returns its state; `None` if its usage or its past is not known.
    fn add(
        &mut self,
        pod: &Pod,
        present: &PodUsage,
        series: Option<&PodSeries>,
    ) -> Option<[SeriesState; Course::MEASURED.len()]> {
        if pod.finished() {
            return None;
        }
        let node = &mut self.nodes[pod.node?.0];
        let known = matches!(present, PodUsage::Known(_));
        let course = series.filter(|_| known).and_then(|s| s.samples.course());
        let periods = course.and_then(|course| course.periods(self.now));
        node.has_past |= periods.is_some();
        match &periods {
            _ if !pod.stays() => {}
            Some(periods) => {
                add(&mut node.sums, periods);
                if let Some(newest) = course.and_then(Course::newest) {
                    add(&mut node.newest, &newest);
                }
            }
            None => node.constant = node.constant.plus(present.on_node()),
        }
        periods.map(|periods| periods.each_ref().map(SeriesState::of))
    }

    /// Returns the trend of each node; `None` for a node whose pods have no past.
    fn trends(&self, snapshot: &Snapshot) -> impl Iterator<Item = Option<NodeTrend>> {
        let nodes = self.nodes.iter().zip(&snapshot.nodes);
        nodes.map(|(course, node)| course.has_past.then(|| NodeTrend::of(node, course)))
    }
}

fn add<const N: usize, const M: usize>(sums: &mut [[f64; N]; M], more: &[[f64; N]; M]) {
    let values = sums.as_flattened_mut().iter_mut().zip(more.as_flattened());
    values.for_each(|(sum, value)| *sum += value);
}

/// The trend of a node by resource; `None` for a resource that it does not have.
struct NodeTrend([Option<(Trend, Amount)>; Course::MEASURED.len()]);

impl NodeTrend {
    fn of(node: &Node, course: &NodeCourse) -> Self {
        let constant = [course.constant.cpu, course.constant.memory].map(Amount::as_f64);
        NodeTrend(std::array::from_fn(|position| {
            let whole = node.allocatable[Course::MEASURED[position]].as_f64();
            (whole > 0.0).then(|| {
                let used = course.sums[position].map(|used| used + constant[position]);
                let newest = course.newest[position].map(|used| used / whole);
                let trend = Trend::of(&used.map(|used| used / whole), &newest);
                (trend, Amount::from_f64(trend.error * whole))
            })
        }))
    }

    /// Returns the usage of a pod that is expected after this time.
    fn after(
        &self,
        minutes: f64,
        states: [SeriesState; Course::MEASURED.len()],
        present: Measure,
    ) -> Measure {
        let after = |position: usize, present: Amount| {
            self.0[position].map_or(present, |(trend, _)| {
                Amount::from_f64(trend.after(minutes, states[position]).max(0.0))
            })
        };
        Measure { cpu: after(0, present.cpu), memory: after(1, present.memory) }
    }

    /// Returns the standard deviation of the node's usage from the expectation.
    fn error(&self) -> Measure {
        let [cpu, memory] = self.0.map(|trend| trend.map_or(Amount::ZERO, |(_, error)| error));
        Measure { cpu, memory }
    }
}
