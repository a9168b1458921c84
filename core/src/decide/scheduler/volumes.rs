//! VolumeBinding, VolumeZone and VolumeRestrictions: the node must be able to access bound
//! volumes, the storage class of a new volume must allow the node, and a ReadWriteOncePod claim
//! must not be in use. While a new volume is provisioned for a node that the scheduler has chosen
//! before, only that node counts (`FindPodVolumes`). A claim that is unknown, or whose volume or
//! class is unknown, adds no condition: the gate `replacement` keeps pods with such claims, and
//! [`super::waiting`] leaves out those that wait because of them.

use std::collections::BTreeMap;

use crate::model::snapshot::Node;
use crate::model::snapshot::facts::{Claim, Volume};
use crate::policy::FilterPlugin;
use crate::values::selector::{Labels, NodeTerm, Selector};

use super::question::Question;

const BETA: &str = "failure-domain.beta.kubernetes.io/";
const STABLE: &str = "topology.kubernetes.io/";

/// The nodes that can access a pod's volumes.
pub(super) struct VolumeAccess<'w> {
    nodes: Vec<&'w [NodeTerm]>,
    zones: Vec<(&'w str, &'w str)>,
    /// For each new volume, the topologies that its class allows.
    topologies: Vec<&'w [Selector]>,
    /// The nodes for which new volumes are being provisioned.
    selected: Vec<&'w str>,
}

impl<'w> VolumeAccess<'w> {
    pub(super) fn new(question: &Question<'_, 'w>) -> Self {
        let snapshot = question.snapshot;
        let bound =
            claims(question).filter_map(|claim| snapshot.volumes.get(claim.volume.as_ref()?));
        let volumes: Vec<&Volume> = bound.collect();
        let nodes = volumes.iter().filter(|_| question.runs(FilterPlugin::VolumeBinding));
        let zones = volumes.iter().filter(|_| question.runs(FilterPlugin::VolumeZone));
        let binds = question.runs(FilterPlugin::VolumeBinding);
        let classes = snapshot.new_volumes(question.pod);
        let classes = classes.into_iter().filter_map(|new| new.class);
        let topologies = classes.filter(|c| binds && !c.topologies.is_empty());
        let unbound = claims(question).filter(|claim| binds && claim.volume.is_none());
        VolumeAccess {
            selected: unbound.filter_map(|c| c.selected_node.as_deref()).collect(),
            topologies: topologies.map(|c| c.topologies.as_slice()).collect(),
            nodes: nodes.filter_map(|v| v.nodes.as_deref()).collect(),
            zones: zones
                .flat_map(|v| &v.zones)
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect(),
        }
    }

    pub(super) fn reach(&self, node: &Node) -> bool {
        let near = |terms: &&[NodeTerm]| terms.iter().any(|term| holds(term, &node.labels));
        // A term without expressions matches no node.
        let allows = |term: &Selector| !term.is_empty() && term.matches(&node.labels);
        self.nodes.iter().all(near)
            && self.in_zone(&node.labels)
            && self.selected.iter().all(|name| **name == node.name)
            && self.topologies.iter().all(|terms| terms.iter().any(allows))
    }

    /// Checks the zone of a node. A node without zone and region labels belongs to a cluster
    /// without zones.
    fn in_zone(&self, labels: &Labels) -> bool {
        let known = |prefix| {
            ["zone", "region"].iter().any(|kind| labels.contains_key(&format!("{prefix}{kind}")))
        };
        if self.zones.is_empty() || !(known(STABLE) || known(BETA)) {
            return true;
        }
        let of = |key: &str| {
            labels.get(key).or_else(|| labels.get(&format!("{STABLE}{}", key.strip_prefix(BETA)?)))
        };
        self.zones.iter().all(|(key, zones)| {
            of(key).is_some_and(|own| zones.split("__").any(|zone| zone == own))
        })
    }
}

/// Matches a term. The scheduler gives such a term only the labels of the node, not its fields.
fn holds(term: &NodeTerm, labels: &Labels) -> bool {
    let empty = term.labels.is_empty() && term.fields.is_empty();
    !empty && term.labels.matches(labels) && term.fields.matches(&BTreeMap::new())
}

/// Returns true if another pod, or the replaced one, uses a ReadWriteOncePod claim of the pod.
pub(super) fn in_use(question: &Question<'_, '_>) -> bool {
    if !question.runs(FilterPlugin::VolumeRestrictions)
        || !claims(question).any(|claim| claim.one_pod)
    {
        return false;
    }
    let snapshot = question.snapshot;
    let single = |name: &&String| find(question, name).is_some_and(|claim| claim.one_pod);
    let wanted: Vec<&String> = question.pod.volumes.claims.iter().filter(single).collect();
    snapshot.pod_ids().filter(|other| question.place(*other).is_some()).any(|other| {
        let other = snapshot.pod(other);
        other.namespace == question.pod.namespace
            && wanted.iter().any(|name| other.volumes.claims.contains(name))
    })
}

fn claims<'w>(question: &Question<'_, 'w>) -> impl Iterator<Item = &'w Claim> {
    question.pod.volumes.claims.iter().filter_map(|name| find(question, name))
}

fn find<'w>(question: &Question<'_, 'w>, name: &str) -> Option<&'w Claim> {
    let name = (question.pod.namespace.clone(), name.to_owned());
    question.snapshot.claims.get(&name)
}
