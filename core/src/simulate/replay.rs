//! Recorded usage as curves: gaps are filled, and each pod and node gets its row.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;

use crate::model::snapshot::{Pod, Snapshot, WorkloadId};
use crate::model::usage::Measure;
use crate::model::usage::recorded::{HistoryRange, RecordedUsage, UsageHistory};
use crate::values::{Amount, Ratio};

use super::load::{Curve, Load, Shape};
use super::rows::UsageRows;

const MILLICORE: Amount = Amount::millicores(1);
const MEBIBYTE: Amount = Amount::new(1 << 20);

/// The usage of each pod and node of a history.
pub(super) struct Replay<'h> {
    history: &'h UsageHistory,
    cpu: Option<Arc<UsageRows>>,
    memory: Option<Arc<UsageRows>>,
    pods: BTreeMap<(&'h str, &'h str), usize>,
    nodes: BTreeMap<&'h str, usize>,
}

/// Usage at each step, unknown in gaps.
type GappyRow = Vec<Option<Measure>>;

/// The usage of a workload's pods at one step.
#[derive(Clone, Copy, Default)]
struct StepSum {
    used: Measure,
    pods: u32,
}

/// Rows without gaps, in the units of a trace.
#[derive(Default)]
struct FilledRows {
    cpu: Vec<Vec<f32>>,
    memory: Vec<Vec<f32>>,
}

impl<'h> Replay<'h> {
    pub(super) fn new(history: &'h UsageHistory, snapshot: &Snapshot) -> Self {
        let sums = sums(history, snapshot);
        let mut rows = FilledRows::default();
        let mut pods = BTreeMap::new();
        for ((namespace, name), pod) in &history.pods {
            let id = snapshot.find_pod(namespace, name);
            let workload = id.and_then(|id| snapshot.pod(id).workload);
            let mean = workload.and_then(|workload| sums.get(&workload));
            let row = with_beginning(&pod.usage, mean);
            if let Some(position) = rows.add(&row) {
                pods.insert((namespace.as_str(), name.as_str()), position);
            }
        }
        let mut nodes = BTreeMap::new();
        for (name, usage) in &history.nodes {
            if let Some(position) = rows.add(&with_beginning(usage, None)) {
                nodes.insert(name.as_str(), position);
            }
        }
        Replay {
            history,
            cpu: UsageRows::new(rows.cpu).map(Arc::new),
            memory: UsageRows::new(rows.memory).map(Arc::new),
            pods,
            nodes,
        }
    }

    /// Returns the usage of a pod; `None` if it has no row.
    pub(super) fn pod(&self, pod: &Pod) -> Option<Load> {
        let name = (pod.namespace.as_str(), pod.name.as_str());
        self.load(*self.pods.get(&name)?)
    }

    /// Returns the usage of a node outside of its pods; `None` if it has no row.
    pub(super) fn node(&self, name: &str) -> Option<Load> {
        self.load(*self.nodes.get(name)?)
    }

    /// Returns the node on which the row of a pod begins.
    pub(super) fn node_of(&self, pod: &Pod) -> Option<&str> {
        let name = (pod.namespace.clone(), pod.name.clone());
        self.history.pods.get(&name)?.node.as_deref()
    }

    fn load(&self, row: usize) -> Option<Load> {
        let HistoryRange { step, .. } = self.history.range;
        Some(Load {
            cpu: curve(self.cpu.as_ref()?, row, step, MILLICORE),
            memory: curve(self.memory.as_ref()?, row, step, MEBIBYTE),
        })
    }
}

fn curve(rows: &Arc<UsageRows>, row: usize, step: SignedDuration, unit: Amount) -> Curve {
    let shape = Shape::Trace { rows: Arc::clone(rows), row, step, unit };
    Curve { shape, noise: Ratio::ZERO }
}

fn sums(history: &UsageHistory, snapshot: &Snapshot) -> BTreeMap<WorkloadId, Vec<StepSum>> {
    let mut sums: BTreeMap<WorkloadId, Vec<StepSum>> = BTreeMap::new();
    for ((namespace, name), pod) in &history.pods {
        let id = snapshot.find_pod(namespace, name);
        let Some(workload) = id.and_then(|id| snapshot.pod(id).workload) else {
            continue;
        };
        let sums =
            sums.entry(workload).or_insert_with(|| vec![StepSum::default(); history.range.steps]);
        for (step, sum) in sums.iter_mut().enumerate() {
            if let Some(used) = pod.usage.get(step) {
                sum.used = sum.used.plus(used);
                sum.pods += 1;
            }
        }
    }
    sums
}

impl StepSum {
    /// The mean; `None` if no pod was measured.
    fn mean(&self) -> Option<Measure> {
        let share = |sum: Amount| Amount::from_f64(sum.as_f64() / f64::from(self.pods));
        (self.pods > 0)
            .then(|| Measure { cpu: share(self.used.cpu), memory: share(self.used.memory) })
    }
}

/// A row whose beginning, before the pod existed, is the mean of its workload.
fn with_beginning(usage: &RecordedUsage, mean: Option<&Vec<StepSum>>) -> GappyRow {
    let first = usage.first().unwrap_or(usage.len());
    let values = (0..usage.len()).map(|step| match usage.get(step) {
        None if step < first => mean?.get(step)?.mean(),
        used => used,
    });
    values.collect()
}

impl FilledRows {
    /// Adds a row and returns its position; `None` if nothing of it is known.
    fn add(&mut self, row: &GappyRow) -> Option<usize> {
        let cpu = row.iter().map(|used| Some(in_units(used.as_ref()?.cpu, MILLICORE)));
        self.cpu.push(bridged(&cpu.collect::<Vec<_>>())?);
        let memory = row.iter().map(|used| Some(in_units(used.as_ref()?.memory, MEBIBYTE)));
        self.memory.push(bridged(&memory.collect::<Vec<_>>())?);
        Some(self.cpu.len() - 1)
    }
}

fn in_units(amount: Amount, unit: Amount) -> f32 {
    to_f32(amount.as_f64() / unit.as_f64())
}

/// Fills the gaps of a row: linear between two known values, constant before the first and after
/// the last. `None` if no value is known.
fn bridged(row: &[Option<f32>]) -> Option<Vec<f32>> {
    let mut filled: Vec<f32> = Vec::with_capacity(row.len());
    let known = row.iter().enumerate();
    for (step, value) in known.filter_map(|(step, value)| Some((step, (*value)?))) {
        let before = filled.last().copied().unwrap_or(value);
        let gap = step - filled.len();
        let shares = (1..=gap).map(|missing| count(missing) / count(gap + 1));
        filled.extend(shares.map(|share| before + (value - before) * share));
        filled.push(value);
    }
    let last = *filled.last()?;
    filled.resize(row.len(), last);
    Some(filled)
}

#[expect(clippy::cast_precision_loss, reason = "a history has fewer steps than 2^24")]
const fn count(steps: usize) -> f32 {
    steps as f32
}

#[expect(clippy::cast_possible_truncation, reason = "millicores and mebibytes need few digits")]
const fn to_f32(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::snapshot::import;
    use crate::model::snapshot::objects::Objects;
    use crate::model::usage::recorded::object;
    use crate::simulate::load::Moment;

    /// A node with two pods of one workload. The second pod began at the third step.
    fn cluster() -> (Snapshot, UsageHistory) {
        let mut objects = Objects::default();
        let mut history = None;
        let mut rows = vec![("NodeUsageHistory", "n1", json!([100, 100, 100, 100]))];
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
            "status": {"allocatable": {"cpu": "8", "memory": "32Gi"}}});
        let pod = |name: &str| {
            let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
                "uid": "u", "controller": true});
            json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"namespace": "shop", "name": name, "uid": name,
                    "creationTimestamp": "2026-11-20T12:00:00Z", "ownerReferences": [owner]},
                "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "c:1"}]},
                "status": {"phase": "Running"}})
        };
        rows.push(("PodUsageHistory", "web-old", json!([200, null, null, 800])));
        rows.push(("PodUsageHistory", "web-new", json!([null, null, 500, 500])));
        for object in [node, pod("web-old"), pod("web-new")] {
            objects.apply(import::object(&object).unwrap().unwrap());
        }
        for (kind, name, values) in rows {
            let object = json!({"apiVersion": "evenkeel/v1alpha1", "kind": kind,
                "metadata": {"namespace": "shop", "name": name},
                "start": "2026-11-20T12:00:00Z", "step": "1m", "cpu": values,
                "memory": values});
            let item = object::read(&object).unwrap().unwrap();
            item.add_to(&mut history).unwrap();
        }
        (Snapshot::join(&objects, []), history.unwrap())
    }

    /// The millicores at each minute.
    fn minutes(load: &Load) -> [u64; 4] {
        [0, 1, 2, 3].map(|minute| {
            let elapsed = SignedDuration::from_mins(minute);
            let moment = Moment { elapsed, ..Moment::default() };
            load.at(moment).cpu.get() / 1_000_000
        })
    }

    #[test]
    fn before_it_existed_a_pod_uses_the_mean_of_its_workload() {
        let (snapshot, history) = cluster();
        let replay = Replay::new(&history, &snapshot);
        let [new, old] = ["web-new", "web-old"].map(|name| {
            let id = snapshot.find_pod("shop", name).unwrap();
            minutes(&replay.pod(snapshot.pod(id)).unwrap())
        });
        assert_eq!(old, [200, 400, 600, 800], "a gap is bridged");
        assert_eq!(new, [200, 350, 500, 500], "200 is the mean of the first step");
        assert_eq!(minutes(&replay.node("n1").unwrap()), [100; 4]);
        assert!(replay.node("n2").is_none(), "unknown, and not idle");
    }

    #[test]
    fn gaps_are_bridged_and_the_ends_stay_constant() {
        let row = [None, Some(2.0), None, None, Some(8.0), Some(9.0), None];
        let filled = [2.0, 2.0, 4.0, 6.0, 8.0, 9.0, 9.0];
        assert_eq!(bridged(&row), Some(filled.to_vec()));
        assert_eq!(bridged(&[None, None]), None);
    }
}
