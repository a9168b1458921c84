//! A pod for which no other node has room, remembered to answer about equal pods.
//!
//! Without affinity, spread constraints, volumes and host ports, a node judges equal pods alike,
//! except the nodes where they run. So the reasons that exclude all nodes are known for the next
//! pod once these two nodes are asked again. In a full cluster that saves nearly all forecasts.

use crate::decide::placement::Placement;
use crate::decide::placement::index::TermKind;
use crate::model::plan::{Misfit, MisfitCounts};
use crate::model::snapshot::facts::address;
use crate::model::snapshot::{NodeId, PodId};

use super::filters::Filters;
use super::question::Question;
use super::{is_beside, topology_spread};

/// The places in memory of the parts of a pod by which nodes judge it. Pods of one controller share
/// them.
pub type PodParts = [usize; 3];

/// A pod for which no other node has room.
#[derive(Clone, Debug)]
pub struct WithoutDestination {
    pod: PodId,
    /// The reasons of all nodes but its own.
    misfits: MisfitCounts,
}

impl WithoutDestination {
    /// Creates the record of a pod that has `parts` and for which the forecast finds these reasons
    /// on all nodes but its own. `None` if a node has another reason once the pod has ended.
    pub fn new(placement: &Placement<'_>, pod: PodId, misfits: MisfitCounts) -> Option<Self> {
        let home = placement.snapshot.pod(pod).node;
        let misfit = misfit(placement, pod);
        // Only on the nodes that pods leave it may matter which of them have ended.
        let mut left = placement.left().filter(|node| Some(*node) != home);
        left.all(|node| misfit(node).is_some()).then_some(WithoutDestination { pod, misfits })
    }

    /// Returns the reasons of all nodes but its own for a pod with the same parts. `None` if they
    /// need a forecast.
    pub fn misfits_of(&self, placement: &Placement<'_>, pod: PodId) -> Option<MisfitCounts> {
        let home_of = |pod: PodId| placement.snapshot.pod(pod).node;
        let (known, home) = (home_of(self.pod)?, home_of(pod)?);
        if known == home {
            return Some(self.misfits.clone());
        }
        let counted = misfit(placement, self.pod)(home)?;
        let missing = misfit(placement, pod)(known)?;
        Some(self.misfits.with(missing).without(&counted))
    }
}

/// Returns the parts of a pod by which nodes judge it. `None` if other things matter, too, such as
/// the places of other pods.
pub fn parts(placement: &Placement<'_>, id: PodId) -> Option<PodParts> {
    let question = Question::after(placement, id);
    let (snapshot, index, pod) = (question.snapshot, question.index(), question.pod);
    let is_preferred = |t: &usize| matches!(index.term(*t).kind, TermKind::Preferred(_));
    let excludes = |t: &usize| index.term(*t).kind == TermKind::RequiredAntiAffinity;
    let is_alone = pod.volumes.claims.is_empty()
        && pod.volumes.ephemeral.is_empty()
        && pod.ports.is_empty()
        && snapshot.nominated().is_empty()
        && index.terms_of(id).iter().all(is_preferred)
        && !index.terms_matching(id).iter().any(excludes)
        && !topology_spread::is_limited(&question);
    let runs = pod.node.is_some() && placement.place(id) == pod.node && !snapshot.migrates(pod);
    let parts = [address(&pod.spec), address(&pod.sizes), address(&pod.volumes)];
    (is_alone && runs).then_some(parts)
}

/// Returns the check why a node cannot take the replacement of a pod. It gives `None` if the node
/// can, or if the reason changes when the pod has ended.
fn misfit<'q, 'w>(
    placement: &'q Placement<'w>,
    pod: PodId,
) -> impl Fn(NodeId) -> Option<Misfit> + use<'q, 'w> {
    let after = Filters::new(&Question::after(placement, pod));
    let during = is_beside(placement, pod).then(|| Filters::new(&Question::during(placement, pod)));
    move |node| {
        let gone = after.admit(node);
        let is_same = during.as_ref().is_none_or(|during| during.admit(node) == gone);
        gone.err().filter(|_| is_same)
    }
}
