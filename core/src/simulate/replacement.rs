//! The order of replacements: each is created before the next eviction.

use super::cluster::SimulatedCluster;
use super::controllers;
use super::scenario::WorkloadKind;
use crate::model::snapshot::objects::Name;

/// Replaces a pod that was just evicted, as the controllers of a Deployment or Job do within
/// milliseconds. Others wait until the pod has ended.
pub(super) fn replace(cluster: &mut SimulatedCluster, evicted: &Name) {
    let Some(work) = cluster.pods.get(evicted).and_then(|life| life.work) else {
        return;
    };
    if matches!(cluster.works[work].kind, WorkloadKind::Deployment | WorkloadKind::Job) {
        let own = cluster.lists.of(work);
        controllers::alike(cluster, work, &own);
    }
}
