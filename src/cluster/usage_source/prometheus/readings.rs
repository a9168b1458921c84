//! Joins the results of all queries into readings: usage and its time, by node and pod.
//!
//! A reading needs cpu, memory and time. Of duplicate values, the larger usage and the earlier time
//! count. Series of several clusters are an error.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::error_text::one_line;
use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::{ContainerSet, Measure, Readings, Sample, SkippedSamples};
use crate::policy;
use crate::values::Amount;

use super::error::PrometheusError;
use super::labels::SeriesLabels;
use super::response::{QueryResult, TimeSeries};
use super::usage_query::UsageQuery;

const RENAMED: &str = "the labels exported_pod and exported_namespace count instead of pod and \
    namespace, which name the exporter; set `honor_labels` in the scrape configuration";
const INCOMPLETE: &str = "cpu, memory or time is missing, or memory is 0";

/// How series become readings.
#[derive(Clone, Copy)]
pub(super) struct JoinOptions<'r> {
    pub(super) node_addresses: &'r NodeAddresses,
    /// Labels that may name the node; the first one that a series has decides.
    pub(super) node_labels: &'r [String],
    /// The period over which a value is averaged.
    pub(super) window: SignedDuration,
    /// Whether the policy queries the time of node readings. Without it, the evaluation time
    /// counts.
    pub(super) node_time: bool,
    /// The same for pods.
    pub(super) pod_time: bool,
}

/// Collects query results by evaluation time.
pub(super) struct ReadingsBuilder<'r> {
    options: JoinOptions<'r>,
    by_time: BTreeMap<i64, PartialReadings>,
    /// The cluster label of the first series about our nodes that has one.
    cluster: Option<String>,
    /// Why a node or pod may lack a value.
    flaws: BTreeMap<SeriesSubject, String>,
    /// Whether a series has a label `exported_pod`, or another one that Prometheus renamed.
    renamed: bool,
    /// Skipped series by query and reason: the labels of the first, and how many.
    skipped: BTreeMap<(UsageQuery, String), (SeriesLabels, usize)>,
}

#[derive(Default)]
struct PartialReadings {
    nodes: BTreeMap<String, PartialSample>,
    /// By namespace and name.
    pods: BTreeMap<(String, String), SamplesByNode>,
}

/// The samples of the pods of one name on several nodes, if the series name one. Almost always
/// there is one.
type SamplesByNode = Vec<(Option<String>, PartialSample)>;

#[derive(Clone, Copy, Default)]
struct PartialSample {
    cpu: Option<f64>,
    memory: Option<f64>,
    /// Unix seconds.
    time: Option<f64>,
    /// Whether the first series of each of them has the label of the cluster.
    of_cluster: [bool; 3],
}

/// The node or pod that a series measures.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SeriesSubject {
    Node(String),
    Pod { namespace: String, name: String, node: Option<String> },
}

/// Nodes or pods that lack cpu, memory or time: how many, and the first.
#[derive(Default)]
struct Incomplete {
    count: usize,
    first: String,
}

impl<'r> ReadingsBuilder<'r> {
    pub(super) fn new(options: JoinOptions<'r>) -> Self {
        ReadingsBuilder {
            options,
            by_time: BTreeMap::new(),
            cluster: None,
            flaws: BTreeMap::new(),
            renamed: false,
            skipped: BTreeMap::new(),
        }
    }

    /// Adds the result of one query. Returns a sample series if none belongs to this cluster.
    pub(super) fn add(
        &mut self,
        query: UsageQuery,
        result: QueryResult,
    ) -> Result<Option<String>, PrometheusError> {
        for (labels, why) in result.rejected {
            if let Ok(subject) = self.subject(query, &labels) {
                self.add_flaw(query, subject, &why);
            }
            self.skip(query, why, labels);
        }
        let (mut ours, mut other) = (false, None);
        for series in result.series {
            match self.subject(query, &series.labels) {
                Ok(subject) => {
                    self.renamed |= query.is_of_pods() && series.labels.names_another_pod();
                    self.check_cluster(&series.labels)?;
                    self.add_series(query, &subject, series)?;
                    ours = true;
                }
                Err(why) => {
                    other.get_or_insert_with(|| format!("{} ({why})", series.labels.shown()));
                    self.skip(query, why.to_owned(), series.labels);
                }
            }
        }
        Ok(other.filter(|_| !ours))
    }

    /// Fails if a second cluster appears: clusters may share node and pod names, and their series
    /// would mix.
    fn check_cluster(&mut self, labels: &SeriesLabels) -> Result<(), PrometheusError> {
        let Some(cluster) = cluster_of(labels) else { return Ok(()) };
        let known = self.cluster.get_or_insert_with(|| cluster.clone());
        if known == cluster { Ok(()) } else { Err(several_clusters(known, cluster)) }
    }

    fn skip(&mut self, query: UsageQuery, why: String, labels: SeriesLabels) {
        self.skipped.entry((query, why)).or_insert((labels, 0)).1 += 1;
    }

    fn add_flaw(&mut self, query: UsageQuery, subject: SeriesSubject, why: &str) {
        let why = || format!("{}: {why}", query.name());
        self.flaws.entry(subject).or_insert_with(why);
    }

    fn subject(
        &self,
        query: UsageQuery,
        labels: &SeriesLabels,
    ) -> Result<SeriesSubject, &'static str> {
        let node = self.node(labels)?;
        if !query.is_of_pods() {
            return node.map(SeriesSubject::Node).ok_or("no label names the node");
        }
        let (namespace, name) =
            labels.own("namespace").zip(labels.own("pod")).ok_or("no labels namespace and pod")?;
        Ok(SeriesSubject::Pod { namespace, name, node })
    }

    /// The node that the labels name, if they name one.
    fn node(&self, labels: &SeriesLabels) -> Result<Option<String>, &'static str> {
        let mut names = self.options.node_labels.iter();
        let Some(machine) = names.find_map(|name| labels.own(name)) else {
            return Ok(None);
        };
        match self.options.node_addresses.find(&machine) {
            Some(node) => Ok(Some(node.to_owned())),
            None => Err("not a node of this cluster"),
        }
    }

    /// Adds the values of a series. Fails if the same was measured in a cluster and in none: the
    /// store then has another cluster whose series lack the label. Two queries may differ in it.
    fn add_series(
        &mut self,
        query: UsageQuery,
        subject: &SeriesSubject,
        series: TimeSeries,
    ) -> Result<(), PrometheusError> {
        let of_cluster = cluster_of(&series.labels).is_some();
        let (mut duplicate, mut too_large) = (false, None);
        for (at, value) in series.points {
            if value > query.largest_value() {
                too_large = Some(value);
            } else {
                let sample = self.by_time.entry(at).or_default().sample_mut(subject);
                let before = sample.set(query, value, of_cluster);
                if before.is_some_and(|before| before != of_cluster) {
                    return Err(several_clusters("", self.cluster.as_deref().unwrap_or_default()));
                }
                duplicate |= before.is_some();
            }
        }
        if let Some(value) = too_large {
            let why = query.why_too_large();
            self.add_flaw(query, subject.clone(), &format!("{value:e}, {why}"));
            self.skip(query, why.to_owned(), series.labels);
        } else if duplicate {
            self.skip(query, "duplicate series".to_owned(), series.labels);
        }
        Ok(())
    }

    /// Returns the readings by evaluation time. The last readings list everything that was skipped.
    pub(super) fn finish(mut self) -> Vec<(Timestamp, Readings)> {
        let mut all: Vec<(Timestamp, Readings)> = Vec::new();
        let (mut nodes, mut pods) = (Incomplete::default(), Incomplete::default());
        for (millis, partial) in std::mem::take(&mut self.by_time) {
            let Ok(at) = Timestamp::from_millisecond(millis) else {
                continue;
            };
            // Only what the last readings lack matters to the reader.
            (nodes, pods) = (Incomplete::default(), Incomplete::default());
            let mut readings = Readings::default();
            self.add_nodes(partial.nodes, at, &mut readings, &mut nodes);
            self.add_pods(partial.pods, at, &mut readings, &mut pods);
            all.push((at, readings));
        }
        if let Some((_, last)) = all.last_mut() {
            for (subject, why) in std::mem::take(&mut self.flaws) {
                add_unreadable(last, subject, &why);
            }
            last.remark = self.renamed.then_some(RENAMED);
            last.skipped = self.all_skipped(nodes, pods);
        }
        all
    }

    fn add_nodes(
        &self,
        nodes: BTreeMap<String, PartialSample>,
        at: Timestamp,
        readings: &mut Readings,
        incomplete: &mut Incomplete,
    ) {
        for (node, partial) in nodes {
            if let Some(sample) = self.sample(partial, at, self.options.node_time) {
                readings.nodes.insert(node, sample);
            } else {
                incomplete.add(|| node.clone());
                readings.unreadable_nodes.insert(node, INCOMPLETE.into());
            }
        }
    }

    fn add_pods(
        &self,
        pods: BTreeMap<(String, String), SamplesByNode>,
        at: Timestamp,
        readings: &mut Readings,
        incomplete: &mut Incomplete,
    ) {
        for (pod, mut by_node) in pods {
            by_node.sort_by(|(one, _), (other, _)| one.cmp(other));
            join_nodeless(&mut by_node);
            let samples = by_node.into_iter().filter_map(|(node, partial)| {
                Some((self.sample(partial, at, self.options.pod_time)?, node))
            });
            let mut samples: Vec<(Sample, Option<String>)> = samples.collect();
            // Pods of one name on several nodes followed each other. The newest measurement is of
            // the current one, unless one of the others is on its node.
            samples.sort_by_key(|(sample, _)| sample.at);
            let Some((sample, node)) = samples.pop() else {
                incomplete.add(|| format!("{}/{}", pod.0, pod.1));
                readings.unreadable_pods.insert(pod, INCOMPLETE.into());
                continue;
            };
            let others = samples.into_iter().rev();
            let others = others.filter_map(|(sample, node)| Some((node?, sample)));
            let others: Vec<(String, Sample)> = others.collect();
            if !others.is_empty() {
                readings.elsewhere.insert(pod.clone(), others);
            }
            readings.placed.extend(node.map(|node| (pod.clone(), node)));
            readings.pods.insert(pod, sample);
        }
    }

    /// The sample of a node or pod, if it is complete. Everything that runs uses memory.
    fn sample(&self, partial: PartialSample, at: Timestamp, timed: bool) -> Option<Sample> {
        let memory = partial.memory.filter(|bytes| *bytes > 0.0)?;
        Some(Sample {
            at: if timed { moment(partial.time?)? } else { at },
            window: self.options.window,
            used: Measure {
                cpu: Amount::from_f64(partial.cpu? * 1e9),
                memory: Amount::from_f64(memory),
            },
            containers: ContainerSet::default(),
        })
    }

    /// One entry for each query and reason, however many series share it.
    fn all_skipped(&self, nodes: Incomplete, pods: Incomplete) -> SkippedSamples {
        let series = self.skipped.iter();
        let series = series
            .map(|((query, why), (labels, n))| skipped(query.name(), labels.shown(), why, *n));
        let incomplete = [("usage of node", nodes), ("usage of pod", pods)].into_iter();
        let incomplete = incomplete
            .filter(|(_, incomplete)| incomplete.count > 0)
            .map(|(kind, one)| skipped(kind, one.first, INCOMPLETE, one.count));
        series.chain(incomplete).collect()
    }
}

impl PartialReadings {
    fn sample_mut(&mut self, subject: &SeriesSubject) -> &mut PartialSample {
        match subject {
            SeriesSubject::Node(node) => self.nodes.entry(node.clone()).or_default(),
            SeriesSubject::Pod { namespace, name, node } => {
                let by_node = self.pods.entry((namespace.clone(), name.clone()));
                let by_node = by_node.or_insert_with(|| Vec::with_capacity(1));
                let known = by_node.iter().position(|(known, _)| known == node);
                let position = known.unwrap_or(by_node.len());
                if known.is_none() {
                    by_node.push((node.clone(), PartialSample::default()));
                }
                &mut by_node[position].1
            }
        }
    }
}

impl PartialSample {
    /// Adds a value of a series that has or lacks the label of the cluster. If there was a value
    /// already, returns whether the first one had it.
    fn set(&mut self, query: UsageQuery, value: f64, of_cluster: bool) -> Option<bool> {
        let (slot, position, choose): (_, _, fn(f64, f64) -> f64) = match query {
            UsageQuery::NodeCpu | UsageQuery::PodCpu => (&mut self.cpu, 0, f64::max),
            UsageQuery::NodeMemory | UsageQuery::PodMemory => (&mut self.memory, 1, f64::max),
            UsageQuery::NodeTime | UsageQuery::PodTime => (&mut self.time, 2, f64::min),
        };
        let Some(before) = *slot else {
            *slot = Some(value);
            self.of_cluster[position] = of_cluster;
            return None;
        };
        *slot = Some(choose(before, value));
        Some(self.of_cluster[position])
    }
}

/// Completes the values of a pod on its only node by those of queries without a node.
fn join_nodeless(sorted: &mut SamplesByNode) {
    if let [(None, nodeless), (Some(_), own)] = sorted.as_mut_slice() {
        own.cpu = own.cpu.or(nodeless.cpu);
        own.memory = own.memory.or(nodeless.memory);
        own.time = own.time.or(nodeless.time);
        sorted.swap_remove(0);
    }
}

/// The cluster that the labels name, if they name one.
fn cluster_of(labels: &SeriesLabels) -> Option<&String> {
    labels.get(policy::PrometheusPolicy::CLUSTER_LABEL).filter(|name| !name.is_empty())
}

fn several_clusters(one: &str, other: &str) -> PrometheusError {
    PrometheusError::SeveralClusters {
        label: policy::PrometheusPolicy::CLUSTER_LABEL,
        one: one_line(one.min(other)),
        other: one_line(one.max(other)),
    }
}

impl Incomplete {
    fn add(&mut self, name: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = name();
        }
        self.count += 1;
    }
}

fn skipped(kind: &str, name: String, why: &str, count: usize) -> Skipped {
    let why = match count {
        0 | 1 => why.to_owned(),
        _ => format!("{why} (and {} more)", count - 1),
    };
    Skipped { kind: kind.to_owned(), namespace: String::new(), name, node: None, why }
}

/// Notes why a node or pod may have no sample.
fn add_unreadable(readings: &mut Readings, subject: SeriesSubject, why: &str) {
    match subject {
        SeriesSubject::Node(node) => drop(readings.unreadable_nodes.insert(node, why.into())),
        SeriesSubject::Pod { namespace, name, .. } => {
            drop(readings.unreadable_pods.insert((namespace, name), why.into()));
        }
    }
}

/// Converts Unix seconds; `None` outside the range of a timestamp.
#[expect(clippy::cast_possible_truncation, reason = "series with larger values were rejected")]
fn moment(seconds: f64) -> Option<Timestamp> {
    Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok()
}
