//! Conversion of nodes.

use k8s_openapi::api::core::v1 as core;

use crate::model::snapshot::facts::{Image, NodeFacts, Taint};

use super::{Wrong, annotation, effect, name_of, requests};

/// Converts a node.
pub(super) fn read(node: &core::Node) -> Result<NodeFacts, Wrong> {
    let spec = node.spec.as_ref();
    let status = node.status.as_ref();
    let conditions = status
        .and_then(|s| s.conditions.as_deref())
        .unwrap_or_default();
    let taints = spec.and_then(|s| s.taints.as_deref()).unwrap_or_default();
    Ok(NodeFacts {
        name: name_of(&node.metadata)?,
        addresses: internal_addresses(status),
        labels: node.metadata.labels.clone().unwrap_or_default(),
        taints: taints
            .iter()
            .enumerate()
            .map(taint)
            .collect::<Result<_, _>>()?,
        cordoned: spec.and_then(|s| s.unschedulable).unwrap_or_default(),
        // A node without this condition counts as ready, as in descheduler.
        ready: !conditions
            .iter()
            .any(|c| c.type_ == "Ready" && c.status != "True"),
        allocatable: allocatable(status)?,
        scale_down_disabled: annotation(
            &node.metadata,
            "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        )
        .is_some_and(|value| value == "true"),
        images: status
            .and_then(|s| s.images.as_deref())
            .unwrap_or_default()
            .iter()
            .map(image)
            .collect(),
    })
}

fn internal_addresses(status: Option<&core::NodeStatus>) -> Vec<String> {
    let all = status
        .and_then(|s| s.addresses.as_deref())
        .unwrap_or_default();
    all.iter()
        .filter(|a| a.type_ == "InternalIP")
        .map(|a| a.address.clone())
        .collect()
}

fn image(image: &core::ContainerImage) -> Image {
    let size = image
        .size_bytes
        // ImageLocality scores by size. An image without a valid size scores nothing.
        .and_then(|n| u64::try_from(n).ok())
        .unwrap_or_default();
    Image {
        names: image.names.clone().unwrap_or_default(),
        size,
    }
}

fn allocatable(status: Option<&core::NodeStatus>) -> Result<requests::AmountList, Wrong> {
    let full = |table: Option<&requests::Quantities>| table.is_some_and(|t| !t.is_empty());
    match status {
        Some(s) if full(s.allocatable.as_ref()) => {
            requests::amounts("status.allocatable", s.allocatable.as_ref())
        }
        // The API server copies capacity if a kubelet reports no allocatable. An object from a file
        // may lack that.
        Some(s) => requests::amounts("status.capacity", s.capacity.as_ref()),
        None => Ok(Vec::new()),
    }
}

fn taint((i, taint): (usize, &core::Taint)) -> Result<Taint, Wrong> {
    Ok(Taint {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: effect(&format!("spec.taints[{i}].effect"), &taint.effect)?,
    })
}
