//! The latest pods that got a node or left one, in the order in which that was observed.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::values::{Amount, PerResource};

use super::facts::{NonZeroRequests, PodFacts};
use super::{NodeId, PodId, Snapshot, requests_of};

/// The number of changes that are kept.
const KEPT: usize = 512;

/// The latest changes, with the pods as they were then.
#[derive(Clone, Debug, Default)]
pub(super) struct BindingLog {
    latest: VecDeque<(Binding, Arc<PodFacts>)>,
    /// The number of changes so far.
    count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Binding {
    Began,
    Ended,
}

/// A pod that got a node or left one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentBinding {
    /// The number of the change, counted from one.
    pub number: u64,
    /// Whether the pod got the node or left it.
    pub change: BindingChange,
}

/// The beginning or end of a pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindingChange {
    /// A pod got a node. `None` if the pod no longer exists.
    Began(Option<PodId>),
    /// A pod ended and left its node. `None` if the node no longer exists.
    Ended(Option<Departure>),
}

/// The requests of a pod that has ended, and where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The node that it left.
    pub node: NodeId,
    /// Its requests.
    pub requests: PerResource<Amount>,
    /// Its requests as the scheduler counts them for scores.
    pub non_zero_requests: NonZeroRequests,
}

impl BindingLog {
    /// Records what new facts of a pod change. `None` means that the pod does not exist.
    pub(super) fn note(&mut self, before: Option<&Arc<PodFacts>>, after: Option<&Arc<PodFacts>>) {
        let holds = |pod: &&Arc<PodFacts>| pod.node.is_some() && !pod.finished();
        let (before, after) = (before.filter(holds), after.filter(holds));
        if before.map(|pod| &pod.uid) == after.map(|pod| &pod.uid) {
            return;
        }
        for (binding, pod) in [(Binding::Ended, before), (Binding::Began, after)] {
            if let Some(pod) = pod {
                self.count += 1;
                self.latest.push_back((binding, Arc::clone(pod)));
            }
        }
        while self.latest.len() > KEPT {
            self.latest.pop_front();
        }
    }

    /// The changes with their numbers, the earliest first.
    fn numbered(&self) -> impl Iterator<Item = (u64, Binding, &PodFacts)> {
        let kept = u64::try_from(self.latest.len()).unwrap_or_default();
        let latest = (self.count - kept + 1..).zip(&self.latest);
        latest.map(|(number, (binding, pod))| (number, *binding, pod.as_ref()))
    }
}

impl Snapshot {
    /// Returns the latest pods that got a node or left one, the earliest first.
    pub fn bindings(&self) -> &[RecentBinding] {
        &self.bindings
    }

    pub(super) fn join_bindings(&mut self, log: &BindingLog) {
        let change = |(number, binding, facts): (u64, Binding, &PodFacts)| RecentBinding {
            number,
            change: match binding {
                Binding::Began => BindingChange::Began(self.same_pod(facts)),
                Binding::Ended => BindingChange::Ended(self.departure(facts)),
            },
        };
        self.bindings = log.numbered().map(change).collect();
    }

    fn same_pod(&self, facts: &PodFacts) -> Option<PodId> {
        let pod = self.find_pod(&facts.namespace, &facts.name);
        pod.filter(|id| self.pod(*id).uid == facts.uid)
    }

    fn departure(&self, facts: &PodFacts) -> Option<Departure> {
        Some(Departure {
            node: self.find_node(facts.node.as_deref()?)?,
            requests: requests_of(&facts.sizes, &self.resources),
            non_zero_requests: facts.sizes.non_zero_requests,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::snapshot::import;
    use crate::model::snapshot::objects::Object;

    fn pod(uid: &str, node: Option<&str>) -> Arc<PodFacts> {
        in_phase(uid, node, "Running")
    }

    fn in_phase(uid: &str, node: Option<&str>, phase: &str) -> Arc<PodFacts> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "uid": uid}, "spec": {"nodeName": node},
            "status": {"phase": phase}});
        match import::object(&pod) {
            Ok(Some(Object::Pod(pod))) => Arc::new(*pod),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_beginning_and_end_is_counted_once() {
        let mut log = BindingLog::default();
        let (pending, bound) = (pod("1", None), pod("1", Some("a")));
        let next = pod("2", Some("a"));
        let done = in_phase("2", Some("a"), "Succeeded");
        log.note(None, Some(&pending));
        log.note(Some(&pending), Some(&bound));
        log.note(Some(&bound), Some(&bound));
        log.note(Some(&bound), Some(&next));
        log.note(Some(&next), Some(&done));
        assert_eq!(log.count, 4, "a finished pod has left its node");
        log.note(Some(&done), None);
        let changes: Vec<_> = log
            .numbered()
            .map(|(number, binding, pod)| (number, binding, pod.uid.as_str()))
            .collect();
        assert_eq!(
            changes,
            [
                (1, Binding::Began, "1"),
                (2, Binding::Ended, "1"),
                (3, Binding::Began, "2"),
                (4, Binding::Ended, "2"),
            ]
        );
    }

    #[test]
    fn only_the_latest_are_kept() {
        let mut log = BindingLog::default();
        for uid in 0..600 {
            log.note(None, Some(&pod(&uid.to_string(), Some("a"))));
        }
        let numbers: Vec<u64> = log.numbered().map(|(number, ..)| number).collect();
        assert_eq!((numbers[0], numbers[numbers.len() - 1]), (89, 600));
    }
}
