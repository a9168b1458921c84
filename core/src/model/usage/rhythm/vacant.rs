//! The rhythms of pods that have left. Their replacements go on with them.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::PodFacts;

use super::Rhythm;

/// The time for which a replacement may come.
const KEPT: SignedDuration = SignedDuration::from_hours(1);

/// Namespace, kind and name of a controller.
type Controller = (String, String, String);

/// The rhythms of departed pods by controller, oldest first.
#[derive(Clone, Debug, Default)]
pub(in crate::model::usage) struct VacantRhythms {
    by_controller: BTreeMap<Controller, VecDeque<(Timestamp, Box<Rhythm>)>>,
}

impl VacantRhythms {
    /// Keeps the rhythm of a pod that has left.
    pub(in crate::model::usage) fn keep(
        &mut self,
        pod: &PodFacts,
        rhythm: Box<Rhythm>,
        now: Timestamp,
    ) {
        if let Some(controller) = controller(pod) {
            let vacant = self.by_controller.entry(controller).or_default();
            vacant.push_back((now, rhythm));
        }
    }

    /// Returns the rhythm of a pod that this one may replace.
    pub(in crate::model::usage) fn take(&mut self, pod: &PodFacts) -> Option<Box<Rhythm>> {
        if self.by_controller.is_empty() {
            return None;
        }
        let vacant = self.by_controller.get_mut(&controller(pod)?)?;
        vacant.pop_front().map(|(_, rhythm)| rhythm)
    }

    /// Forgets pods that have not been replaced for too long.
    pub(in crate::model::usage) fn prune(&mut self, now: Timestamp) {
        self.by_controller.retain(|_, vacant| {
            vacant.retain(|(left, _)| now.duration_since(*left) <= KEPT);
            !vacant.is_empty()
        });
    }
}

/// A pod without a controller has no replacement.
fn controller(pod: &PodFacts) -> Option<Controller> {
    let owner = pod.owners.iter().find(|owner| owner.controller)?;
    let (kind, name) = (owner.kind.clone(), owner.name.clone());
    Some((pod.namespace.clone(), kind, name))
}
