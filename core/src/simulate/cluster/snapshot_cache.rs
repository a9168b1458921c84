//! The snapshot that watches show now, joined when an object has changed.

use std::cell::OnceCell;
use std::rc::Rc;

use jiff::Timestamp;

use crate::model::snapshot::objects::Objects;
use crate::model::snapshot::{NodeId, PodId, Snapshot};

use super::{PodTemplate, SimulatedCluster};

/// The last snapshot, and its running pods.
///
/// Joining is the most expensive part of a step, so the snapshot is used again until an object
/// changes, and then its pods that have not changed.
#[derive(Default)]
pub(super) struct SnapshotCache {
    current: Option<Rc<Snapshot>>,
    /// The last snapshot, if an object has changed since.
    outdated: Option<Rc<Snapshot>>,
    /// The running pods of the current snapshot, once they are known.
    running: OnceCell<Rc<[RunningPod]>>,
}

impl SnapshotCache {
    /// Notes that an object has changed.
    pub(super) fn outdate(&mut self) {
        self.outdated = self.current.take().or(self.outdated.take());
        self.running = OnceCell::new();
    }

    /// Returns the snapshot. `resources` are those of the policy.
    pub(super) fn snapshot(&mut self, objects: &Objects, resources: &[String]) -> Rc<Snapshot> {
        let named = resources.iter().map(String::as_str);
        let joined = match (self.current.take(), self.outdated.take()) {
            (Some(current), _) => current,
            (None, Some(old)) => Rc::new(Rc::unwrap_or_clone(old).rejoined(objects, named)),
            (None, None) => Rc::new(Snapshot::join(objects, named)),
        };
        self.current = Some(Rc::clone(&joined));
        joined
    }
}

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
