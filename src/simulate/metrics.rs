//! The real usage, and the metrics API, which reports it late and not for every node.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::objects::Name;
use crate::model::usage::{ContainerSet, Measure, Readings, Sample};
use crate::values::{Amount, Ratio};

use super::cluster::{Life, Machine, SimulatedCluster};
use super::load::Moment;
use super::random::mix;
use super::scenario::{Gap, MetricsSettings};

/// The real usage at one time.
pub(super) struct Used<'c> {
    /// Usage by node, without nodes that are down.
    pub(super) nodes: BTreeMap<&'c str, Measure>,
    /// Usage of running pods by name.
    pub(super) pods: Vec<(&'c Name, &'c Life, Measure)>,
}

/// Computes the usage of every node and pod. If the pods of a node demand more cpu than it has,
/// each gets its share. The snapshot must be the current one, because its pods are in the same
/// order.
pub(super) fn used<'c>(cluster: &'c SimulatedCluster, snapshot: &Snapshot) -> Used<'c> {
    let machines: Vec<(&str, &Machine)> = cluster
        .nodes
        .iter()
        .map(|(name, m)| (name.as_str(), m))
        .collect();
    let mut sums: Vec<Measure> = machines.iter().map(|(_, m)| base(m, cluster)).collect();
    let mut pods = Vec::with_capacity(cluster.pods.len());
    for ((name, life), pod) in cluster.pods.iter().zip(&snapshot.pods) {
        let Some(node) = pod
            .node
            .filter(|n| !pod.finished() && machines[n.0].1.down.is_none())
        else {
            continue;
        };
        let Some(load) = &life.template.load else {
            continue;
        };
        let started = life.facts.started.unwrap_or(life.facts.created);
        let used = load.at(Moment {
            elapsed: cluster.elapsed(),
            age: cluster.now.duration_since(started),
            seed: mix(life.serial),
        });
        sums[node.0] = sums[node.0].plus(used);
        pods.push((node, name, life, used));
    }
    // Only cpu is shared: a node short of memory kills pods, which the simulation does not model.
    let crowded: Vec<Option<Ratio>> = machines
        .iter()
        .zip(&sums)
        .map(|((_, m), used)| share(m, used.cpu))
        .collect();
    for (node, _, _, used) in &mut pods {
        if let Some(share) = crowded[node.0] {
            used.cpu = used.cpu.times(share);
        }
    }
    for (sum, share) in sums.iter_mut().zip(&crowded) {
        sum.cpu = share.map_or(sum.cpu, |share| sum.cpu.times(share));
    }
    let up = machines
        .into_iter()
        .zip(sums)
        .filter(|((_, m), _)| m.down.is_none());
    Used {
        nodes: up.map(|((name, _), used)| (name, used)).collect(),
        pods: pods
            .into_iter()
            .map(|(_, name, life, used)| (name, life, used))
            .collect(),
    }
}

/// Returns the usage of a node outside of its pods.
fn base(machine: &Machine, cluster: &SimulatedCluster) -> Measure {
    let moment = Moment {
        elapsed: cluster.elapsed(),
        ..Moment::default()
    };
    machine
        .base
        .as_ref()
        .map_or(Measure::default(), |load| load.at(moment))
}

/// Returns the share of the demand that a node can supply, at most one.
fn share(machine: &Machine, asked: Amount) -> Option<Ratio> {
    let has = machine
        .facts
        .allocatable
        .iter()
        .find(|(name, _)| name == "cpu")?
        .1;
    if asked > has {
        has.share_of(asked)
    } else {
        None
    }
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
    pub(super) fn sample(&mut self, cluster: &SimulatedCluster, used: &Used<'_>) {
        let now = cluster.now;
        if self
            .last
            .is_some_and(|last| now.duration_since(last) < self.rules.resolution)
        {
            return;
        }
        self.last = Some(now);
        let mut taken = std::mem::take(&mut self.outdated);
        self.fill(&mut taken, cluster, used);
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
        self.taken
            .front()
            .filter(|(at, _)| due(*at))
            .map(|(_, taken)| &taken.readings)
    }

    pub(super) fn read(&self, cluster: &SimulatedCluster, used: &Used<'_>) -> Readings {
        let mut taken = Taken::default();
        self.fill(&mut taken, cluster, used);
        taken.readings
    }

    /// Replaces an earlier sample.
    fn fill(&self, taken: &mut Taken, cluster: &SimulatedCluster, used: &Used<'_>) {
        let elapsed = cluster.elapsed();
        // metrics-server computes cpu between two scrapes, so a sample covers one resolution.
        let sample = |used: Measure| Sample {
            at: cluster.now,
            window: self.rules.resolution,
            used,
            containers: ContainerSet::default(),
        };
        let measured = used.nodes.iter().filter(|(node, _)| {
            let machine = cluster.nodes.get(**node);
            !self.gap(node, elapsed) && machine.is_some_and(|m| m.base.is_some())
        });
        // Without a gap now, the nodes of the pods need not be compared.
        let gaps = self.gaps(elapsed).next().is_some();
        let shown = used.pods.iter().filter(|(_, life, _)| {
            let node = life.facts.node.as_deref();
            self.seen(life, cluster.now)
                && (!gaps || node.is_some_and(|node| !self.gap(node, elapsed)))
        });
        taken.readings.nodes = measured
            .map(|(node, used)| ((*node).to_owned(), sample(*used)))
            .collect();
        let serials: Vec<u64> = shown.clone().map(|(_, life, _)| life.serial).collect();
        // Mostly the same pods have a sample, so their names stay.
        if taken.serials == serials {
            let samples = taken.readings.pods.values_mut();
            for (known, (_, _, used)) in samples.zip(shown) {
                *known = sample(*used);
            }
        } else {
            taken.readings.pods = shown
                .map(|(name, _, used)| ((*name).clone(), sample(*used)))
                .collect();
            taken.serials = serials;
        }
    }

    /// Returns true after the second sample of a pod: only then metrics-server reports it.
    fn seen(&self, life: &Life, now: Timestamp) -> bool {
        let started = life.facts.started;
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
