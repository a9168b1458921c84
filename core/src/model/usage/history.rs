//! Windows of samples, and the usage computed from them.
//!
//! A smoothed node total would show a pod for a whole window after it has left. A node's usage is
//! therefore the sum of the smoothed usage of its current pods and the smoothed remainder that
//! belongs to no pod.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::model::snapshot::facts::PodPhase;
use crate::model::snapshot::{Node, Pod, PodId, Snapshot, WorkloadId};
use crate::policy::UsagePolicy;

use super::{Hindsight, Measure, PodUsage, Readings, Sample, Unmeasured, Usage};

mod alignment;
mod changes;
mod collected;
mod course;
mod enough;
mod samples;
mod expectation;
mod look_ahead;
mod plausible;
mod series;
mod totals;
mod trend;
mod node_usage;
mod typical;
mod vacant;
mod window;

pub use samples::PodSamples;

use alignment::{PodName, PodReadings, departed_pods, name_of};
use changes::PodSeriesChanges;
use node_usage::with_pods;
use plausible::{Plausibility, is_of};
use series::{NodeSeries, PodSeries};
use vacant::{Departed, Vacancies};

/// The samples of the last window by node and by pod.
#[derive(Clone, Debug)]
pub struct History {
    rules: UsagePolicy,
    nodes: BTreeMap<String, NodeSeries>,
    /// In the order of the pods in a snapshot, so that both can be joined in one pass.
    pods: Vec<PodSeries>,
    /// Whether one reading counts as a whole window.
    steady: bool,
    /// Pods that have left and have not been replaced yet.
    vacant: Vacancies,
    hindsight: Hindsight,
}

impl History {
    /// Creates a history without samples.
    pub fn new(rules: UsagePolicy) -> Self {
        History {
            rules,
            nodes: BTreeMap::new(),
            pods: Vec::new(),
            steady: false,
            vacant: Vacancies::default(),
            hindsight: Hindsight::default(),
        }
    }

    /// Replaces the rules. Samples outside a shorter window are dropped with the next poll.
    pub fn change_rules(&mut self, rules: UsagePolicy) {
        self.rules = rules;
    }

    /// Records one poll. A sample counts once, identified by the source's timestamp.
    pub fn record(&mut self, snapshot: &Snapshot, readings: &Readings, now: Timestamp) {
        let rules = Plausibility {
            readings,
            now,
            ahead: self.rules.stale_after,
            every: self.rules.every_sample,
        };
        let pods = PodReadings::new(snapshot, readings, |pod, sample| {
            rules.check_pod(snapshot, pod, sample)
        });
        let newest = self.record_pods(snapshot, &pods, now);
        self.record_nodes(snapshot, &rules, &pods, &newest, now);
        self.prune(now);
    }

    /// Records one poll as if it were a whole constant window, for commands that poll only once.
    pub fn record_steady(&mut self, snapshot: &Snapshot, readings: &Readings, now: Timestamp) {
        self.steady = true;
        self.record(snapshot, readings, now);
    }

    /// Records that a pod was evicted from a node. After a restart, nothing else shows that the
    /// node's next samples still include the pod.
    pub fn departed(&mut self, node: &str, at: Timestamp) {
        let series = self.nodes.entry(node.to_owned()).or_default();
        series.left = series.left.max(Some(at));
    }

    /// Returns how right the expectations of the last hour were.
    pub const fn hindsight(&self) -> &Hindsight {
        &self.hindsight
    }

    /// Adds samples to their series and drops the series of pods that have left. Returns the time
    /// of the newest sample of each pod.
    fn record_pods(
        &mut self,
        snapshot: &Snapshot,
        readings: &PodReadings,
        now: Timestamp,
    ) -> Vec<Option<Timestamp>> {
        // Series and pods have the same order, so one pass joins them without a map of names.
        let mut known = PodSeriesChanges::new(std::mem::take(&mut self.pods));
        let mut newest = vec![None; snapshot.pods.len()];
        for (position, (pod, sample)) in snapshot.pods.iter().zip(&readings.samples).enumerate() {
            if pod.finished() {
                continue;
            }
            let found = pod.node.zip(*sample);
            let flaw = readings.flaws.get(&position).filter(|_| pod.node.is_some());
            let Some(series) = known.of(pod, found.is_some() || flaw.is_some()) else {
                continue;
            };
            series.flaw = flaw.cloned().map(Box::new);
            if let Some((node, sample)) = found {
                let node = &snapshot.node(node).name;
                if series.take(pod, node, sample, &self.rules) {
                    series.go_on(&mut self.vacant, now);
                    let starting = self.is_starting(pod, series, now);
                    if let Some(ended) = series.learn(sample, &self.rules, starting) {
                        self.hindsight.add(ended);
                    }
                }
            }
            newest[position] = series.samples.span().map(|(_, newest)| newest);
        }
        let left;
        (self.pods, left) = known.finish();
        for series in left {
            if let Some(node) = self.nodes.get_mut(&series.node) {
                // Samples that began before now may still include the departed pod.
                node.left = node.left.max(Some(now));
            }
            self.vacant.keep(&series.pod, Departed { left: now, rhythm: series.rhythm });
        }
        // Mostly all nodes stay, and both are sorted by name.
        let names = snapshot.nodes.iter().map(|node| &node.name);
        if !self.nodes.keys().eq(names) {
            self.nodes.retain(|name, _| snapshot.find_node(name).is_some());
        }
        newest
    }

    /// Returns the series of each pod of a snapshot.
    fn series(&self, snapshot: &Snapshot) -> Vec<Option<&PodSeries>> {
        let mut known = self.pods.iter().peekable();
        let next = |pod: &Pod| {
            while let Some(next) = known.next_if(|series| series.order(pod).is_le()) {
                if next.belongs_to(pod) {
                    return Some(next);
                }
            }
            None
        };
        snapshot.pods.iter().map(next).collect()
    }

    fn record_nodes(
        &mut self,
        snapshot: &Snapshot,
        rules: &Plausibility<'_>,
        pods: &PodReadings,
        newest: &[Option<Timestamp>],
        now: Timestamp,
    ) {
        let departed = departed_pods(snapshot, rules.readings, &pods.since);
        for node in &snapshot.nodes {
            if !self.rules.every_sample {
                self.forget_predecessor(node);
            }
            let sample = match rules.node(node) {
                Ok(Some(sample)) => sample,
                unusable => {
                    self.set_flaw(&node.name, unusable.err());
                    continue;
                }
            };
            // The node sample still includes pods that the watch has already removed.
            let guests = guests(departed.get(node.name.as_str()), &sample);
            // Pods that existed when the sample was taken, so that they are part of it.
            let present = node.pods.iter().filter(|id| pods.since[id.0] <= sample.at);
            let (lost, present): (Vec<PodId>, Vec<PodId>) = present
                .partition(|id| self.is_lost(snapshot.pod(**id), newest[id.0], sample.at, now));
            let of_pods = present
                .iter()
                .filter_map(|id| pods.samples[id.0])
                .chain(guests.values().copied())
                .fold(Measure::default(), |sum, s| sum.plus(s.used));
            let complete = present
                .iter()
                .filter(|id| pods.samples[id.0].is_none())
                .all(|id| !self.should_have_sample(snapshot.pod(*id), newest[id.0], now));
            let series = self.nodes.entry(node.name.clone()).or_default();
            series.lose(lost.into_iter().map(|id| name_of(snapshot.pod(id))).collect());
            series.take(sample, of_pods, guests.into_keys(), complete);
            if self.rules.every_sample {
                series.collect(sample.used, now);
            }
        }
    }

    /// Drops the samples of an earlier node of the same name.
    fn forget_predecessor(&mut self, node: &Node) {
        let series = self.nodes.get(&node.name);
        let newest = series.and_then(|series| series.newest);
        if newest.is_some_and(|sample| !is_of(node, &sample)) {
            self.nodes.remove(&node.name);
        }
    }

    /// Notes why the newest sample of a node is not used. Without a sample there is no such reason.
    fn set_flaw(&mut self, node: &str, flaw: Option<Unmeasured>) {
        match (self.nodes.get_mut(node), flaw) {
            (Some(series), flaw) => series.flaw = flaw,
            (None, Some(flaw)) => {
                let series = self.nodes.entry(node.to_owned()).or_default();
                series.flaw = Some(flaw);
            }
            (None, None) => {}
        }
    }

    /// Returns true if a missing sample of the pod makes its node's remainder too large. An old pod
    /// that the source never measured is always part of the remainder, and one that does not run
    /// yet is part of nothing.
    fn should_have_sample(&self, pod: &Pod, newest: Option<Timestamp>, now: Timestamp) -> bool {
        pod.stays() && (self.is_new(pod, now) || newest.is_some())
    }

    /// Returns true if the pod was measured once, and not since long before this sample of its
    /// node. Like a pod that was never measured, it is then part of the remainder.
    fn is_lost(
        &self,
        pod: &Pod,
        newest: Option<Timestamp>,
        sample: Timestamp,
        now: Timestamp,
    ) -> bool {
        let is_old = |newest| sample.duration_since(newest) > self.rules.stale_after;
        newest.is_some_and(is_old) && pod.stays() && !self.is_new(pod, now)
    }

    fn prune(&mut self, now: Timestamp) {
        self.vacant.prune(now);
        let Ok(start) = now.checked_sub(self.rules.window) else {
            return;
        };
        for series in &mut self.pods {
            series.samples.prune(self.rules.window);
        }
        for series in self.nodes.values_mut() {
            series.prune(start, self.rules.min_samples);
        }
    }

    /// Computes the usage of the nodes and pods of this snapshot from the window.
    pub fn usage(&self, snapshot: &Snapshot, now: Timestamp) -> Usage {
        let series = self.series(snapshot);
        let own = snapshot.pods.iter().zip(&series);
        let known =
            own.map(|(pod, own)| self.known_pod(own.filter(|own| self.counts(pod, own, now)), now));
        let known: Vec<Result<Measure, Unmeasured>> = known.collect();
        // Measured pods first, because new pods get the typical usage of their siblings.
        let typical = typical::by_workload(snapshot, &known);
        let pods = snapshot.pods.iter().zip(known).zip(&series);
        let pods: Vec<PodUsage> = pods
            .map(|((pod, known), own)| self.pod_usage(snapshot, pod, known, *own, &typical, now))
            .collect();
        let beside = self.beside_pods(snapshot, &pods, now);
        let nodes = with_pods(snapshot, &beside, &pods);
        let readings = snapshot.nodes.iter().map(|n| self.reading(n)).collect();
        let collected = snapshot.nodes.iter().map(|n| self.collected(n)).collect();
        let deviations = series.iter().map(|own| deviation(*own)).collect();
        let mut usage = Usage { nodes, pods, deviations, readings, collected, ..Usage::default() };
        self.expect(snapshot, &mut usage, &series, &beside, now);
        usage
    }

    /// Returns true if the samples of the pod say something about its usage.
    fn counts(&self, pod: &Pod, own: &PodSeries, now: Timestamp) -> bool {
        self.rules.every_sample || !(is_creating(pod) || self.is_starting(pod, own, now))
    }

    fn known_pod(&self, series: Option<&PodSeries>, now: Timestamp) -> Result<Measure, Unmeasured> {
        let series = series.ok_or(Unmeasured::Missing)?;
        let newest = series.samples.span().map(|(_, newest)| newest);
        self.fresh(newest, series.flaw.as_deref(), now)?;
        self.enough(series.samples.len())?;
        Ok(self.smooth_pod(&series.samples))
    }

    fn pod_usage(
        &self,
        snapshot: &Snapshot,
        pod: &Pod,
        known: Result<Measure, Unmeasured>,
        own: Option<&PodSeries>,
        typical: &BTreeMap<WorkloadId, Measure>,
        now: Timestamp,
    ) -> PodUsage {
        let why = match known {
            Ok(used) => return PodUsage::Known(used),
            Err(why) => why,
        };
        let is_counted = own.is_none() && self.is_in_node_samples(snapshot, pod);
        let own = own.filter(|own| !self.is_starting(pod, own, now));
        let own = own.map(|s| self.smooth_pod(&s.samples));
        let creating = is_creating(pod);
        if (is_counted || !self.is_new(pod, now)) && !creating {
            let own = own.filter(|_| !self.is_in_remainder(snapshot, pod));
            return PodUsage::Unknown(why, own.unwrap_or_default());
        }
        // Siblings are the best guess: a new pod starts under the same load. The request is the
        // last resort.
        let sibling = pod.workload.and_then(|w| typical.get(&w).copied());
        let request = Measure::from_all(&pod.requests);
        // One whose init container or sidecar is measured has more to start.
        let starts_slowly = creating && (own.is_some() || !self.is_new(pod, now));
        match sibling.or(own) {
            // A pod that takes long to start may be unlike its siblings.
            Some(guess) if starts_slowly => PodUsage::Assumed(guess.max(request)),
            Some(guess) => PodUsage::Estimated(guess),
            None => PodUsage::Assumed(request),
        }
    }

    /// Returns true if the pod is measured no more, and its node's remainder includes it.
    fn is_in_remainder(&self, snapshot: &Snapshot, pod: &Pod) -> bool {
        let node = pod.node.map(|node| &snapshot.node(node).name);
        let series = node.and_then(|node| self.nodes.get(node));
        series.is_some_and(|series| series.lost.contains(&name_of(pod)))
    }

    /// Returns true if the pod has run for less than a whole window, counted from the start of its
    /// containers if that is known. The kubelet may have accepted it long before.
    fn is_new(&self, pod: &Pod, now: Timestamp) -> bool {
        let accepted = pod.started.unwrap_or(pod.created);
        let start = pod.running_since.map_or(accepted, |at| at.max(accepted));
        now.duration_since(start) < self.rules.window
    }

    /// Returns true if the pod has just started, and nothing is known of it from before. Many
    /// programs need much cpu to start, so what it uses now says little.
    fn is_starting(&self, pod: &Pod, own: &PodSeries, now: Timestamp) -> bool {
        let follows = !self.steady && self.rules.look_ahead().is_some();
        follows && own.is_first() && self.is_new(pod, now)
    }

    /// Returns the newest sample of a node.
    fn reading(&self, node: &Node) -> Option<Measure> {
        let newest = self.nodes.get(&node.name)?.newest?;
        Some(newest.used)
    }

    /// Returns the average that descheduler would have of a node.
    fn collected(&self, node: &Node) -> Option<Measure> {
        Some(self.nodes.get(&node.name)?.collected?.mean())
    }
}

/// Returns true if the pod is on a node and does not run yet, because its images are being pulled,
/// its volumes attached or its init containers run. Its samples say nothing about its usage.
fn is_creating(pod: &Pod) -> bool {
    pod.node.is_some() && pod.phase == PodPhase::Pending && !pod.ready
}

/// Returns how much the usage of a pod varies around its average.
fn deviation(own: Option<&PodSeries>) -> Measure {
    own.map_or_else(Measure::default, |s| s.samples.average().deviation())
}

/// Returns the departed pods that are still part of the node's sample, because their own samples
/// are as new.
fn guests<'r>(
    departed: Option<&Vec<(&'r PodName, Sample)>>,
    sample: &Sample,
) -> BTreeMap<&'r PodName, Sample> {
    let departed = departed.into_iter().flatten().copied();
    departed.filter(|(_, own)| own.reaches(sample.at)).collect()
}
