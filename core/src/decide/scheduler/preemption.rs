//! DefaultPreemption: if a pod fits on no node, the scheduler may remove pods of lower priority
//! from one.
//!
//! The rules are those of `SelectVictimsOnNode` in kube-scheduler. It takes all pods of lower
//! priority off a node. If the pod fits then, it returns them one after the other, the most
//! important first, as long as the pod still fits. The scheduler prefers nodes where no
//! PodDisruptionBudget is violated, but does not require it. Which of several nodes it takes is not
//! forecast.

use std::cmp::Reverse;

use crate::model::plan::Misfit;
use crate::model::snapshot::{NodeId, PodId};

use super::filters::Filters;
use super::node_resources::Wanted;
use super::nominated::NominatedPods;
use super::question::Question;

/// Returns the first node where the pod would fit without pods of lower priority, and the most
/// important one that would be removed there. Pods that already terminate lose nothing.
pub(super) fn find(question: &Question<'_, '_>) -> Option<(NodeId, PodId)> {
    let filters = Filters::new(question);
    let (wanted, nominated) = (Wanted::new(question), NominatedPods::new(question));
    let mut nodes = question.snapshot.node_ids();
    nodes.find_map(|node| {
        filters.admit(node).err().filter(may_change)?;
        let lower = lower(question, node);
        // A cheap check goes first, because the other filters are built again for each node.
        let full = || wanted.lacking(&question.without(&lower), &nominated, node);
        if lower.is_empty() || full().is_some() || !fits(question, &lower, node) {
            return None;
        }
        let removed = removed(question, lower, node);
        let mut lost = removed.into_iter().filter(|id| !terminates(question, *id));
        Some((node, lost.next()?))
    })
}

/// Returns true if the removal of pods can change this reason, that is, its filter does not answer
/// `UnschedulableAndUnresolvable`.
const fn may_change(why: &Misfit) -> bool {
    match why {
        Misfit::Port
        | Misfit::Full(_)
        | Misfit::Claim
        | Misfit::AttachLimit(_)
        | Misfit::Spread
        | Misfit::DefaultSpread
        | Misfit::PodAntiAffinity
        | Misfit::AntiAffinityOfOthers => true,
        Misfit::NotReady
        | Misfit::Closed(_)
        | Misfit::Taint
        | Misfit::NodeSelector
        | Misfit::NodeAffinity
        | Misfit::AddedNodeAffinity
        | Misfit::Volume
        | Misfit::PodAffinity
        | Misfit::Gated
        | Misfit::Excluded => false,
    }
}

/// Returns the pods of lower priority on a node, sorted by position.
fn lower(question: &Question<'_, '_>, node: NodeId) -> Vec<PodId> {
    let snapshot = question.snapshot;
    let is_lower = |id: &PodId| {
        question.place(*id) == Some(node)
            && snapshot.pod(*id).priority_or_zero() < question.pod.priority_or_zero()
    };
    let mut lower: Vec<PodId> = question.placement.pods_on(node).filter(is_lower).collect();
    lower.sort_unstable();
    lower
}

/// Returns the pods that would be removed, the most important first (`MoreImportantPod`: by
/// priority, then the one that started first).
fn removed(question: &Question<'_, '_>, lower: Vec<PodId>, node: NodeId) -> Vec<PodId> {
    let importance = |id: &PodId| {
        let pod = question.snapshot.pod(*id);
        // A pod that has not started yet is the last.
        (Reverse(pod.priority_or_zero()), pod.started.is_none(), pod.started, *id)
    };
    let mut by_importance = lower.clone();
    by_importance.sort_by_key(importance);
    let mut removed = lower;
    for id in by_importance {
        let others: Vec<PodId> = removed.iter().copied().filter(|p| *p != id).collect();
        if fits(question, &others, node) {
            removed = others;
        }
    }
    removed.sort_by_key(importance);
    removed
}

fn fits(question: &Question<'_, '_>, removed: &[PodId], node: NodeId) -> bool {
    Filters::new(&question.without(removed)).admit(node).is_ok()
}

fn terminates(question: &Question<'_, '_>, id: PodId) -> bool {
    question.snapshot.pod(id).terminating
}
