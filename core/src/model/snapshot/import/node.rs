//! Conversion of nodes.

use std::sync::Arc;

use jiff::Timestamp;

use crate::model::api::{ApiImage, ApiNode, ApiNodeStatus, ApiTaint};
use crate::model::snapshot::facts::{Image, NodeClosure, NodeFacts, NodeFeature, Taint};
use crate::values::{Amount, value_of};

use super::{Wrong, annotation, effect, filled, name_of, requests, time};

/// Annotations by which autoscalers keep a node.
const UNREMOVABLE: [&str; 2] =
    ["cluster-autoscaler.kubernetes.io/scale-down-disabled", "karpenter.sh/do-not-disrupt"];

/// The most that an allocatable amount can be, as a multiple of the capacity. A kubelet reports at
/// most the capacity. Webhooks that overcommit nodes, such as that of koordinator, raise it by a
/// small factor, and every pod would seem to fit where it is absurd.
const OVERCOMMITTED: u64 = 10;

/// Converts a node.
pub(super) fn read(node: &ApiNode) -> Result<NodeFacts, Wrong> {
    let status = &node.status;
    let capacity = capacity(status)?;
    Ok(NodeFacts {
        name: name_of(&node.metadata)?,
        // Only the order of the nodes depends on it, so an unreadable time harms nothing.
        created: time("metadata.creationTimestamp", node.metadata.creation_timestamp)
            .ok()
            .flatten()
            .unwrap_or(Timestamp::UNIX_EPOCH),
        addresses: internal_addresses(status),
        labels: node.metadata.labels.clone(),
        taints: node
            .spec
            .taints
            .iter()
            .enumerate()
            .map(|(i, found)| taint(i, found))
            .collect::<Result<_, _>>()?,
        // A node without this condition counts as ready, as in descheduler.
        ready: !status.conditions.iter().any(|c| c.kind == "Ready" && c.status != "True"),
        closures: closures(node),
        os: os(node),
        features: features(status),
        allocatable: allocatable(status, &capacity)?,
        capacity,
        unremovable: UNREMOVABLE
            .into_iter()
            .find(|name| annotation(&node.metadata, name) == Some("true")),
        images: status.images.iter().map(image).collect(),
    })
}

fn closures(node: &ApiNode) -> Vec<NodeClosure> {
    let conditions = &node.status.conditions;
    let deleting = node.metadata.deletion_timestamp.is_some();
    let never_ready = !conditions.iter().any(|c| c.kind == "Ready");
    let own = [
        deleting.then_some(NodeClosure::Deleting),
        node.spec.unschedulable.then_some(NodeClosure::Cordoned),
        never_ready.then_some(NodeClosure::NeverReady),
    ];
    let marked = node.spec.taints.iter().filter_map(|t| NodeClosure::of_taint(&t.key));
    let met = conditions.iter().filter(|c| c.status == "True");
    let mut closures: Vec<NodeClosure> = own.into_iter().flatten().collect();
    closures.extend(met.filter_map(|c| NodeClosure::of_condition(&c.kind)));
    closures.extend(marked);
    closures.sort_unstable();
    closures.dedup();
    closures
}

/// The kubelet reports its system in both places. An object from a file may lack one.
fn os(node: &ApiNode) -> Option<String> {
    let label = node.metadata.labels.get("kubernetes.io/os");
    filled(&node.status.node_info.operating_system).or_else(|| label.cloned())
}

fn features(status: &ApiNodeStatus) -> Vec<NodeFeature> {
    let handlers = &status.runtime_handlers;
    let user_namespaces = handlers.iter().any(|handler| handler.features.user_namespaces);
    let can = [
        (status.features.supplemental_groups_policy, NodeFeature::StrictGroups),
        (user_namespaces, NodeFeature::UserNamespaces),
    ];
    let can = can.into_iter().filter(|(can, _)| *can).map(|(_, feature)| feature);
    let named = handlers.iter().filter(|handler| !handler.name.is_empty());
    can.chain(named.map(|handler| NodeFeature::Handler(handler.name.clone()))).collect()
}

fn internal_addresses(status: &ApiNodeStatus) -> Vec<String> {
    status.addresses.iter().filter(|a| a.kind == "InternalIP").map(|a| a.address.clone()).collect()
}

fn image(image: &ApiImage) -> Arc<Image> {
    Arc::new(Image {
        names: image.names.clone(),
        // ImageLocality scores by size. An image without a valid size scores nothing.
        size: u64::try_from(image.size_bytes).unwrap_or_default(),
    })
}

fn allocatable(
    status: &ApiNodeStatus,
    capacity: &requests::AmountList,
) -> Result<requests::AmountList, Wrong> {
    if status.allocatable.is_empty() {
        // The API server copies capacity if a kubelet reports no allocatable. An object from a file
        // may lack that.
        return requests::amounts("status.capacity", &status.capacity);
    }
    let allocatable = requests::amounts("status.allocatable", &status.allocatable)?;
    for (name, amount) in &allocatable {
        let most = |capacity: Amount| Amount::new(capacity.get().saturating_mul(OVERCOMMITTED));
        if value_of(capacity, name).is_some_and(|capacity| *amount > most(capacity)) {
            let [part, whole] = [&status.allocatable, &status.capacity].map(|all| &all[name].text);
            return Err(format!("status.allocatable.{name}: {part} of a capacity of {whole}"));
        }
    }
    Ok(allocatable)
}

/// The capacity that samples and allocatable amounts are checked against. A machine without any is
/// not known.
fn capacity(status: &ApiNodeStatus) -> Result<requests::AmountList, Wrong> {
    let mut amounts = requests::amounts("status.capacity", &status.capacity)?;
    let measured = |name: &str| name == "cpu" || name == "memory";
    amounts.retain(|(name, amount)| measured(name) && *amount > Amount::ZERO);
    Ok(amounts)
}

fn taint(i: usize, taint: &ApiTaint) -> Result<Taint, Wrong> {
    Ok(Taint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: effect(&format!("spec.taints[{i}].effect"), &taint.effect)?,
    })
}
