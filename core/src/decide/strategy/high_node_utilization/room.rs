//! Room for the pods of a node that is to be emptied, wherever the scheduler would place them.

use std::rc::Rc;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::placement::Landing;
use crate::decide::{gate, scheduler};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::HighNodeUtilization;
use crate::values::{Ratio, ResourceId};

/// The limits of a node that receives pods of emptied nodes.
#[derive(Debug)]
pub struct Room<'r> {
    /// The position of the strategy in the policy.
    pub position: usize,
    /// The strategy.
    pub rule: &'r HighNodeUtilization,
    /// The highest usage of a node.
    pub(super) ceilings: Rc<[(ResourceId, Ratio)]>,
}

impl<'r> Room<'r> {
    /// Returns the limits of a rule, without resources that the cluster does not have.
    pub fn new(draft: &Draft<'_>, position: usize, rule: &'r HighNodeUtilization) -> Self {
        let resources = &draft.world.snapshot.resources;
        Room { position, rule, ceilings: resources.known(&rule.ceilings).collect() }
    }

    /// Returns true if the node's usage with the pod is at most its ceilings and the targets of the
    /// other strategies. Unknown usage counts as below.
    pub fn stays_cool(&self, draft: &Draft<'_>, pod: PodId, node: NodeId) -> bool {
        gate::stays_cool(pod, self.position, draft, node, &self.ceilings)
    }

    /// Moves a pod to the first of these nodes where it fits and that stays cool, in a draft that
    /// only counts room. Returns that node.
    pub fn place(
        &self,
        draft: &mut Draft<'_>,
        pod: PodId,
        mut nodes: impl Iterator<Item = NodeId>,
    ) -> Option<NodeId> {
        let node = {
            let fits = scheduler::fitting(draft, pod);
            nodes.find(|node| self.stays_cool(draft, pod, *node) && fits(*node).is_ok())?
        };
        let landing = Landing { on: Some(node), ..Landing::default() };
        draft.accept(Candidate::counted(pod, self.position), landing);
        Some(node)
    }
}
