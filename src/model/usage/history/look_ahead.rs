//! Usage that is expected in the next half hour, by the trend of each node.

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::{Node, PodId, Snapshot};
use crate::model::usage::{Measure, Outlook, PodUsage, PresentUsage, Usage};
use crate::values::{Amount, ResourceId};

use super::History;
use super::course::{Course, Periods};
use super::expectation::ExpectedUsage;
use super::node_usage::{BesidePods, with_pods};
use super::series::PodSeries;
use super::trend::Trend;

/// The resources that have a trend.
const MEASURED: [ResourceId; 2] = [ResourceId::CPU, ResourceId::MEMORY];

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
        let mut case = Case {
            snapshot,
            present,
            series,
            now,
            // The mean of a period that begins now is the value in its middle.
            minutes: ahead.as_secs_f64() / 60.0 / 2.0,
            expected: present.to_vec(),
        };
        let errors = snapshot
            .nodes
            .iter()
            .map(|node| case.add_node(node))
            .collect();
        LookAhead {
            pods: case.expected,
            errors,
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
    usage.present = Some(Box::new(PresentUsage {
        ahead,
        nodes,
        pods,
        outlook,
    }));
}

struct Case<'c> {
    snapshot: &'c Snapshot,
    present: &'c [PodUsage],
    series: &'c [Option<&'c PodSeries>],
    now: Timestamp,
    minutes: f64,
    expected: Vec<PodUsage>,
}

impl Case<'_> {
    /// Adds the pods of a node. Returns how far its usage may be from the expectation; `None` if
    /// the pods have no past, as with one reading.
    fn add_node(&mut self, node: &Node) -> Option<Measure> {
        let mut courses = node.pods.iter().filter_map(|pod| self.course(*pod));
        if !courses.any(Course::has_past) {
            return None;
        }
        let [cpu, memory] = MEASURED.map(|resource| self.add_resource(node, resource));
        Some(Measure { cpu, memory })
    }

    fn add_resource(&mut self, node: &Node, resource: ResourceId) -> Amount {
        let whole = node.allocatable[resource].as_f64();
        if whole <= 0.0 {
            return Amount::ZERO;
        }
        let courses: Vec<(PodId, Option<Periods>)> = node
            .pods
            .iter()
            .map(|pod| (*pod, self.shares(*pod, resource, whole)))
            .collect();
        let trend = Trend::of(&self.sum(&courses, resource, whole));
        for (pod, course) in courses {
            if let (Some(course), PodUsage::Known(used)) = (course, &mut self.expected[pod.0]) {
                let share = trend.after(self.minutes, &course);
                *part(used, resource) = Amount::from_f64((share * whole).max(0.0));
            }
        }
        Amount::from_f64(trend.error * whole)
    }

    /// The course of a pod in shares of its node; `None` if its usage is not known.
    fn shares(&self, pod: PodId, resource: ResourceId, whole: f64) -> Option<Periods> {
        let periods = self.course(pod)?.periods(resource, self.now)?;
        Some(periods.map(|used| used / whole))
    }

    fn course(&self, pod: PodId) -> Option<&Course> {
        let known = matches!(self.present[pod.0], PodUsage::Known(_));
        self.series[pod.0].filter(|_| known)?.samples.course()
    }

    /// The course of the node, if the pods that stay had been on it all the time.
    fn sum(
        &self,
        courses: &[(PodId, Option<Periods>)],
        resource: ResourceId,
        whole: f64,
    ) -> Periods {
        let mut sum = [0.0; Course::PERIODS];
        for (pod, course) in courses {
            if !self.snapshot.pod(*pod).stays() {
                continue;
            }
            let present = part(&mut self.present[pod.0].on_node(), resource).as_f64() / whole;
            let course = course.unwrap_or([present; Course::PERIODS]);
            sum.iter_mut()
                .zip(course)
                .for_each(|(sum, share)| *sum += share);
        }
        sum
    }
}

/// The part of a measure that is of this resource.
fn part(used: &mut Measure, resource: ResourceId) -> &mut Amount {
    if resource == ResourceId::MEMORY {
        &mut used.memory
    } else {
        &mut used.cpu
    }
}
