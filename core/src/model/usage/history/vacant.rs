//! Pods that have left, with what is known of them. Their replacements go on with it.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::PodFacts;
use crate::model::usage::rhythm::Rhythm;

/// The time for which a replacement may come.
const KEPT: SignedDuration = SignedDuration::from_hours(1);
/// The longest time for which a pod and its replacement are expected to exist at once.
const BOTH: SignedDuration = SignedDuration::from_mins(15);

/// Namespace, kind and name of a controller.
type Controller = (String, String, String);

/// A pod that has left, with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Departed {
    pub(super) left: Timestamp,
    pub(super) rhythm: Option<Box<Rhythm>>,
}

/// Pods that have left and have not been replaced yet, by controller, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Vacancies(BTreeMap<Controller, VecDeque<Departed>>);

impl Vacancies {
    /// Keeps what is known of a pod that has left.
    pub(super) fn keep(&mut self, pod: &PodFacts, departed: Departed) {
        if let Some(controller) = controller(pod) {
            self.0.entry(controller).or_default().push_back(departed);
        }
    }

    /// Returns what is known of a pod that this one may replace.
    pub(super) fn take(&mut self, pod: &PodFacts, now: Timestamp) -> Option<Departed> {
        if self.0.is_empty() || now.duration_since(pod.created) > KEPT.saturating_add(BOTH) {
            return None;
        }
        let vacant = self.0.get_mut(&controller(pod)?)?;
        let replaced =
            vacant.iter().position(|old| old.left.duration_since(pod.created) <= BOTH)?;
        vacant.remove(replaced)
    }

    /// Forgets pods that have not been replaced for too long.
    pub(super) fn prune(&mut self, now: Timestamp) {
        self.0.retain(|_, vacant| {
            vacant.retain(|old| now.duration_since(old.left) <= KEPT);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::snapshot::objects::Objects;
    use crate::model::snapshot::{Snapshot, import};

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    /// A pod of this ReplicaSet, created at this minute.
    fn pod(replica_set: &str, created: i64) -> Snapshot {
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "creationTimestamp": minute(created),
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                    "name": replica_set, "uid": "u", "controller": true}]},
            "spec": {"containers": []}});
        let mut objects = Objects::default();
        objects.apply(import::object(&pod).unwrap().unwrap());
        Snapshot::join(&objects, [])
    }

    /// Whether a pod that was created at this minute replaces one of `web` that left after an hour.
    fn replaces(replica_set: &str, created: i64, now: i64) -> bool {
        let mut vacant = Vacancies::default();
        let left = Departed { left: minute(60), rhythm: None };
        vacant.keep(pod("web", 0).pods[0].facts(), left);
        vacant.prune(minute(now));
        let new = pod(replica_set, created);
        let first = vacant.take(new.pods[0].facts(), minute(now)).is_some();
        assert!(vacant.take(new.pods[0].facts(), minute(now)).is_none());
        first
    }

    #[test]
    fn a_pod_replaces_one_of_its_controller_that_left_about_when_it_was_created() {
        assert!(replaces("web", 61, 62));
        assert!(replaces("web", 46, 61));
        assert!(!replaces("web", 44, 61));
        assert!(replaces("web", 119, 120));
        assert!(!replaces("web", 120, 121));
        assert!(!replaces("api", 61, 62));
    }
}
