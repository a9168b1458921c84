//! Readings from metrics.k8s.io in protobuf.

use prost::Message;

use crate::model::api::{
    ApiDuration, ApiTime, NodeMetrics, ObjectNames, ObjectOutline, PodMetrics, Quantities,
};
use crate::model::usage::{ContainerSet, Measure, Readings, Sample};

use super::{add_node, add_pod, missing, parsed, sum};

/// Adds one NodeMetrics message to the readings.
pub fn node(message: &[u8], into: &mut Readings) {
    let sample = NodeMetrics::decode(message)
        .map_err(|error| error.to_string())
        .and_then(|node| sample(node.timestamp, node.window, || used("usage", &node.usage)));
    add_node(names(message).1, sample, into);
}

/// Adds one PodMetrics message to the readings. A pod uses the sum of its containers.
pub fn pod(message: &[u8], into: &mut Readings) {
    let pod = PodMetrics::decode(message).map_err(|error| error.to_string());
    let containers = pod.iter().flat_map(|pod| &pod.containers);
    let containers = containers.map(|container| container.name.clone()).collect();
    let sample = pod.and_then(|pod| {
        sample(pod.timestamp, pod.window, || {
            sum(pod.containers.iter(), |field, container| used(field, &container.usage))
        })
    });
    let (namespace, name) = names(message);
    add_pod(namespace, name, sample, containers, into);
}

/// Reads namespace and name, also of a message that is invalid elsewhere.
fn names(message: &[u8]) -> (String, String) {
    let outline = ObjectOutline::decode(message).unwrap_or_default();
    let names = ObjectNames::decode(outline.metadata).unwrap_or_default();
    let names = [names.namespace, names.name];
    let [namespace, name] = names.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (namespace, name)
}

fn sample(
    timestamp: Option<ApiTime>,
    window: Option<ApiDuration>,
    used: impl Fn() -> Result<Measure, String>,
) -> Result<Sample, String> {
    let at = timestamp.unwrap_or_default().timestamp();
    let at = at.map_err(|error| format!("timestamp: {error}"))?;
    Ok(Sample {
        at: at.ok_or("timestamp is missing")?,
        window: window.unwrap_or_default().into(),
        used: used()?,
        containers: ContainerSet::default(),
    })
}

fn used(field: &str, usage: &Quantities) -> Result<Measure, String> {
    let [cpu, memory] = ["cpu", "memory"].map(|resource| {
        let quantity = usage.get(resource).ok_or_else(|| missing(field, resource))?;
        parsed(field, resource, &quantity.text)
    });
    Ok(Measure { cpu: cpu?, memory: memory? })
}
