//! The candidates of all hot nodes, the most promising first.
//!
//! A forecast costs far more than a look at usage, so it is made only for pods that come to the
//! front. A pod whose forecast is older than the last accepted move is judged again before it goes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::decide::draft::Draft;
use crate::decide::strategy::importance::Importance;
use crate::model::snapshot::{NodeId, PodId};

use super::benefit::MoveScore;

/// The most work of one search, in forecasts times nodes. The search of one cycle then ends
/// after about a second of one core in a cluster of any size. On random clusters of 1,000 nodes,
/// twice the work relieved no more nodes.
const MOST_WORK: usize = 2_000_000;

/// A pod of a hot node that may become a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueuedPod {
    /// The value of the move; without a forecast, the value if the move certainly helps.
    pub(super) score: MoveScore,
    importance: Reverse<Importance>,
    pod: Reverse<PodId>,
    pub(super) node: NodeId,
    generation: u32,
    /// The number of accepted moves that the forecast knew of; `None` without a forecast.
    pub(super) forecast_after: Option<usize>,
}

impl QueuedPod {
    pub(super) const fn pod(&self) -> PodId {
        self.pod.0
    }
}

/// The search for the next candidate.
#[derive(Debug, Default)]
pub(super) struct CandidateQueue {
    heap: BinaryHeap<QueuedPod>,
    /// By node, the number of times that its excess has changed.
    generations: BTreeMap<NodeId, u32>,
    /// Pods that the forecast refused.
    refused: BTreeSet<PodId>,
    work: usize,
}

impl CandidateQueue {
    /// Makes the entries of a node invalid, because its excess has changed.
    pub(super) fn renew(&mut self, node: NodeId) {
        *self.generations.entry(node).or_default() += 1;
    }

    /// Adds a pod, unless the forecast has refused it.
    pub(super) fn push(&mut self, draft: &Draft<'_>, node: NodeId, pod: PodId, score: MoveScore) {
        if !self.refused.contains(&pod) {
            self.heap.push(QueuedPod {
                score,
                importance: Reverse(Importance::of(draft.world.snapshot.pod(pod))),
                pod: Reverse(pod),
                node,
                generation: self.generation(node),
                forecast_after: None,
            });
        }
    }

    /// Adds a pod again, now with its forecast.
    pub(super) fn push_forecast(&mut self, entry: QueuedPod, score: MoveScore, moves: usize) {
        self.heap.push(QueuedPod {
            score,
            forecast_after: Some(moves),
            ..entry
        });
    }

    /// Removes the most promising entry that is still valid.
    pub(super) fn pop(&mut self) -> Option<QueuedPod> {
        loop {
            let entry = self.heap.pop()?;
            if entry.generation == self.generation(entry.node) {
                return Some(entry);
            }
        }
    }

    /// Puts an entry back that was not used.
    pub(super) fn put_back(&mut self, entry: QueuedPod) {
        self.heap.push(entry);
    }

    /// Sets a pod aside that the forecast refuses.
    pub(super) fn refuse(&mut self, pod: PodId) {
        self.refused.insert(pod);
    }

    /// Forgets all entries and refusals.
    pub(super) fn clear(&mut self) {
        self.heap.clear();
        self.refused.clear();
    }

    /// Removes a pod that the forecast refused for good.
    pub(super) fn pop_refused(&mut self) -> Option<PodId> {
        self.refused.pop_first()
    }

    /// Counts one forecast.
    pub(super) fn count(&mut self, draft: &Draft<'_>) {
        let forecasts = if draft.open().is_some() { 2 } else { 1 };
        self.work += forecasts * draft.world.snapshot.nodes.len();
    }

    /// Returns true if the search has used up its work.
    pub(super) const fn is_spent(&self) -> bool {
        self.work >= MOST_WORK
    }

    fn generation(&self, node: NodeId) -> u32 {
        self.generations.get(&node).copied().unwrap_or_default()
    }
}
