//! The approval of a person, where the policy requires it.
//!
//! Only the approved and the automatic evictions of a cycle pass. A person was asked about none of
//! the latter, and none leaves a node of an approved one: a different pod of the same node would
//! otherwise go in place of that.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::placement::Landing;
use crate::model::approval::ProposedMove;
use crate::model::plan::{BadLanding, Refusal, Stop, Temporary};
use crate::policy::HighNodeUtilization;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    let (rule, approved) = (world.policy.approval, world.approved);
    // Outside of the windows nothing is proposed, so that there is nothing to approve.
    if !rule.required || !world.policy.windows.is_open(world.now) {
        return Ok(());
    }
    let pod = world.snapshot.pod(candidate.pod);
    if approved.of(&pod.uid).is_some() {
        return Ok(());
    }
    // Half an emptied node saves nothing, so a person decides about all of its pods.
    let empties = HighNodeUtilization::of(&world.strategy(candidate.strategy).rule).is_some();
    let automatic = draft.count(|_, moved| approved.of(&moved.uid).is_none());
    let waits = empties || approved.is_unknown() || automatic >= rule.automatic;
    let node = pod.node.map(|node| &world.snapshot.node(node).name);
    let is_due = |one: &ProposedMove| Some(&one.node) == node && one.stays(world.snapshot);
    if !approved.is_empty() && (waits || approved.moves().any(is_due)) {
        return Err(Stop::NotApproved.into());
    }
    if waits {
        return Err(Temporary::NeedsApproval { asked: false }.into());
    }
    if approved.is_asked(&pod.uid) {
        return Err(Temporary::NeedsApproval { asked: true }.into());
    }
    Ok(())
}

/// Checks the expected node against the nodes that the person has seen.
///
/// These are the nodes of all approved moves of the same workload from the same node. Its pods are
/// alike, and the last one to leave lands where it must, whichever of them it is.
pub(super) fn admit_landing(
    candidate: &Candidate,
    draft: &Draft<'_>,
    landing: &Landing,
) -> Result<(), Refusal> {
    let world = draft.world;
    if !world.policy.approval.required {
        return Ok(());
    }
    let snapshot = world.snapshot;
    let own = snapshot.pod(candidate.pod);
    let (Some(_), Some(node)) = (world.approved.of(&own.uid), landing.on) else {
        return Ok(());
    };
    let is_alike = |one: &&ProposedMove| {
        one.uid == own.uid
            || snapshot
                .find_pod(&one.namespace, &one.pod)
                .map(|id| snapshot.pod(id))
                .filter(|pod| pod.uid == one.uid && pod.node == own.node)
                .is_some_and(|pod| pod.workload.is_some() && pod.workload == own.workload)
    };
    let name = &snapshot.node(node).name;
    let mut alike = world.approved.moves().filter(is_alike);
    if alike.any(|one| one.possible_nodes.contains(name)) {
        Ok(())
    } else {
        Err(BadLanding::LandsElsewhere(name.clone()).into())
    }
}
