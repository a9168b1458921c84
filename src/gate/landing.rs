//! Where a replacement could go: some node must be able to take it without becoming hot itself.

use std::collections::BTreeMap;

use crate::draft::{Candidate, Draft, Landing, Room};
use crate::plan::Refusal;
use crate::scheduler;
use crate::snapshot::NodeId;
use crate::units::{Amount, Ratio};

/// The node that is least loaded afterwards among those with room.
pub(super) fn find(candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
    let Some(room) = &candidate.room else { return Ok(Landing(None)) };
    let home = draft.world.snapshot.pod(candidate.pod).node;
    let mut best: Option<(Ratio, NodeId)> = None;
    let mut misfits: BTreeMap<String, usize> = BTreeMap::new();
    for &node in room.nodes.iter().filter(|n| Some(**n) != home) {
        match room_on(candidate, room, draft, node) {
            Ok(after) if best.is_none_or(|(least, _)| after.order(least).is_lt()) => best = Some((after, node)),
            Ok(_) => {}
            Err(why) => *misfits.entry(why).or_default() += 1,
        }
    }
    best.map(|(_, node)| Landing(Some(node))).ok_or_else(|| Refusal::NoRoom(summary(&misfits)))
}

/// How loaded the node would be, in the resource that it would have least of.
fn room_on(candidate: &Candidate, room: &Room, draft: &Draft<'_>, node: NodeId) -> Result<Ratio, String> {
    let world = draft.world;
    if !destination(candidate, draft, node) {
        return Err("excluded as destination by the policy".to_owned());
    }
    scheduler::fits(draft, candidate.pod, node).map_err(|misfit| misfit.to_string())?;
    let basis = room.basis;
    let mut most = Ratio::ZERO;
    for &(resource, ceiling) in room.ceiling.iter() {
        let more = draft.weight(candidate.pod, resource, basis).unwrap_or(Amount::ZERO);
        let name = world.snapshot.resources.name(resource);
        let after = draft.ratio_with(node, resource, basis, more).ok_or("of unknown usage")?;
        if after > ceiling {
            return Err(format!("so loaded that it would be above its {name} target"));
        }
        most = if after > most { after } else { most };
    }
    Ok(most)
}

fn destination(candidate: &Candidate, draft: &Draft<'_>, node: NodeId) -> bool {
    let policy = draft.world.policy;
    let rules = &policy.profiles[draft.strategy(candidate.strategy).profile].evictable;
    rules.destinations.as_ref().is_none_or(|s| s.matches(&draft.world.snapshot.node(node).labels))
}

fn summary(misfits: &BTreeMap<String, usize>) -> String {
    if misfits.is_empty() {
        return "there is no other".to_owned();
    }
    let counted = |(why, n): (&String, &usize)| format!("{n} {} {why}", if *n == 1 { "is" } else { "are" });
    misfits.iter().map(counted).collect::<Vec<_>>().join(", ")
}
