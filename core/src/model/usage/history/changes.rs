//! The series of pods while a poll is recorded: most stay in place, few are added or leave.

use crate::model::snapshot::Pod;

use super::series::PodSeries;

/// The series before a poll, and the changes of the poll. Moving all series for a few changes would
/// take longer than the rest of the poll.
pub(super) struct PodSeriesChanges {
    series: Vec<PodSeries>,
    /// The position of the first series that no pod has been compared with.
    next: usize,
    /// The positions of series whose pods have left.
    left: Vec<usize>,
    /// New series, each with the position before which it belongs.
    new: Vec<(usize, PodSeries)>,
}

impl PodSeriesChanges {
    pub(super) const fn new(series: Vec<PodSeries>) -> Self {
        PodSeriesChanges { series, next: 0, left: Vec::new(), new: Vec::new() }
    }

    /// Returns the series of a pod, which must come after those asked for before. If there is none,
    /// `create` decides whether it gets one.
    ///
    /// A pod of the same name but another uid starts a new series: the old series counts as left.
    pub(super) fn of(&mut self, pod: &Pod, create: bool) -> Option<&mut PodSeries> {
        while self.next < self.series.len() && self.series[self.next].order(pod).is_le() {
            let position = self.next;
            self.next += 1;
            if self.series[position].belongs_to(pod) {
                return Some(&mut self.series[position]);
            }
            self.left.push(position);
        }
        if !create {
            return None;
        }
        self.new.push((self.next, PodSeries::new(pod)));
        self.new.last_mut().map(|(_, series)| series)
    }

    /// Returns the series of all pods in order, and those of pods that have left.
    pub(super) fn finish(mut self) -> (Vec<PodSeries>, Vec<PodSeries>) {
        self.left.extend(self.next..self.series.len());
        if self.left.is_empty() && self.new.is_empty() {
            return (self.series, Vec::new());
        }
        let (mut kept, mut left) = (Vec::with_capacity(self.series.len()), Vec::new());
        let (mut leaving, mut new) =
            (self.left.into_iter().peekable(), self.new.into_iter().peekable());
        for (position, series) in self.series.into_iter().enumerate() {
            while let Some((_, added)) = new.next_if(|(before, _)| *before <= position) {
                kept.push(added);
            }
            if leaving.next_if_eq(&position).is_some() {
                left.push(series);
            } else {
                kept.push(series);
            }
        }
        kept.extend(new.map(|(_, added)| added));
        (kept, left)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::model::snapshot::objects::Objects;
    use crate::model::snapshot::{Snapshot, import};

    /// Pods by position, with the uid of each; zero for a pod that does not exist.
    fn snapshot(uids: &[u8]) -> Snapshot {
        let mut objects = Objects::default();
        for (position, uid) in uids.iter().enumerate().filter(|(_, uid)| **uid > 0) {
            let pod = json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": format!("p{position}"), "uid": uid.to_string()},
                "spec": {"containers": []}});
            objects.apply(import::object(&pod).unwrap().unwrap());
        }
        Snapshot::join(&objects, [])
    }

    /// Records a poll in which each of these pods has a sample or not.
    fn record(known: Vec<PodSeries>, pods: &Snapshot, samples: &[bool]) -> [Vec<String>; 2] {
        let mut changes = PodSeriesChanges::new(known);
        for (pod, sample) in pods.pods.iter().zip(samples) {
            let series = changes.of(pod, *sample);
            assert!(series.is_none_or(|series| series.belongs_to(pod)));
        }
        let (kept, left) = changes.finish();
        [kept, left].map(|series| series.iter().map(name).collect())
    }

    fn name(series: &PodSeries) -> String {
        format!("{}/{}", series.pod.name, series.pod.uid)
    }

    proptest! {
        #[test]
        fn each_pod_keeps_its_series_and_the_order_stays(
            before in prop::collection::vec(0..3_u8, 9),
            after in prop::collection::vec(0..3_u8, 9),
            samples in prop::collection::vec(any::<bool>(), 9),
        ) {
            let (before, after) = (snapshot(&before), snapshot(&after));
            let known: Vec<PodSeries> = before.pods.iter().map(PodSeries::new).collect();
            let names = |pods: &Snapshot| -> Vec<String> {
                pods.pods.iter().map(PodSeries::new).map(|series| name(&series)).collect()
            };
            let (old, new) = (names(&before), names(&after));
            let stay = new.iter().zip(&samples).filter(|(n, sample)| **sample || old.contains(n));
            let kept: Vec<String> = stay.map(|(n, _)| n.clone()).collect();
            let left: Vec<String> = old.iter().filter(|n| !new.contains(n)).cloned().collect();
            prop_assert_eq!(record(known, &after, &samples), [kept, left]);
        }
    }
}
