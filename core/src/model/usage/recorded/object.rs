//! Recorded usage as objects of a file: one for each node and pod, with a list of whole numbers for
//! cpu and one for memory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::snapshot::facts::Skipped;
use crate::values::text::duration;

use super::{HistoryRange, PackedMeasure, PodHistory, RecordedUsage, UsageHistory};

/// The version of the objects.
const API_VERSION: &str = "evenkeel/v1alpha1";
/// The kind of the objects with the usage of nodes.
const NODE_KIND: &str = "NodeUsageHistory";
/// The kind of the objects with the usage of pods.
const POD_KIND: &str = "PodUsageHistory";

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct HistoryObject {
    api_version: String,
    kind: String,
    metadata: HistoryName,
    /// The time of the first value.
    start: Timestamp,
    /// The time from one value to the next, such as `5m`.
    step: String,
    /// The node of a pod at the first value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// Millicores; `null` where usage is unknown.
    cpu: Vec<Option<u32>>,
    /// Mebibytes.
    memory: Vec<Option<u32>>,
}

#[derive(Debug, Deserialize, Serialize)]
struct HistoryName {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    name: String,
}

/// An object that was read, to be added to a history.
#[derive(Debug)]
pub struct HistoryItem {
    name: HistoryName,
    is_node: bool,
    range: HistoryRange,
    history: PodHistory,
}

/// Returns the objects of a history as JSON, nodes first. Each is made when it is asked for,
/// because all of them at once need much memory.
pub fn write(history: &UsageHistory) -> impl Iterator<Item = String> {
    let range = history.range;
    let nodes = history.nodes.iter().map(move |(name, usage)| {
        let name = HistoryName { namespace: None, name: name.clone() };
        HistoryObject::new(NODE_KIND, name, range, usage, None)
    });
    let pods = history.pods.iter().map(move |((namespace, name), pod)| {
        let name = HistoryName { namespace: Some(namespace.clone()), name: name.clone() };
        HistoryObject::new(POD_KIND, name, range, &pod.usage, pod.node.clone())
    });
    nodes.chain(pods).filter_map(|object| serde_json::to_string(&object).ok())
}

/// Returns true for the kinds of these objects.
pub fn is_history(kind: &str) -> bool {
    [NODE_KIND, POD_KIND].contains(&kind)
}

/// Reads an object. Returns `None` if it is of another kind.
pub fn read(value: &Value) -> Option<Result<HistoryItem, Skipped>> {
    let word = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = word("kind");
    if word("apiVersion") != API_VERSION || !is_history(kind) {
        return None;
    }
    let at = |pointer| {
        let text = value.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let item = HistoryObject::deserialize(value).map_err(|error| error.to_string());
    Some(item.and_then(HistoryItem::new).map_err(|why| Skipped {
        kind: kind.to_owned(),
        namespace: at("/metadata/namespace"),
        name: at("/metadata/name"),
        node: None,
        why,
    }))
}

impl HistoryObject {
    fn new(
        kind: &str,
        metadata: HistoryName,
        range: HistoryRange,
        usage: &RecordedUsage,
        node: Option<String>,
    ) -> Self {
        let values = |of: fn(PackedMeasure) -> u32| usage.0.iter().map(move |v| v.map(of));
        HistoryObject {
            api_version: API_VERSION.to_owned(),
            kind: kind.to_owned(),
            metadata,
            start: range.start,
            step: duration(range.step),
            node,
            cpu: values(PackedMeasure::millicores).collect(),
            memory: values(|value| value.mebibytes).collect(),
        }
    }
}

impl HistoryItem {
    fn new(object: HistoryObject) -> Result<Self, String> {
        let step = HistoryRange::step(&object.step)?;
        let (cpu, memory) = (object.cpu, object.memory);
        if cpu.len() != memory.len() {
            let (found, expected) = (memory.len(), cpu.len());
            return Err(format!("memory: found {found} values, expected {expected}"));
        }
        let values = cpu.into_iter().zip(memory);
        // Usage counts as known only if both are.
        let packed = values.map(|(cpu, memory)| PackedMeasure::from_parts(cpu?, memory?));
        let usage = RecordedUsage(packed.collect());
        Ok(HistoryItem {
            name: object.metadata,
            is_node: object.kind == NODE_KIND,
            range: HistoryRange { start: object.start, step, steps: usage.len() },
            history: PodHistory { usage, node: object.node },
        })
    }

    /// Adds the object to a history. Fails if their times differ, or if the history has a different
    /// object of this name. Nothing tells which of the two is right, so the usage is unknown.
    pub fn add_to(self, history: &mut Option<UsageHistory>) -> Result<(), Skipped> {
        let history = history.get_or_insert_with(|| UsageHistory::new(self.range));
        let HistoryName { namespace, name } = self.name;
        let namespace = namespace.unwrap_or_default();
        let unknown = RecordedUsage::unknown(self.range.steps);
        let why = if history.range != self.range {
            Some("start, step and length differ from those of another object")
        } else if self.is_node {
            add(&mut history.nodes, name.clone(), self.history.usage, unknown)
        } else {
            let unknown = PodHistory { usage: unknown, node: None };
            add(&mut history.pods, (namespace.clone(), name.clone()), self.history, unknown)
        };
        let Some(why) = why else {
            return Ok(());
        };
        let kind = if self.is_node { NODE_KIND } else { POD_KIND };
        Err(Skipped { kind: kind.to_owned(), namespace, name, node: None, why: why.to_owned() })
    }
}

/// Adds a row, or the unknown one if there is another of this name. Returns why in that case.
fn add<K: Ord, V: PartialEq>(
    rows: &mut BTreeMap<K, V>,
    name: K,
    row: V,
    unknown: V,
) -> Option<&'static str> {
    let differs = rows.get(&name).is_some_and(|other| *other != row);
    rows.insert(name, if differs { unknown } else { row });
    differs.then_some("it is given twice, with differences")
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;

    fn history() -> UsageHistory {
        let start = "2026-11-20T12:00:00Z".parse().unwrap();
        let range = HistoryRange { start, step: SignedDuration::from_mins(5), steps: 3 };
        let row = |values: [Option<(u32, u32)>; 3]| {
            let packed = values.map(|v| v.and_then(|(c, m)| PackedMeasure::from_parts(c, m)));
            RecordedUsage(packed.to_vec())
        };
        let mut history = UsageHistory::new(range);
        let nothing = row([Some((0, 0)), None, Some((90, 800))]);
        history.nodes.insert("n1".to_owned(), nothing);
        let pod = PodHistory {
            usage: row([None, Some((250, 64)), Some((1000, 65))]),
            node: Some("n2".to_owned()),
        };
        let name = ("shop".to_owned(), "web-0".to_owned());
        history.pods.insert(name, pod);
        history
    }

    fn read_all(lines: impl Iterator<Item = String>) -> UsageHistory {
        let mut history = None;
        for line in lines {
            let value = serde_json::from_str(&line).unwrap();
            read(&value).unwrap().unwrap().add_to(&mut history).unwrap();
        }
        history.unwrap()
    }

    #[test]
    fn a_history_is_the_same_after_writing_and_reading() {
        assert_eq!(read_all(write(&history())), history());
    }

    #[test]
    fn each_pod_is_one_line_of_whole_numbers_with_null_for_gaps() {
        let lines: Vec<String> = write(&history()).collect();
        assert_eq!(
            lines[1],
            "{\"apiVersion\":\"evenkeel/v1alpha1\",\"kind\":\"PodUsageHistory\",\
             \"metadata\":{\"namespace\":\"shop\",\"name\":\"web-0\"},\
             \"start\":\"2026-11-20T12:00:00Z\",\"step\":\"5m\",\"node\":\"n2\",\
             \"cpu\":[null,250,1000],\"memory\":[null,64,65]}"
        );
    }

    #[test]
    fn an_invalid_object_is_named_with_the_reason() {
        let base = json!({"apiVersion": API_VERSION, "kind": POD_KIND,
            "metadata": {"namespace": "shop", "name": "web-0"},
            "start": "2026-11-20T12:00:00Z", "step": "5m", "cpu": [1], "memory": [1]});
        let why = |field: &str, value: Value| {
            let mut object = base.clone();
            object[field] = value;
            read(&object).unwrap().unwrap_err().why
        };
        assert!(read(&base).unwrap().is_ok());
        assert_eq!(why("memory", json!([1, 2])), "memory: found 2 values, expected 1");
        assert!(why("step", json!("0s")).starts_with("step: expected"));
        assert!(why("cpu", json!([-1])).contains("invalid value"));
        assert!(read(&json!({"apiVersion": "v1", "kind": "Pod"})).is_none());
    }

    #[test]
    fn objects_of_different_times_do_not_mix() {
        let mut all = Some(history());
        let mut other = history();
        other.range.step = SignedDuration::from_mins(1);
        let line = write(&other).next().unwrap();
        let item = read(&serde_json::from_str(&line).unwrap()).unwrap();
        let skipped = item.unwrap().add_to(&mut all).unwrap_err();
        assert!(skipped.why.contains("differ"), "{skipped}");
        assert_eq!(all, Some(history()));
    }

    #[test]
    fn of_objects_of_one_name_that_differ_none_counts() {
        let mut all = Some(history());
        let pod = write(&history()).last().unwrap();
        let mut add = |line: &str| {
            let item = read(&serde_json::from_str(line).unwrap()).unwrap().unwrap();
            item.add_to(&mut all).map_err(|skipped| skipped.to_string())
        };
        assert_eq!(add(&pod), Ok(()), "the same again");
        let why = add(&pod.replace("1000", "10")).unwrap_err();
        assert!(why.contains("it is given twice, with differences"), "{why}");
        assert!(add(&pod).is_err());
        assert!(all.unwrap().pods.values().all(|pod| pod.usage.is_empty()));
    }
}
