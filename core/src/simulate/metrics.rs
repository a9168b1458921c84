//! The real usage, and the metrics API, which reports it late and not for every node.

use std::collections::VecDeque;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::Snapshot;
use crate::model::usage::{ContainerSet, Measure, Readings, Sample};
use crate::values::{Amount, Ratio, value_of};

use super::cluster::{Machine, RunningPod, SimulatedCluster};
use super::load::Moment;
use super::random::mix;
use super::scenario::{Gap, MetricsSettings};

/// The real usage at one time.
pub(super) struct Used {
    /// Usage by position of the node; `None` for nodes that are down.
    pub(super) nodes: Vec<Option<Measure>>,
    /// Usage of the running pods, in their order.
    pub(super) pods: Vec<Measure>,
    pub(super) running: Rc<[RunningPod]>,
}

impl RunningPod {
    fn used(&self, cluster: &SimulatedCluster) -> Measure {
        let started = self.started.unwrap_or(self.created);
        let load = self.template.load.as_ref();
        load.map_or(Measure::default(), |load| {
            load.at(Moment {
                elapsed: cluster.elapsed(),
                age: cluster.now.duration_since(started),
                seed: mix(self.serial),
            })
        })
    }
}

/// Computes the usage of every node and pod. If the pods of a node demand more cpu than it has,
/// each gets its share. The snapshot must be the current one.
pub(super) fn used(cluster: &mut SimulatedCluster, snapshot: &Snapshot) -> Used {
    let running = cluster.running(snapshot);
    let machines: Vec<&Machine> = cluster.nodes.values().collect();
    let mut nodes: Vec<Measure> = machines.iter().map(|m| base(m, cluster)).collect();
    let mut pods: Vec<Measure> = running.iter().map(|pod| pod.used(cluster)).collect();
    for (pod, used) in running.iter().zip(&pods) {
        nodes[pod.node.0] = nodes[pod.node.0].plus(*used);
    }
    // Only cpu is shared: a node short of memory kills pods, which the simulation does not model.
    let crowded = machines.iter().zip(&nodes);
    let crowded: Vec<Option<Ratio>> = crowded.map(|(m, used)| share(m, used.cpu)).collect();
    for (pod, used) in running.iter().zip(&mut pods) {
        if let Some(share) = crowded[pod.node.0] {
            used.cpu = used.cpu.times(share);
        }
    }
    for (sum, share) in nodes.iter_mut().zip(&crowded) {
        sum.cpu = share.map_or(sum.cpu, |share| sum.cpu.times(share));
    }
    let up = machines.into_iter().zip(nodes);
    Used { nodes: up.map(|(m, used)| m.down.is_none().then_some(used)).collect(), pods, running }
}

/// Returns the usage of a node outside of its pods.
fn base(machine: &Machine, cluster: &SimulatedCluster) -> Measure {
    let moment = Moment { elapsed: cluster.elapsed(), ..Moment::default() };
    machine.base.as_ref().map_or(Measure::default(), |load| load.at(moment))
}

/// Returns the share of the demand that a node can supply, at most one.
fn share(machine: &Machine, asked: Amount) -> Option<Ratio> {
    let has = value_of(&machine.facts.allocatable, "cpu")?;
    if asked > has { has.share_of(asked) } else { None }
}

/// The metrics API: takes samples and reports them late.
pub(super) struct SimulatedMetricsApi {
    rules: MetricsSettings,
    taken: VecDeque<(Timestamp, Taken)>,
    last: Option<Timestamp>,
    /// An old sample, whose names are used again for the next one.
    outdated: Taken,
}

/// A sample of everything.
#[derive(Default)]
struct Taken {
    readings: Readings,
    /// The serial number of each of its pods.
    serials: Vec<u64>,
}

impl SimulatedMetricsApi {
    pub(super) fn new(rules: MetricsSettings) -> Self {
        SimulatedMetricsApi {
            rules,
            taken: VecDeque::new(),
            last: None,
            outdated: Taken::default(),
        }
    }

    /// Takes a sample if one is due.
    pub(super) fn sample(&mut self, cluster: &SimulatedCluster, snapshot: &Snapshot, used: &Used) {
        let now = cluster.now;
        if self.last.is_some_and(|last| now.duration_since(last) < self.rules.resolution) {
            return;
        }
        self.last = Some(now);
        let mut taken = std::mem::take(&mut self.outdated);
        self.fill(&mut taken, cluster, snapshot, used);
        self.taken.push_back((now, taken));
    }

    /// Returns what the API reports now: the newest sample that is older than the delay.
    pub(super) fn newest(&mut self, now: Timestamp) -> Option<&Readings> {
        let due = |at: Timestamp| now.duration_since(at) >= self.rules.delay;
        // The front stays until its successor is due, because it is the newest sample that may be
        // shown.
        while self.taken.get(1).is_some_and(|(at, _)| due(*at)) {
            if let Some((_, taken)) = self.taken.pop_front() {
                self.outdated = taken;
            }
        }
        self.taken.front().filter(|(at, _)| due(*at)).map(|(_, taken)| &taken.readings)
    }

    pub(super) fn read(
        &self,
        cluster: &SimulatedCluster,
        snapshot: &Snapshot,
        used: &Used,
    ) -> Readings {
        let mut taken = Taken::default();
        self.fill(&mut taken, cluster, snapshot, used);
        taken.readings
    }

    /// Replaces an earlier sample.
    fn fill(
        &self,
        taken: &mut Taken,
        cluster: &SimulatedCluster,
        snapshot: &Snapshot,
        used: &Used,
    ) {
        let elapsed = cluster.elapsed();
        // metrics-server computes cpu between two scrapes, so a sample covers one resolution.
        let sample = |used: Measure| Sample {
            at: cluster.now,
            window: self.rules.resolution,
            used,
            containers: ContainerSet::default(),
        };
        let machines = cluster.nodes.iter().zip(&used.nodes);
        let measured = machines.filter_map(|((name, machine), used)| {
            let is_measured = machine.base.is_some() && !self.gap(name, elapsed);
            Some((name.clone(), sample((*used).filter(|_| is_measured)?)))
        });
        taken.readings.nodes = measured.collect();
        // Without a gap now, the nodes of the pods need not be compared.
        let gaps = self.gaps(elapsed).next().is_some();
        let pods = used.running.iter().zip(&used.pods);
        let shown = pods.filter(|(pod, _)| {
            self.seen(pod, cluster.now)
                && (!gaps || !self.gap(&snapshot.node(pod.node).name, elapsed))
        });
        let serials: Vec<u64> = shown.clone().map(|(pod, _)| pod.serial).collect();
        // Mostly the same pods have a sample, so their names stay.
        if taken.serials == serials {
            let samples = taken.readings.pods.values_mut();
            for (known, (_, used)) in samples.zip(shown) {
                *known = sample(*used);
            }
            return;
        }
        let name = |pod: &RunningPod| {
            let pod = snapshot.pod(pod.pod);
            (pod.namespace.clone(), pod.name.clone())
        };
        taken.readings.pods = shown.map(|(pod, used)| (name(pod), sample(*used))).collect();
        taken.serials = serials;
    }

    /// Returns true after the second sample of a pod: only then metrics-server reports it.
    fn seen(&self, pod: &RunningPod, now: Timestamp) -> bool {
        let started = pod.started;
        started.is_some_and(|at| now.duration_since(at) >= self.rules.resolution)
    }

    fn gap(&self, node: &str, elapsed: SignedDuration) -> bool {
        self.gaps(elapsed)
            .any(|gap| gap.nodes.is_empty() || gap.nodes.iter().any(|name| name == node))
    }

    /// Returns the gaps at this time.
    fn gaps(&self, elapsed: SignedDuration) -> impl Iterator<Item = &Gap> {
        let gaps = self.rules.gaps.iter();
        gaps.filter(move |gap| (gap.from..gap.until).contains(&elapsed))
    }
}
