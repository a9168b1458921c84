//! The latest placements of pods, in the order in which they were observed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::facts::PodFacts;
use super::{PodId, Snapshot};

/// The number of placements that are kept.
const KEPT: usize = 512;

/// The latest placements: pods as they were when they had just got a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Placements {
    latest: VecDeque<Arc<PodFacts>>,
    /// The number of placements so far.
    count: u64,
}

/// A placement of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentPlacement {
    /// The number of the placement, counted from one.
    pub number: u64,
    /// The pod; `None` if it no longer exists.
    pub pod: Option<PodId>,
}

impl Placements {
    /// Records new facts of a pod if the pod has a node now and had none before.
    pub(super) fn note(&mut self, before: Option<&PodFacts>, after: &Arc<PodFacts>) {
        let bound = |pod: &PodFacts| pod.node.is_some() && pod.uid == after.uid;
        if after.node.is_none() || before.is_some_and(bound) {
            return;
        }
        self.count += 1;
        self.latest.push_back(Arc::clone(after));
        if self.latest.len() > KEPT {
            self.latest.pop_front();
        }
    }

    /// The placements with their numbers, the earliest first.
    fn numbered(&self) -> impl Iterator<Item = (u64, &PodFacts)> {
        let kept = u64::try_from(self.latest.len()).unwrap_or_default();
        (self.count - kept + 1..).zip(self.latest.iter().map(Arc::as_ref))
    }
}

impl Snapshot {
    /// Returns the latest placements, the earliest first.
    pub fn placements(&self) -> &[RecentPlacement] {
        &self.placements
    }

    pub(super) fn join_placements(&mut self, placements: &Placements) {
        let find = |(number, facts): (u64, &PodFacts)| {
            let pod = self.find_pod(&facts.namespace, &facts.name);
            let pod = pod.filter(|id| self.pod(*id).uid == facts.uid);
            RecentPlacement { number, pod }
        };
        self.placements = placements.numbered().map(find).collect();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::snapshot::import;
    use crate::model::snapshot::objects::Object;

    fn pod(uid: &str, node: Option<&str>) -> Arc<PodFacts> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "uid": uid}, "spec": {"nodeName": node}});
        match import::object(&pod) {
            Ok(Some(Object::Pod(pod))) => Arc::new(*pod),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_placement_is_counted_once() {
        let mut placements = Placements::default();
        let (pending, bound) = (pod("1", None), pod("1", Some("a")));
        placements.note(None, &pending);
        placements.note(Some(&pending), &bound);
        placements.note(Some(&bound), &bound);
        placements.note(Some(&bound), &pod("2", Some("a")));
        let numbers: Vec<_> = placements
            .numbered()
            .map(|(n, pod)| (n, pod.uid.as_str()))
            .collect();
        assert_eq!(numbers, [(1, "1"), (2, "2")]);
    }

    #[test]
    fn only_the_latest_are_kept() {
        let mut placements = Placements::default();
        for uid in 0..600 {
            placements.note(None, &pod(&uid.to_string(), Some("a")));
        }
        let numbers: Vec<u64> = placements.numbered().map(|(number, _)| number).collect();
        assert_eq!((numbers[0], numbers[numbers.len() - 1]), (89, 600));
    }
}
