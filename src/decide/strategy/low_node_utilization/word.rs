//! Why a pod was not asked for.

use crate::decide::draft::Candidate;
use crate::decide::strategy::{ResourceLevel, StrategyRun};
use crate::model::plan::{Class, NotSelected};
use crate::model::snapshot::PodId;
use crate::policy::LowNodeUtilization;
use crate::values::{Ratio, ResourceId};

use super::{Band, Excess, NodeId, Running, WORTHWHILE, classify};

impl Running {
    /// By what the strategy asks, in its order: the pod, its node, the pool, what is over when all
    /// is done, and its relief.
    pub(in crate::decide::strategy) fn not_selected(
        &self,
        turn: &StrategyRun<'_, '_>,
        rule: &LowNodeUtilization,
        pod: PodId,
    ) -> NotSelected {
        let (after, snapshot) = (turn.after, turn.after.world.snapshot);
        let it = snapshot.pod(pod);
        let Some(node) = it.node else {
            return NotSelected::Nowhere;
        };
        if it.terminating {
            return NotSelected::Terminating;
        }
        if it.finished() {
            return NotSelected::Finished;
        }
        let band = self.band(node);
        let class = classify(turn.before, self.position, rule, node, band);
        let (Class::Hot { .. }, Some(band)) = (&class, band) else {
            return NotSelected::Node(class);
        };
        if let Some(idle) = &band.idle {
            return NotSelected::Idle(idle.clone());
        }
        let over = self.excess(after, band, node);
        if over.is_empty() {
            let going = snapshot
                .node(node)
                .pods
                .iter()
                .filter(|p| after.moves(**p))
                .count();
            let waiting = self
                .answers(after, node)
                .iter()
                .filter(|(_, why)| why.is_temporary())
                .count();
            return NotSelected::Enough { going, waiting };
        }
        if self.rank(after, node, pod, &over).is_none() {
            let name = |by: &Excess| snapshot.resources.name(by.resource).to_owned();
            return NotSelected::RelievesNothing(over.iter().map(name).collect());
        }
        if turn.is_late(pod) {
            return turn.late(pod);
        }
        let share = |by: &Excess| {
            self.relief(after, pod, by)
                .and_then(|r| r.share_of(by.amount))
                .unwrap_or_default()
        };
        let most = over
            .iter()
            .map(|by| (share(by), by))
            .max_by(|(a, _), (b, _)| a.order(*b));
        let (relief, resource) = most.map_or((Ratio::ZERO, ""), |(r, by)| {
            (r, snapshot.resources.name(by.resource))
        });
        NotSelected::TooLight {
            resource: resource.to_owned(),
            relief,
            least: WORTHWHILE,
        }
    }

    /// The pod as it would be asked for if its node were hot.
    pub(in crate::decide::strategy) fn candidate(
        &self,
        turn: &StrategyRun<'_, '_>,
        pod: PodId,
    ) -> Candidate {
        let home = turn.after.world.snapshot.pod(pod).node;
        let room = home
            .and_then(|node| self.band(node))
            .map(|band| band.room(self.basis));
        Candidate {
            room,
            ..Candidate::counted(pod, self.position)
        }
    }

    /// How a node stood against the thresholds and targets of its pool.
    pub(in crate::decide::strategy) fn levels(
        &self,
        turn: &StrategyRun<'_, '_>,
        node: NodeId,
    ) -> Vec<ResourceLevel> {
        let marks = self
            .band(node)
            .map(|band| band.low.iter().zip(band.high.iter()));
        let level = |(low, high): (&(ResourceId, Ratio), &(ResourceId, Ratio))| ResourceLevel {
            resource: low.0,
            basis: self.basis,
            ratio: turn.before.ratio(node, low.0, self.basis),
            low: Some(low.1),
            high: Some(high.1),
        };
        marks.into_iter().flatten().map(level).collect()
    }

    fn band(&self, node: NodeId) -> Option<&Band> {
        self.pools.iter().find(|band| band.nodes.contains(&node))
    }
}
