//! The relief that moves achieve: for an hour after each cycle with moves, the time that their
//! nodes were above a target is compared with the time that they would have been without the moves.
//!
//! Without its moves, a node would have its present usage and that of the replacements of its pods,
//! wherever they run. A pod counts from when it has left the node. As long as its replacement
//! has no reading, its usage at the decision counts. Pods that later cycles moved away count in
//! both, so that each cycle is credited with its own moves only. The nodes where the replacements
//! run do not count.
//!
//! Nothing of it is stored: after a restart, the moves of the last hour have no result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::model::ledger::Ledger;
use crate::model::record::{Fact, RELIEF, RecordLine};
use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::{Measure, Readings, Sample};
use crate::values::text::count;
use crate::values::{NodeMinutes, Ratio, ResourceId};

/// The time after a decision for which its moves are watched.
const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// The longest time from one reading of a node to the next that is known. With less than
/// [`ENOUGH`] known, the result is not.
const LONGEST_GAP: SignedDuration = SignedDuration::from_mins(5);
const ENOUGH: SignedDuration = SignedDuration::from_mins(54);
/// The smallest predicted relief with which the achieved one is compared.
const LEAST: f64 = 1.0;
/// How far the achieved relief of a good prediction may be from it, as a share.
const CLOSE: f64 = 0.2;

/// An eviction that should relieve a node.
#[derive(Clone, Debug)]
pub struct RelievingMove {
    /// The time of the decision.
    pub decided: Timestamp,
    /// The uid of the pod.
    pub uid: String,
    /// The top-level controller of the pod, or the pod itself if it has none.
    pub workload: OwnerKey,
    /// The node of the pod.
    pub node: String,
    /// `cpu` or `memory`, which is above its target on the node.
    pub resource: ResourceId,
    /// That target.
    pub target: Ratio,
    /// The usage of the pod at the decision, as a share of the node.
    pub share: Ratio,
    /// The relief that was expected.
    pub predicted: NodeMinutes,
}

/// The relief by the moves of one cycle, known an hour later.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CycleRelief {
    /// The time of the decision.
    pub decided: Timestamp,
    /// The moves whose result is known.
    pub moves: usize,
    /// The relief that was expected of them.
    pub predicted: NodeMinutes,
    /// The relief that they achieved.
    pub achieved: NodeMinutes,
}

impl CycleRelief {
    /// Returns the achieved relief as a share of the predicted one; `None` if less than a
    /// node-minute was predicted.
    pub fn ratio(&self) -> Option<Ratio> {
        let predicted = self.predicted.get();
        Ratio::new(self.achieved.get() / predicted).filter(|_| predicted >= LEAST)
    }

    /// Returns true if the achieved relief is within 20 % of the predicted one.
    pub fn is_close(&self) -> bool {
        let ratio = self.ratio();
        ratio.is_some_and(|ratio| (ratio.get() - 1.0).abs() <= CLOSE)
    }
}

impl fmt::Display for CycleRelief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (moves, achieved, predicted) =
            (count(self.moves, "move"), self.achieved, self.predicted);
        write!(f, "{moves}: {achieved} saved in an hour, {predicted} predicted")
    }
}

impl CycleRelief {
    /// Reads the relief in a line of the record; `None` for other types.
    pub fn of_line(line: &RecordLine) -> Option<Self> {
        let relief = (line.kind == RELIEF).then(|| CycleRelief::deserialize(&line.data));
        relief?.ok()
    }

    /// Returns what the record says about it at this time.
    pub fn fact(&self, time: Timestamp) -> Fact {
        let data = json!({
            "outcome": "measured", "message": self.to_string(), "decided": self.decided,
            "moves": self.moves, "predicted": self.predicted, "achieved": self.achieved,
        });
        let id = format!("relief/{}", self.decided);
        Fact::new(id, RELIEF, time, count(self.moves, "move"), data)
    }
}

/// The relief by the moves of several cycles together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReliefTotal {
    /// The relief that was predicted.
    pub predicted: NodeMinutes,
    /// The relief that was achieved.
    pub achieved: NodeMinutes,
    /// The cycles whose achieved relief can be compared with the predicted one.
    pub cycles: usize,
    /// The cycles whose achieved relief is within 20 % of the predicted one.
    pub close: usize,
}

impl ReliefTotal {
    /// Returns the total; `None` without cycles.
    pub fn of(cycles: &[CycleRelief]) -> Option<Self> {
        let sum = |part: fn(&CycleRelief) -> NodeMinutes| cycles.iter().map(part).sum();
        let with = |is: fn(&CycleRelief) -> bool| cycles.iter().filter(|c| is(c)).count();
        (!cycles.is_empty()).then(|| ReliefTotal {
            predicted: sum(|cycle| cycle.predicted),
            achieved: sum(|cycle| cycle.achieved),
            cycles: with(|cycle| cycle.ratio().is_some()),
            close: with(CycleRelief::is_close),
        })
    }
}

/// The moves of the last hour.
#[derive(Clone, Debug, Default)]
pub struct ReliefWatch {
    nodes: Vec<WatchedNode>,
}

/// The moves of one cycle away from one node because of one resource.
#[derive(Clone, Debug)]
struct WatchedNode {
    decided: Timestamp,
    node: String,
    resource: ResourceId,
    target: Ratio,
    moves: Vec<WatchedPod>,
    predicted: NodeMinutes,
    /// The end of the time that is counted so far.
    until: Timestamp,
    known: SignedDuration,
    with: SignedDuration,
    without: SignedDuration,
}

#[derive(Clone, Debug)]
struct WatchedPod {
    uid: String,
    workload: OwnerKey,
    share: Ratio,
    /// The namespace and the name of the replacement.
    replacement: Option<(String, String)>,
    has_left: bool,
}

/// The whereabouts of a pod that was evicted.
struct PodTrack {
    is_there: bool,
    /// The namespace and the name of the replacement.
    replacement: Option<(String, String)>,
}

impl ReliefWatch {
    /// Adds an eviction that was made.
    pub fn add(&mut self, one: RelievingMove) {
        let pod = WatchedPod {
            uid: one.uid,
            workload: one.workload,
            share: one.share,
            replacement: None,
            has_left: false,
        };
        let is_it = |known: &&mut WatchedNode| {
            let same_node = known.node == one.node && known.resource == one.resource;
            same_node && known.decided == one.decided
        };
        if let Some(known) = self.nodes.iter_mut().find(is_it) {
            known.predicted = known.predicted.plus(one.predicted);
            known.moves.push(pod);
            return;
        }
        self.nodes.push(WatchedNode {
            decided: one.decided,
            node: one.node,
            resource: one.resource,
            target: one.target,
            moves: vec![pod],
            predicted: one.predicted,
            until: one.decided,
            known: SignedDuration::ZERO,
            with: SignedDuration::ZERO,
            without: SignedDuration::ZERO,
        });
    }

    /// Counts the time up to these readings.
    pub fn observe(&mut self, snapshot: &Snapshot, readings: &Readings, ledger: &Ledger) {
        if self.nodes.is_empty() {
            return;
        }
        let tracks = self.tracks(snapshot, ledger);
        let mut moved = Vec::new();
        for watched in &mut self.nodes {
            let (node, resource) = (watched.node.clone(), watched.resource);
            let whole = snapshot.find_node(&node).map(|id| snapshot.node(id).allocatable[resource]);
            let share = |used: Measure| used.of(resource)?.share_of(whole?);
            for pod in &mut watched.moves {
                if let Some(track) = tracks.get(&pod.uid) {
                    pod.follow(track);
                }
            }
            let shares = watched.moves.iter().filter(|pod| pod.has_left);
            let shares = shares.map(|pod| {
                let now = pod.replacement.as_ref().and_then(|name| readings.pods.get(name));
                now.and_then(|sample| share(sample.used)).unwrap_or(pod.share)
            });
            moved.push(shares.fold(Ratio::ZERO, Ratio::plus));
        }
        // The usage that later cycles have moved away, so the newest cycle comes first.
        let mut later: BTreeMap<(String, ResourceId), Ratio> = BTreeMap::new();
        for (watched, moved) in self.nodes.iter_mut().zip(moved).rev() {
            let by_later = later.entry((watched.node.clone(), watched.resource));
            let by_later = by_later.or_insert(Ratio::ZERO);
            let sample = readings.nodes.get(&watched.node).copied();
            watched.add_time(snapshot, sample, *by_later, moved);
            *by_later = by_later.plus(moved);
        }
    }

    /// Returns where each watched pod is now, by its uid.
    fn tracks(&self, snapshot: &Snapshot, ledger: &Ledger) -> BTreeMap<String, PodTrack> {
        let watched = || self.nodes.iter().flat_map(|node| &node.moves);
        let workloads: BTreeSet<&OwnerKey> = watched().map(|pod| &pod.workload).collect();
        let workloads = workloads.into_iter().filter_map(|key| snapshot.find_workload(key));
        let pods = workloads.flat_map(|id| &snapshot.workload(id).pods);
        let pods: BTreeMap<&str, &Pod> =
            pods.map(|id| snapshot.pod(*id)).map(|pod| (pod.uid.as_str(), pod)).collect();
        let uids: BTreeSet<&str> = watched().map(|pod| pod.uid.as_str()).collect();
        // The first entry counts.
        let entries = ledger.entries().iter().rev();
        let replacements: BTreeMap<&str, Option<&str>> = entries
            .filter(|entry| uids.contains(entry.uid.as_str()))
            .map(|entry| (entry.uid.as_str(), entry.replacement.as_deref()))
            .collect();
        let track = |pod: &WatchedPod| {
            let uid = replacements.get(pod.uid.as_str()).copied().flatten();
            let replacement = uid.and_then(|uid| pods.get(uid));
            let track = PodTrack {
                is_there: pods.contains_key(pod.uid.as_str()),
                replacement: replacement.map(|pod| (pod.namespace.clone(), pod.name.clone())),
            };
            (pod.uid.clone(), track)
        };
        watched().map(track).collect()
    }

    /// Returns the cycles whose hour is over, the oldest first, and forgets them. A node without
    /// readings for more than six minutes of the hour has no result.
    pub fn take_ended(&mut self, now: Timestamp) -> Vec<CycleRelief> {
        let (ended, others): (Vec<WatchedNode>, _) = std::mem::take(&mut self.nodes)
            .into_iter()
            .partition(|watched| now.duration_since(watched.decided) > HOUR);
        self.nodes = others;
        let mut cycles: BTreeMap<Timestamp, CycleRelief> = BTreeMap::new();
        for watched in ended.iter().filter(|watched| watched.known >= ENOUGH) {
            let cycle = cycles.entry(watched.decided).or_insert(CycleRelief {
                decided: watched.decided,
                moves: 0,
                predicted: NodeMinutes::ZERO,
                achieved: NodeMinutes::ZERO,
            });
            let saved = watched.without.saturating_sub(watched.with);
            cycle.moves += watched.moves.len();
            cycle.predicted = cycle.predicted.plus(watched.predicted);
            cycle.achieved = cycle.achieved.plus(NodeMinutes::of(saved));
        }
        cycles.into_values().collect()
    }
}

impl WatchedNode {
    /// Counts the time from the last reading of the node to this one. `moved` is what its moves
    /// have taken along, and `later` what those of later cycles have.
    fn add_time(
        &mut self,
        snapshot: &Snapshot,
        sample: Option<Sample>,
        later: Ratio,
        moved: Ratio,
    ) {
        let (Some(sample), Some(node)) = (sample, snapshot.find_node(&self.node)) else {
            return;
        };
        let end = self.decided.saturating_add(HOUR).unwrap_or(Timestamp::MAX);
        let at = sample.at.min(end);
        let whole = snapshot.node(node).allocatable[self.resource];
        let used = sample.used.of(self.resource);
        let Some(ratio) = used.and_then(|used| used.share_of(whole)) else {
            return;
        };
        let since = at.duration_since(self.until);
        if since <= SignedDuration::ZERO {
            return;
        }
        self.until = at;
        if since > LONGEST_GAP {
            return;
        }
        self.known += since;
        let with = ratio.plus(later);
        if with > self.target {
            self.with += since;
        }
        if with.plus(moved) > self.target {
            self.without += since;
        }
    }
}

impl WatchedPod {
    /// Notes whether the pod has left, and which pod replaces it.
    fn follow(&mut self, track: &PodTrack) {
        self.has_left |= !track.is_there;
        if track.replacement.is_some() {
            self.replacement.clone_from(&track.replacement);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(predicted: f64, achieved: f64) -> CycleRelief {
        CycleRelief {
            decided: Timestamp::UNIX_EPOCH,
            moves: 2,
            predicted: NodeMinutes::new(predicted).unwrap(),
            achieved: NodeMinutes::new(achieved).unwrap(),
        }
    }

    #[test]
    fn a_prediction_is_close_within_a_fifth() {
        let close = |achieved| cycle(50.0, achieved).is_close();
        assert_eq!([39.0, 40.5, 59.5, 61.0].map(close), [false, true, true, false]);
    }

    #[test]
    fn nothing_is_compared_with_a_prediction_of_less_than_a_minute() {
        assert_eq!(cycle(0.9, 30.0).ratio(), None);
        let total = ReliefTotal::of(&[cycle(0.9, 30.0), cycle(50.0, 50.0), cycle(50.0, 0.0)]);
        let total = total.unwrap();
        assert_eq!((total.cycles, total.close), (2, 1));
        assert_eq!((total.predicted.get(), total.achieved.get()), (100.9, 80.0));
        assert_eq!(ReliefTotal::of(&[]), None);
    }

    #[test]
    fn a_cycle_is_told_in_words() {
        let told = cycle(34.4, 30.0).to_string();
        assert_eq!(told, "2 moves: 30 node-minutes saved in an hour, 34 node-minutes predicted");
    }
}
