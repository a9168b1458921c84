//! The pods that use something.

use std::rc::Rc;

use jiff::Timestamp;

use crate::model::snapshot::{NodeId, PodId, Snapshot};

use super::{PodTemplate, SimulatedCluster};

/// A pod that uses something, with all that its usage depends on: the states of many pods are far
/// away in memory.
pub(in crate::simulate) struct RunningPod {
    pub(in crate::simulate) pod: PodId,
    pub(in crate::simulate) node: NodeId,
    pub(in crate::simulate) template: Rc<PodTemplate>,
    pub(in crate::simulate) started: Option<Timestamp>,
    pub(in crate::simulate) created: Timestamp,
    pub(in crate::simulate) serial: u64,
}

impl SimulatedCluster {
    /// Returns the pods that run now, in the order of the snapshot, which must be the current one.
    pub(in crate::simulate) fn running(&self, snapshot: &Snapshot) -> Rc<[RunningPod]> {
        let known = &self.cache.running;
        Rc::clone(known.get_or_init(|| running(self, snapshot).collect()))
    }
}

/// Returns the running pods. The snapshot must be the current one, because its nodes and pods are
/// in the same order.
fn running(cluster: &SimulatedCluster, snapshot: &Snapshot) -> impl Iterator<Item = RunningPod> {
    let up: Vec<bool> = cluster.nodes.values().map(|m| m.down.is_none()).collect();
    let pods = cluster.pods.values().zip(&snapshot.pods).enumerate();
    pods.filter_map(move |(position, (life, pod))| {
        let node = pod.node.filter(|node| !pod.finished() && up[node.0])?;
        life.template.load.as_ref()?;
        Some(RunningPod {
            pod: PodId(position),
            node,
            template: Rc::clone(&life.template),
            started: life.facts.started,
            created: life.facts.created,
            serial: life.serial,
        })
    })
}
