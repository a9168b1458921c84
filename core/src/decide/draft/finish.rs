//! Conversion of a draft into plan data: names instead of positions.

use crate::model::plan::{Kept, Move, Note, Reason, Refusal, Verdict};
use crate::model::record::NodeRelief;
use crate::model::snapshot::facts::Owner;
use crate::model::snapshot::{Pod, PodId, Snapshot};

use super::{Candidate, Draft, Landing};

impl Draft<'_> {
    /// Returns the moves, refusals, verdicts and notes of the draft.
    pub fn finish(self) -> (Vec<Move>, Vec<Kept>, Vec<Verdict>, Vec<Note>) {
        let moves =
            self.accepted.iter().map(|accepted| self.put_move(&accepted.0, &accepted.1)).collect();
        let kept = self
            .kept
            .iter()
            .map(|((strategy, pod), refusal)| self.put_kept(*strategy, *pod, refusal))
            .collect();
        (moves, kept, self.verdicts, self.notes)
    }

    fn put_move(&self, candidate: &Candidate, landing: &Landing) -> Move {
        let snapshot = self.world.snapshot;
        let pod = snapshot.pod(candidate.pod);
        let strategy = self.world.strategy(candidate.strategy);
        let itself = || Owner {
            kind: "Pod".to_owned(),
            name: pod.name.clone(),
            controller: false,
            ..Owner::default()
        };
        Move {
            namespace: pod.namespace.clone(),
            pod: pod.name.clone(),
            uid: pod.uid.clone(),
            node: node_name(snapshot, pod),
            to: landing.expected().map(|n| snapshot.node(n).name.clone()),
            possible_nodes: landing
                .possible_nodes
                .iter()
                .map(|n| snapshot.node(*n).name.clone())
                .collect(),
            strategy: strategy.rule.name(),
            profile: self.world.policy.profiles[strategy.profile].name.clone(),
            owner: pod.owners.first().cloned().unwrap_or_else(itself),
            workload: pod.workload.map(|w| snapshot.workload(w).key.clone()),
            aim: candidate.reason.aim(pod.finished()),
            reason: candidate.reason.clone(),
            relief: self.relief(candidate),
            saves: candidate.saves,
            worth: self.worth(candidate),
        }
    }

    /// Returns what a pod of a hot node takes along of the resource that is furthest above its
    /// target.
    fn relief(&self, candidate: &Candidate) -> Option<NodeRelief> {
        let Reason::HotNode { resource, basis, .. } = &candidate.reason else {
            return None;
        };
        let snapshot = self.world.snapshot;
        let id = snapshot.resources.find(resource)?;
        let node = snapshot.pod(candidate.pod).node?;
        let weight = self.weight(candidate.pod, id, *basis)?;
        let share = self.share(node, id, weight)?;
        Some(NodeRelief { resource: resource.clone(), share })
    }

    fn put_kept(&self, strategy: usize, pod: PodId, refusal: &Refusal) -> Kept {
        let snapshot = self.world.snapshot;
        let pod = snapshot.pod(pod);
        Kept {
            namespace: pod.namespace.clone(),
            pod: pod.name.clone(),
            node: node_name(snapshot, pod),
            strategy: self.world.strategy(strategy).rule.name(),
            refusal: refusal.clone(),
        }
    }
}

fn node_name(snapshot: &Snapshot, pod: &Pod) -> String {
    pod.node.map(|n| snapshot.node(n).name.clone()).unwrap_or_default()
}
