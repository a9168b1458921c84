//! Readings from metrics.k8s.io objects.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::model::snapshot::facts::Skipped;
use crate::values::{Amount, quantity};

use super::{ContainerSet, Measure, Readings, Sample};

pub mod protobuf;

/// Adds NodeMetrics, PodMetrics or a list of them to the readings. Returns false for any other
/// object.
///
/// An invalid sample is recorded in [`Readings::skipped`]. Of two samples of the same object the
/// newer one counts, and of two that differ at the same time neither.
pub fn take(value: &Value, into: &mut Readings) -> bool {
    let word = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
    if !word("apiVersion").starts_with("metrics.k8s.io/") {
        return false;
    }
    let items = value.get("items").and_then(Value::as_array);
    let items = items.into_iter().flatten();
    match word("kind") {
        "NodeMetrics" => node(value, into),
        "PodMetrics" => pod(value, into),
        "NodeMetricsList" => items.for_each(|item| node(item, into)),
        "PodMetricsList" => items.for_each(|item| pod(item, into)),
        _ => return false,
    }
    true
}

/// Adds one NodeMetrics object. As a list item it does not state its kind.
pub fn node(value: &Value, into: &mut Readings) {
    let sample = sample(value, |v| used("usage", v.get("usage")));
    add_node(meta(value, "name"), sample, into);
}

/// Adds one PodMetrics object. As a list item it does not state its kind. A pod uses the sum of its
/// containers.
pub fn pod(value: &Value, into: &mut Readings) {
    let (namespace, name) = (meta(value, "namespace"), meta(value, "name"));
    let containers = value.get("containers").and_then(Value::as_array);
    let names = containers.into_iter().flatten().map(name_of).collect();
    add_pod(namespace, name, sample(value, usage_of_pod), names, into);
}

fn name_of(container: &Value) -> String {
    let name = container.get("name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

fn add_node(name: String, sample: Result<Sample, String>, into: &mut Readings) {
    let (name, why) = match sample.and_then(possible) {
        // A file may contain two recordings of the same node.
        Ok(sample) if !name.is_empty() => {
            match newest(&mut into.nodes, &mut into.contradicted_nodes, name, sample) {
                Ok(()) => return,
                Err(name) => (name, TWICE.to_owned()),
            }
        }
        Ok(_) => (name, NO_NAME.to_owned()),
        Err(why) => (name, why),
    };
    into.unreadable_nodes.insert(name.clone(), why.as_str().into());
    let skipped = skipped("NodeMetrics", String::new(), name, why);
    into.skipped.add(skipped);
}

/// Adds a sample of a pod that covers the containers with these names.
fn add_pod(
    namespace: String,
    name: String,
    sample: Result<Sample, String>,
    containers: Vec<String>,
    into: &mut Readings,
) {
    let pod = (namespace, name);
    let (pod, why) = match sample.and_then(possible) {
        Ok(mut sample) if !pod.1.is_empty() => {
            sample.containers = into.containers.add(containers);
            match newest(&mut into.pods, &mut into.contradicted_pods, pod, sample) {
                Ok(()) => return,
                Err(pod) => (pod, TWICE.to_owned()),
            }
        }
        Ok(_) => (pod, NO_NAME.to_owned()),
        Err(why) => (pod, why),
    };
    let (namespace, name) = pod;
    into.unreadable_pods.insert((namespace.clone(), name.clone()), why.as_str().into());
    into.skipped.add(skipped("PodMetrics", namespace, name, why));
}

const NO_NAME: &str = "metadata.name is missing";
const TWICE: &str = "it is given twice for the same time, with differences";

fn meta(value: &Value, key: &str) -> String {
    let found = value.get("metadata").and_then(|m| m.get(key)).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

fn skipped(kind: &str, namespace: String, name: String, why: String) -> Skipped {
    Skipped { kind: kind.to_owned(), namespace, name, node: None, why }
}

/// Refuses a sample without memory, because every node and every pod that runs uses some.
/// metrics-server leaves such samples out (`decodeBatch` in its pkg/scraper/client/resource), and
/// other adapters need not.
fn possible(sample: Sample) -> Result<Sample, String> {
    let has_memory = sample.used.memory > Amount::ZERO;
    has_memory.then_some(sample).ok_or_else(|| "memory: found 0, expected more".to_owned())
}

/// Keeps the newer sample, or returns the key if nothing tells which one holds, because they differ
/// at the same time. Then only a newer one counts, in whichever order they come.
fn newest<K: Ord + Clone>(
    samples: &mut BTreeMap<K, Sample>,
    contradicted: &mut BTreeMap<K, Timestamp>,
    key: K,
    sample: Sample,
) -> Result<(), K> {
    if contradicted.get(&key).is_some_and(|at| sample.at <= *at) {
        return Ok(());
    }
    match samples.get(&key) {
        Some(kept) if kept.at == sample.at && kept.used != sample.used => {
            samples.remove(&key);
            contradicted.insert(key.clone(), sample.at);
            return Err(key);
        }
        Some(kept) if kept.at >= sample.at => {}
        Some(_) | None => drop(samples.insert(key, sample)),
    }
    Ok(())
}

fn sample(
    value: &Value,
    used: impl Fn(&Value) -> Result<Measure, String>,
) -> Result<Sample, String> {
    let text = value.get("timestamp").and_then(Value::as_str).ok_or("timestamp is missing")?;
    let at: Timestamp = text.parse().map_err(|_| {
        format!("timestamp: found {text:?}, expected a timestamp such as 2026-01-31T12:00:00Z")
    })?;
    // The window only shows how far back the sample reaches, so an invalid one does no harm.
    let window = value
        .get("window")
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    Ok(Sample { at, window, used: used(value)?, containers: ContainerSet::default() })
}

fn usage_of_pod(value: &Value) -> Result<Measure, String> {
    let containers = value.get("containers").and_then(Value::as_array);
    sum(containers.into_iter().flatten(), |field, container| used(field, container.get("usage")))
}

/// Sums the usage of containers.
fn sum<C>(
    containers: impl Iterator<Item = C>,
    used: impl Fn(&str, C) -> Result<Measure, String>,
) -> Result<Measure, String> {
    let mut sum: Option<Measure> = None;
    for (i, container) in containers.enumerate() {
        let used = used(&format!("containers[{i}].usage"), container)?;
        sum = Some(sum.unwrap_or_default().plus(used));
    }
    // The source could not measure a pod without containers. Counting it as idle would be a guess.
    sum.ok_or_else(|| "containers: found none".to_owned())
}

fn used(field: &str, usage: Option<&Value>) -> Result<Measure, String> {
    let [cpu, memory] = ["cpu", "memory"]
        .map(|resource| amount(field, resource, usage.and_then(|u| u.get(resource))));
    Ok(Measure { cpu: cpu?, memory: memory? })
}

fn amount(field: &str, resource: &str, found: Option<&Value>) -> Result<Amount, String> {
    let text = match found {
        Some(Value::String(text)) => text.clone(),
        // YAML without quotes turns `cpu: 2` into a number.
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => {
            return Err(format!("{field}.{resource}: found {other}, expected a quantity"));
        }
        None => return Err(missing(field, resource)),
    };
    parsed(field, resource, &text)
}

fn missing(field: &str, resource: &str) -> String {
    format!("{field}.{resource} is missing")
}

fn parsed(field: &str, resource: &str, text: &str) -> Result<Amount, String> {
    quantity::amount(resource, text).map_err(|error| format!("{field}.{resource}: {error}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    pub(in crate::model::usage) fn pod_metrics(at: &str, cpu: &[&str]) -> Value {
        let containers: Vec<_> = cpu
            .iter()
            .map(|c| json!({"name": "c", "usage": {"cpu": c, "memory": "1Mi"}}))
            .collect();
        json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
            "metadata": {"name": "web", "namespace": "shop"}, "timestamp": at, "window": "15s",
                "containers": containers,
        })
    }

    fn taken(values: &[Value]) -> Readings {
        let mut readings = Readings::default();
        for value in values {
            assert!(take(value, &mut readings), "{value}");
        }
        readings
    }

    #[test]
    fn the_usage_of_a_pod_is_the_sum_of_its_containers() {
        let readings = taken(&[pod_metrics("2026-01-01T00:00:00Z", &["250m", "50000000n"])]);
        let web = readings.pods[&("shop".to_owned(), "web".to_owned())];
        assert_eq!(
            web.used,
            Measure { cpu: Amount::millicores(300), memory: Amount::new(2 << 20) }
        );
        assert_eq!(web.at, "2026-01-01T00:00:00Z".parse().unwrap());
    }

    #[test]
    fn an_invalid_item_of_a_list_does_not_affect_the_others() {
        let item = |name: &str, cpu: &str| {
            json!({"metadata": {"name": name},
            "timestamp": "2026-01-01T00:00:00Z", "usage": {"cpu": cpu, "memory": "1"}})
        };
        let readings = taken(&[json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetricsList",
            "items": [item("n1", "1"), item("n2", "-1"), item("", "1"), item("n4", "many"), 7],
        })]);
        assert_eq!(readings.nodes.keys().collect::<Vec<_>>(), ["n1"]);
        assert_eq!(readings.skipped.count(), 4);
        assert!(
            readings.skipped.examples()[0].why.starts_with("usage.cpu: "),
            "{:?}",
            readings.skipped.examples()[0]
        );
    }

    #[test]
    fn the_newer_of_two_samples_counts_in_either_order() {
        let old = pod_metrics("2026-01-01T00:00:00Z", &["1"]);
        let new = pod_metrics("2026-01-01T00:00:15+00:00", &["2"]);
        for both in [[old.clone(), new.clone()], [new, old]] {
            let readings = taken(&both);
            assert_eq!(readings.pods.values().next().unwrap().used.cpu, Amount::millicores(2000));
        }
    }

    #[test]
    fn of_samples_that_differ_at_one_time_none_counts_in_any_order() {
        let sample = |seconds: u32, cpu: &str| {
            pod_metrics(&format!("2026-01-01T00:00:{seconds:02}Z"), &[cpu])
        };
        let cpu = |order: &[Value]| {
            let readings = taken(order);
            readings.pods.values().next().map(|sample| sample.used.cpu)
        };
        let [older, one, other, newer] =
            [sample(0, "7"), sample(15, "1"), sample(15, "2"), sample(30, "4")];
        for last in [&one, &other, &older] {
            assert_eq!(cpu(&[one.clone(), other.clone(), last.clone()]), None, "{last}");
        }
        assert_eq!(cpu(&[older, one.clone(), other.clone()]), None);
        for order in [[&one, &other, &newer], [&one, &newer, &other], [&newer, &one, &other]] {
            assert_eq!(cpu(&order.map(Clone::clone)), Some(Amount::millicores(4000)));
        }
    }

    #[test]
    fn an_invalid_sample_is_skipped_with_a_reason() {
        let without = |key: &str| {
            let mut value = pod_metrics("2026-01-01T00:00:00Z", &["1"]);
            value.as_object_mut().unwrap().remove(key);
            value
        };
        let mut no_memory = pod_metrics("2026-01-01T00:00:00Z", &["1"]);
        no_memory["containers"][0]["usage"].as_object_mut().unwrap().remove("memory");
        for (value, why) in [
            (without("timestamp"), "timestamp is missing"),
            (without("containers"), "containers: found none"),
            (pod_metrics("2026-01-01T00:00:00Z", &[]), "containers: found none"),
            (no_memory, "containers[0].usage.memory is missing"),
            (
                pod_metrics("yesterday", &["1"]),
                "timestamp: found \"yesterday\", expected a timestamp such as 2026-01-31T12:00:00Z",
            ),
        ] {
            let readings = taken(&[value]);
            assert!(readings.pods.is_empty());
            assert_eq!(readings.skipped.examples()[0].why, why);
            assert_eq!(
                (
                    readings.skipped.examples()[0].namespace.as_str(),
                    readings.skipped.examples()[0].name.as_str()
                ),
                ("shop", "web")
            );
        }
    }

    #[test]
    fn other_objects_are_ignored() {
        let mut readings = Readings::default();
        for value in [
            json!({"apiVersion": "v1", "kind": "Pod"}),
            json!([]),
            json!(null),
            json!({"kind": "PodMetrics"}),
        ] {
            assert!(!take(&value, &mut readings));
        }
        assert_eq!(readings.skipped.count(), 0);
    }

    proptest! {
        #[test]
        fn no_field_value_makes_the_import_panic(
            pointer in prop::sample::select(vec![
                "/metadata", "/metadata/name", "/timestamp", "/containers", "/containers/0",
                    "/containers/0/usage",
                "/containers/0/usage/cpu", "/containers/0/usage/memory",
            ]),
            text in ".{0,12}",
            number in any::<f64>(),
            choice in 0..5,
        ) {
            let mut value = pod_metrics("2026-01-01T00:00:00Z", &["1"]);
            *value.pointer_mut(pointer).unwrap() = match choice {
                0 => json!(text), 1 => json!(number), 2 => json!(null), 3 => json!([text]),
                    _ => json!({text: 1}),
            };
            let readings = taken(&[value]);
            prop_assert_eq!(readings.pods.len() + readings.skipped.count(), 1);
        }
    }
}
