//! Lays the answers to all queries beside each other: what was used by which node and pod, and when that was taken.
//!
//! A figure counts only where cpu, memory and time are there. What is told twice and differently is taken with care: the
//! larger use, the earlier time. What is told of several clusters is not taken at all.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::error_text::said;
use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::{Measure, Readings, Sample};
use crate::policy;
use crate::values::Amount;

use super::answer::{Answer, Labels, Series};
use super::trouble::Trouble;

/// No machine has so many cores, and none so many bytes of memory: a query that gives more gives something else.
const MOST_CORES: f64 = 1e6;
const MOST_BYTES: f64 = 1e18;

/// What a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Set {
    NodeCpu,
    NodeMemory,
    NodeTime,
    PodCpu,
    PodMemory,
    PodTime,
}

impl Set {
    /// Its name in the policy.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Set::NodeCpu => "nodeCpu",
            Set::NodeMemory => "nodeMemory",
            Set::NodeTime => "nodeTime",
            Set::PodCpu => "podCpu",
            Set::PodMemory => "podMemory",
            Set::PodTime => "podTime",
        }
    }

    const fn of_pods(self) -> bool {
        matches!(self, Set::PodCpu | Set::PodMemory | Set::PodTime)
    }

    const fn tells_time(self) -> bool {
        matches!(self, Set::NodeTime | Set::PodTime)
    }

    const fn most(self) -> f64 {
        match self {
            Set::NodeCpu | Set::PodCpu => MOST_CORES,
            Set::NodeMemory | Set::PodMemory => MOST_BYTES,
            Set::NodeTime | Set::PodTime => 1e11,
        }
    }
}

/// How series are understood.
#[derive(Clone, Copy)]
pub(super) struct Rules<'r> {
    pub(super) node_addresses: &'r NodeAddresses,
    /// Labels that may tell the node; the first that is there decides.
    pub(super) node_labels: &'r [String],
    /// Over how long a value is the average.
    pub(super) window: SignedDuration,
    /// Whether the time of a figure is asked for, of nodes and of pods.
    pub(super) timed: [bool; 2],
}

/// What is known so far, by the time that was asked about.
pub(super) struct Frames<'r> {
    rules: Rules<'r>,
    by_moment: BTreeMap<i64, Frame>,
    /// The cluster that series of our nodes are said to be of, once one says so.
    cluster: Option<String>,
    skipped: BTreeMap<(Set, String), (Labels, usize)>,
}

#[derive(Default)]
struct Frame {
    nodes: BTreeMap<String, Parts>,
    /// By namespace and name, and by node where that is told.
    pods: BTreeMap<(String, String), BTreeMap<Option<String>, Parts>>,
}

#[derive(Clone, Copy, Default)]
struct Parts {
    cpu: Option<f64>,
    memory: Option<f64>,
    /// Unix seconds.
    taken: Option<f64>,
}

/// What a series is about.
enum About {
    Node(String),
    Pod(String, String, Option<String>),
}

impl<'r> Frames<'r> {
    pub(super) fn new(rules: Rules<'r>) -> Self {
        Frames {
            rules,
            by_moment: BTreeMap::new(),
            cluster: None,
            skipped: BTreeMap::new(),
        }
    }

    /// Takes in the answer to one query; returns what stands there in our stead where nothing of it is about us.
    pub(super) fn take(&mut self, set: Set, answer: Answer) -> Result<Option<String>, Trouble> {
        for (labels, why) in answer.refused {
            self.skip(set, why, labels);
        }
        let (mut ours, mut other) = (false, None);
        for series in answer.series {
            match self.about(set, &series.labels) {
                Ok(about) => {
                    self.of_one_cluster(&series.labels)?;
                    self.lay_down(set, &about, series);
                    ours = true;
                }
                Err(why) => {
                    other.get_or_insert_with(|| format!("{} ({why})", shown(&series.labels)));
                    self.skip(set, why.to_owned(), series.labels);
                }
            }
        }
        Ok(other.filter(|_| !ours))
    }

    /// Nodes of two clusters may have one name, and so may their pods: which of them a series is about, nobody knows.
    fn of_one_cluster(&mut self, labels: &Labels) -> Result<(), Trouble> {
        const LABEL: &str = policy::Prometheus::CLUSTER_LABEL;
        let Some(cluster) = labels.get(LABEL).filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let known = self.cluster.get_or_insert_with(|| cluster.clone());
        if known == cluster {
            return Ok(());
        }
        let (one, other) = (
            said(known.as_str().min(cluster)),
            said(known.as_str().max(cluster)),
        );
        Err(Trouble::Clusters {
            label: LABEL,
            one,
            other,
        })
    }

    fn skip(&mut self, set: Set, why: String, labels: Labels) {
        self.skipped.entry((set, why)).or_insert((labels, 0)).1 += 1;
    }

    fn about(&self, set: Set, labels: &Labels) -> Result<About, &'static str> {
        let word = |name: &str| labels.get(name).filter(|w| !w.is_empty()).cloned();
        let machine = self.rules.node_labels.iter().find_map(|name| word(name));
        let node = match &machine {
            Some(machine) => Some(
                self.rules
                    .node_addresses
                    .find(machine)
                    .ok_or("no node of this cluster")?
                    .to_owned(),
            ),
            None => None,
        };
        if set.of_pods() {
            let pod = word("namespace")
                .zip(word("pod"))
                .ok_or("no labels namespace and pod")?;
            return Ok(About::Pod(pod.0, pod.1, node));
        }
        node.map(About::Node).ok_or("no label that tells the node")
    }

    fn lay_down(&mut self, set: Set, about: &About, series: Series) {
        let (mut twice, mut too_much) = (false, false);
        for (at, value) in series.points {
            if value > set.most() {
                too_much = true;
                continue;
            }
            let frame = self.by_moment.entry(at).or_default();
            let parts = match about {
                About::Node(node) => frame.nodes.entry(node.clone()).or_default(),
                About::Pod(namespace, pod, node) => {
                    let pod = frame
                        .pods
                        .entry((namespace.clone(), pod.clone()))
                        .or_default();
                    pod.entry(node.clone()).or_default()
                }
            };
            twice |= parts.put(set, value);
        }
        if too_much {
            let why = if set.tells_time() {
                "no time"
            } else {
                "more than any machine has"
            };
            self.skip(set, why.to_owned(), series.labels);
        } else if twice {
            self.skip(set, "told twice".to_owned(), series.labels);
        }
    }

    /// The readings, by the time that was asked about. What could not be read of any stands with the last.
    pub(super) fn finish(mut self) -> Vec<(Timestamp, Readings)> {
        let mut all: Vec<(Timestamp, Readings)> = Vec::new();
        let mut lacking: [(usize, String); 2] = Default::default();
        for (millis, frame) in std::mem::take(&mut self.by_moment) {
            let Ok(at) = Timestamp::from_millisecond(millis) else {
                continue;
            };
            let mut readings = Readings::default();
            lacking = Default::default();
            for (node, parts) in frame.nodes {
                match self.sample(parts, at, 0) {
                    Some(sample) => drop(readings.nodes.insert(node, sample)),
                    None => count(&mut lacking[0], || node),
                }
            }
            for (pod, by_node) in frame.pods {
                // Of namesakes on several nodes, the one that was measured last is there still.
                let samples = by_node
                    .into_iter()
                    .filter_map(|(node, p)| Some((self.sample(p, at, 1)?, node)));
                match samples.max_by_key(|(sample, _)| sample.at) {
                    Some((sample, node)) => {
                        readings.placed.extend(node.map(|node| (pod.clone(), node)));
                        readings.pods.insert(pod, sample);
                    }
                    None => count(&mut lacking[1], || format!("{}/{}", pod.0, pod.1)),
                }
            }
            all.push((at, readings));
        }
        if let Some((_, last)) = all.last_mut() {
            last.skipped = self.told_skipped(lacking);
        }
        all
    }

    fn sample(&self, parts: Parts, at: Timestamp, which: usize) -> Option<Sample> {
        let at = if self.rules.timed[which] {
            moment(parts.taken?)?
        } else {
            at
        };
        let used = Measure {
            cpu: Amount::from_f64(parts.cpu? * 1e9),
            memory: Amount::from_f64(parts.memory?),
        };
        Some(Sample {
            at,
            window: self.rules.window,
            used,
        })
    }

    /// One line for each kind of trouble, however many series have it.
    fn told_skipped(&self, lacking: [(usize, String); 2]) -> Vec<Skipped> {
        let more = |n: usize| {
            if n > 1 {
                format!(", and so are {} more", n - 1)
            } else {
                String::new()
            }
        };
        let skipped = |kind: &str, name: String, why: String| Skipped {
            kind: kind.to_owned(),
            namespace: String::new(),
            name,
            node: None,
            why,
        };
        let series = self.skipped.iter().map(|((set, why), (labels, n))| {
            skipped(set.name(), shown(labels), format!("{why}{}", more(*n)))
        });
        let kinds = ["usage of node", "usage of pod"]
            .into_iter()
            .zip(lacking)
            .filter(|(_, (n, _))| *n > 0);
        let parts = kinds.map(|(kind, (n, name))| {
            skipped(
                kind,
                name,
                format!("not all of cpu, memory and time are told{}", more(n)),
            )
        });
        series.chain(parts).collect()
    }
}

impl Parts {
    /// Whether another value stood there.
    fn put(&mut self, set: Set, value: f64) -> bool {
        let (slot, choose): (_, fn(f64, f64) -> f64) = match set {
            Set::NodeCpu | Set::PodCpu => (&mut self.cpu, f64::max),
            Set::NodeMemory | Set::PodMemory => (&mut self.memory, f64::max),
            Set::NodeTime | Set::PodTime => (&mut self.taken, f64::min),
        };
        let before = *slot;
        *slot = Some(before.map_or(value, |before| choose(before, value)));
        before.is_some()
    }
}

fn count((n, first): &mut (usize, String), name: impl FnOnce() -> String) {
    if *n == 0 {
        *first = name();
    }
    *n += 1;
}

/// A time of Unix seconds. One of no real clock is none.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a series with a larger value was refused"
)]
fn moment(seconds: f64) -> Option<Timestamp> {
    Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok()
}

/// `{node="n1"}`, not too long.
fn shown(labels: &Labels) -> String {
    let labels = labels
        .iter()
        .take(4)
        .map(|(name, value)| format!("{name}={value:?}"));
    said(&format!("{{{}}}", labels.collect::<Vec<_>>().join(",")))
}
