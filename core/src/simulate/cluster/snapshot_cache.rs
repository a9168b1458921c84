//! The snapshot that watches show now, joined when an object has changed.

use std::cell::OnceCell;
use std::rc::Rc;

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::objects::Objects;

use super::running::RunningPod;

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
    pub(super) running: OnceCell<Rc<[RunningPod]>>,
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
