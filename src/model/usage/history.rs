//! Windows of samples, and what they come to.
//!
//! A smoothed node total goes on showing a pod for a whole window after it has left. So a node's usage is composed: the
//! smoothed usage of the pods that are on it now, and the smoothed remainder that no pod accounts for.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

use crate::model::snapshot::facts::Pod as PodFacts;
use crate::model::snapshot::{Node, NodeId, Pod, PodId, Snapshot, WorkloadId};
use crate::policy::UsagePolicy;
use crate::values::{Amount, ResourceId};

use super::{Measure, NodeUsage, PodUsage, Readings, Sample, Unmeasured, Usage, smoothing};

mod beside;
mod typical;
mod window;

use beside::{order, samples, since, strangers};

/// The samples of the last window, per node and per pod.
#[derive(Clone, Debug)]
pub struct History {
    rules: UsagePolicy,
    nodes: BTreeMap<String, NodeSeries>,
    /// By namespace and name, as pods are in a snapshot: the two are walked side by side, for they are long.
    pods: Vec<PodSeries>,
    /// One reading stands for a whole window.
    steady: bool,
}

#[derive(Clone, Debug, Default)]
struct NodeSeries {
    remainders: VecDeque<Remainder>,
    /// The newest sample as it came.
    newest: Option<Sample>,
    /// When a pod was last seen, or is known, to have left.
    left: Option<Timestamp>,
    /// Pods that the newest sample still told of, though they are not there any more.
    guests: BTreeSet<PodName>,
}

/// Namespace and name.
type PodName = (String, String);

/// What a node used at one time that no pod accounted for.
#[derive(Clone, Copy, Debug)]
struct Remainder {
    sample: Sample,
    /// What the node used in all.
    total: Measure,
    /// Every pod of the node had a sample, and none had left while it was taken; otherwise it holds some pod's usage too.
    clean: bool,
}

#[derive(Clone, Debug)]
struct PodSeries {
    /// The pod as it was seen last. A namesake has another uid, and starts anew.
    pod: Arc<PodFacts>,
    node: String,
    samples: VecDeque<Sample>,
}

impl History {
    /// No samples yet.
    pub const fn new(rules: UsagePolicy) -> Self {
        History {
            rules,
            nodes: BTreeMap::new(),
            pods: Vec::new(),
            steady: false,
        }
    }

    /// Takes in one poll. A sample counts once, by the source's own timestamp.
    pub fn record(&mut self, snapshot: &Snapshot, readings: &Readings, now: Timestamp) {
        let samples = samples(snapshot, readings);
        let known = self.record_pods(snapshot, &samples, now);
        self.record_nodes(snapshot, readings, (&samples, &known), now);
        self.prune(now);
    }

    /// Takes one poll for a whole window in which nothing changed, for want of a longer look.
    pub fn record_steady(&mut self, snapshot: &Snapshot, readings: &Readings, now: Timestamp) {
        self.steady = true;
        self.record(snapshot, readings, now);
    }

    /// Takes in that a pod was evicted from a node: after a restart, nothing else tells that the node's next samples
    /// still show it.
    pub fn departed(&mut self, node: &str, at: Timestamp) {
        let series = self.nodes.entry(node.to_owned()).or_default();
        series.left = series.left.max(Some(at));
    }

    /// Adds the samples to their series, and forgets the series of pods that have left. Tells which pods have one.
    fn record_pods(
        &mut self,
        snapshot: &Snapshot,
        samples: &[Option<Sample>],
        now: Timestamp,
    ) -> Vec<bool> {
        let mut known = std::mem::take(&mut self.pods).into_iter().peekable();
        let mut left: Vec<PodSeries> = Vec::new();
        let mut has = vec![false; snapshot.pods.len()];
        self.pods.reserve(snapshot.pods.len());
        for (position, (pod, sample)) in snapshot.pods.iter().zip(samples).enumerate() {
            if pod.finished() {
                continue;
            }
            let mut own = None;
            while let Some(next) = known.next_if(|series| series.order(pod).is_le()) {
                if series_of(&next, pod) {
                    own = Some(next);
                    break;
                }
                left.push(next);
            }
            let found = pod.node.zip(*sample);
            let Some(mut series) = own.or_else(|| found.map(|_| PodSeries::new(pod))) else {
                continue;
            };
            if let Some((node, sample)) = found {
                series.take(pod, &snapshot.node(node).name, sample);
            }
            self.pods.push(series);
            has[position] = true;
        }
        left.extend(known);
        for series in left {
            if let Some(node) = self.nodes.get_mut(&series.node) {
                node.left = node.left.max(Some(now));
            }
        }
        self.nodes
            .retain(|name, _| snapshot.find_node(name).is_some());
        has
    }

    /// The series of each pod of a snapshot.
    fn series(&self, snapshot: &Snapshot) -> Vec<Option<&PodSeries>> {
        let mut known = self.pods.iter().peekable();
        let next = |pod: &Pod| {
            while let Some(next) = known.next_if(|series| series.order(pod).is_le()) {
                if series_of(next, pod) {
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
        readings: &Readings,
        (samples, known): (&[Option<Sample>], &[bool]),
        now: Timestamp,
    ) {
        let strangers = strangers(snapshot, readings, samples);
        for id in snapshot.node_ids() {
            let node = snapshot.node(id);
            let Some(sample) = readings.nodes.get(&node.name) else {
                continue;
            };
            // What had not begun when the sample was taken is no part of it.
            let there = || {
                node.pods
                    .iter()
                    .filter(|p| since(snapshot.pod(**p)) <= sample.at)
            };
            // Of those that are not there any more, what was seen with the node's sample is a part of it.
            let with_it = |s: &Sample| {
                s.at.saturating_add(sample.window)
                    .is_ok_and(|until| until >= sample.at)
            };
            let told = strangers.get(node.name.as_str()).into_iter().flatten();
            let guests: BTreeMap<_, _> = told
                .filter(|(_, s)| with_it(s))
                .map(|(pod, s)| (*pod, *s))
                .collect();
            let seen = there()
                .filter_map(|p| samples[p.0])
                .chain(guests.values().copied());
            let accounted = seen.fold(Measure::default(), |sum, s| sum.plus(s.used));
            // A pod that no source tells of and that is old adds nothing to its node but as part of the remainder.
            let adds = |p: &&PodId| {
                let pod = snapshot.pod(**p);
                pod.stays() && (self.too_new(pod, now) || known[p.0])
            };
            let all_seen = there().filter(adds).all(|p| samples[p.0].is_some());
            let series = self.nodes.entry(node.name.clone()).or_default();
            if series
                .remainders
                .back()
                .is_some_and(|last| last.sample.at >= sample.at)
            {
                continue;
            }
            series.newest = Some(*sample);
            if series
                .guests
                .iter()
                .any(|guest| !guests.contains_key(guest))
            {
                series.left = series.left.max(Some(sample.at));
            }
            series.guests = guests.into_keys().cloned().collect();
            let began = sample.at.saturating_sub(sample.window).unwrap_or(sample.at);
            let settled = series.left.is_none_or(|left| began >= left);
            let left = Sample {
                used: sample.used.minus(accounted),
                ..*sample
            };
            series.remainders.push_back(Remainder {
                sample: left,
                total: sample.used,
                clean: all_seen && settled,
            });
        }
    }

    fn prune(&mut self, now: Timestamp) {
        let Ok(start) = now.checked_sub(self.rules.window) else {
            return;
        };
        // The newest sample stays however old it is: it tells how stale the series is.
        for series in &mut self.pods {
            while series.samples.len() > 1 && series.samples[0].at < start {
                series.samples.pop_front();
            }
        }
        for series in self.nodes.values_mut() {
            while series.remainders.len() > 1 && series.remainders[0].sample.at < start {
                series.remainders.pop_front();
            }
        }
    }

    /// What nodes and pods of this snapshot use, as far as the window tells.
    pub fn usage(&self, snapshot: &Snapshot, now: Timestamp) -> Usage {
        let series = self.series(snapshot);
        let known: Vec<Result<Measure, Unmeasured>> =
            series.iter().map(|s| self.known_pod(*s, now)).collect();
        let typical = typical::by_workload(snapshot, &known);
        let pods = snapshot.pods.iter().zip(&known).zip(&series);
        let pods: Vec<PodUsage> = pods
            .map(|((pod, known), own)| self.pod_usage(pod, (*known, *own), &typical, now))
            .collect();
        let nodes = snapshot
            .node_ids()
            .map(|id| self.node_usage(snapshot, id, &pods, now))
            .collect();
        let newest = |node: &Node| self.nodes.get(&node.name).and_then(|series| series.newest);
        let readings = snapshot
            .nodes
            .iter()
            .map(|n| newest(n).map(|sample| sample.used))
            .collect();
        Usage {
            nodes,
            pods,
            readings,
        }
    }

    fn known_pod(&self, series: Option<&PodSeries>, now: Timestamp) -> Result<Measure, Unmeasured> {
        let series = series.ok_or(Unmeasured::Missing)?;
        self.judge(series.samples.iter().copied(), now)
    }

    fn pod_usage(
        &self,
        pod: &Pod,
        (known, own): (Result<Measure, Unmeasured>, Option<&PodSeries>),
        typical: &BTreeMap<WorkloadId, Measure>,
        now: Timestamp,
    ) -> PodUsage {
        let why = match known {
            Ok(used) => return PodUsage::Known(used),
            Err(why) => why,
        };
        let own = own.map(|s| self.smooth(s.samples.iter().copied(), now));
        if !self.too_new(pod, now) {
            return PodUsage::Unknown(why, own.unwrap_or_default());
        }
        let sibling = pod.workload.and_then(|w| typical.get(&w).copied());
        let request = Measure {
            cpu: pod.requests[ResourceId::CPU],
            memory: pod.requests[ResourceId::MEMORY],
        };
        PodUsage::Estimated(sibling.or(own).unwrap_or(request))
    }

    /// Whether it has not run for a whole window.
    fn too_new(&self, pod: &Pod, now: Timestamp) -> bool {
        now.duration_since(pod.started.unwrap_or(pod.created)) < self.rules.window
    }

    fn node_usage(
        &self,
        snapshot: &Snapshot,
        id: NodeId,
        pods: &[PodUsage],
        now: Timestamp,
    ) -> NodeUsage {
        let node = snapshot.node(id);
        let remainder = match self
            .nodes
            .get(&node.name)
            .map(|series| self.remainder(series, now))
        {
            Some(Ok(remainder)) => remainder,
            Some(Err(why)) => return NodeUsage::Unknown(why),
            None => return NodeUsage::Unknown(Unmeasured::Missing),
        };
        let staying = node.pods.iter().filter(|p| snapshot.pod(**p).stays());
        let by_pods = staying
            .map(|p| pods[p.0].on_node())
            .fold(Measure::default(), Measure::plus);
        NodeUsage::Known(by_pods.plus(remainder))
    }

    /// Smoothed over the clean samples. Where a whole window has too few of them, as on a node where pods come and go all
    /// the time, the least of all samples: each of the others is too large.
    fn remainder(&self, series: &NodeSeries, now: Timestamp) -> Result<Measure, Unmeasured> {
        let all = || series.remainders.iter().map(|r| r.sample);
        let clean = || {
            series
                .remainders
                .iter()
                .filter(|r| r.clean)
                .map(|r| r.sample)
        };
        self.fresh(all(), now)?;
        let few = match self.enough(clean()) {
            Ok(()) => return Ok(self.smooth(clean(), now)),
            Err(few) => few,
        };
        let reach = |oldest: Sample| {
            now.duration_since(oldest.at)
                .saturating_add(self.rules.poll)
        };
        let covered = all()
            .next()
            .is_some_and(|oldest| reach(oldest) >= self.rules.window);
        if !covered && !self.steady {
            return Err(few);
        }
        let least = |of: fn(Measure) -> Amount| all().map(|s| of(s.used)).min().unwrap_or_default();
        Ok(Measure {
            cpu: least(|m| m.cpu),
            memory: least(|m| m.memory),
        })
    }

    fn judge(
        &self,
        samples: impl Iterator<Item = Sample> + Clone,
        now: Timestamp,
    ) -> Result<Measure, Unmeasured> {
        self.fresh(samples.clone(), now)?;
        self.enough(samples.clone())?;
        Ok(self.smooth(samples, now))
    }

    fn fresh(
        &self,
        samples: impl Iterator<Item = Sample>,
        now: Timestamp,
    ) -> Result<(), Unmeasured> {
        let age = now.duration_since(samples.last().ok_or(Unmeasured::Missing)?.at);
        if age > self.rules.stale_after {
            return Err(Unmeasured::Stale(age));
        }
        if age < -self.rules.stale_after {
            Err(Unmeasured::Future(-age))
        } else {
            Ok(())
        }
    }

    fn enough(&self, samples: impl Iterator<Item = Sample>) -> Result<(), Unmeasured> {
        let have = u32::try_from(samples.count()).unwrap_or(u32::MAX);
        let need = if self.steady {
            1
        } else {
            self.rules.min_samples
        };
        if have < need {
            Err(Unmeasured::Few { have, need })
        } else {
            Ok(())
        }
    }

    fn smooth(&self, samples: impl Iterator<Item = Sample>, now: Timestamp) -> Measure {
        smoothing::smooth(samples, self.rules.smoothing, now)
    }
}

impl PodSeries {
    fn new(pod: &Pod) -> Self {
        PodSeries {
            pod: Arc::clone(pod.facts()),
            node: String::new(),
            samples: VecDeque::new(),
        }
    }

    /// How it stands to a pod, by namespace and name. Mostly nothing has been heard of the pod since.
    fn order(&self, pod: &Pod) -> Ordering {
        if Arc::ptr_eq(&self.pod, pod.facts()) {
            return Ordering::Equal;
        }
        order((self.pod.namespace.as_str(), self.pod.name.as_str()), pod)
    }

    fn take(&mut self, pod: &Pod, node: &str, sample: Sample) {
        if self.node.is_empty() || !Arc::ptr_eq(&self.pod, pod.facts()) {
            self.pod = Arc::clone(pod.facts());
            node.clone_into(&mut self.node);
        }
        if self.samples.back().is_none_or(|last| last.at < sample.at) {
            self.samples.push_back(sample);
        }
    }
}

/// Whether it is the pod's own series, and not that of a namesake.
fn series_of(series: &PodSeries, pod: &Pod) -> bool {
    Arc::ptr_eq(&series.pod, pod.facts())
        || (series.order(pod).is_eq() && series.pod.uid == pod.uid)
}

impl PodUsage {
    /// What it adds to its node: what was last known, where nothing newer is.
    const fn on_node(self) -> Measure {
        match self {
            PodUsage::Known(used) | PodUsage::Estimated(used) | PodUsage::Unknown(_, used) => used,
        }
    }
}
