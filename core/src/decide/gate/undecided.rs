//! Earlier moves whose replacements may land on several nodes, and waiting pods that may.
//!
//! The draft expects each of them on one node. A move whose replacement fits on few nodes waits if
//! one of them could land elsewhere and leave none of these free: it would stay pending, or return.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::placement::Placement;
use crate::decide::placement::index::TermKind;
use crate::decide::scheduler::{self, Forecast};
use crate::model::plan::BadLanding;
use crate::model::snapshot::{NodeId, PodId};

/// A replacement that fits on more nodes than these hardly ever loses all of them.
const FEW: usize = 2;
/// So many of an earlier replacement's nodes are tried, the likeliest first, if it matters on other
/// nodes than its own. The first one tells nearly always. Of all pods that wait, as many are tried,
/// because there may be thousands.
const TRIED: usize = 8;

/// Checks that the replacement finds a node wherever an earlier one, or a waiting pod, lands.
pub(super) fn admit(
    candidate: &Candidate,
    draft: &Draft<'_>,
    forecast: &Forecast,
) -> Result<(), BadLanding> {
    let snapshot = draft.world.snapshot;
    let home = snapshot.pod(candidate.pod).node;
    let others = forecast.scored.iter().map(|s| s.node).filter(|node| Some(*node) != home);
    let few: Vec<NodeId> = others.take(FEW + 1).collect();
    if few.len() > FEW {
        return Ok(());
    }
    let may_matter = |earlier: PodId, possible_nodes: &[NodeId]| {
        let related = are_related(draft, candidate.pod, earlier);
        let elsewhere = possible_nodes.iter().filter(|node| draft.place(earlier) != Some(**node));
        let tried = elsewhere.filter(|node| related || few.contains(node)).take(TRIED);
        tried.map(|node| (earlier, *node)).collect::<Vec<_>>()
    };
    // Replacements that are created in turn come last.
    let moves = draft.accepted().zip(draft.landings()).filter(|(earlier, landing)| {
        landing.is_undecided() && !scheduler::in_turn(snapshot, snapshot.pod(earlier.pod))
    });
    let moves =
        moves.flat_map(|(earlier, landing)| may_matter(earlier.pod, &landing.possible_nodes));
    let waiting = draft.undecided_waiting().iter();
    let waiting = waiting.flat_map(|(pod, nodes)| may_matter(*pod, nodes)).take(TRIED);
    for (earlier, node) in moves.chain(waiting) {
        if !finds_a_node(draft, candidate.pod, &few, earlier, node) {
            let first = snapshot.pod(earlier);
            return Err(BadLanding::CouldBeDisplaced {
                node: snapshot.node(node).name.clone(),
                first: match first.node {
                    Some(_) => format!("the replacement of {}", first.name),
                    None => first.name.clone(),
                },
            });
        }
    }
    Ok(())
}

/// Whether a replacement fits on another node than its own, first one of these, once an earlier
/// replacement or a waiting pod has landed on a node where it is not expected.
fn finds_a_node(
    draft: &Draft<'_>,
    pod: PodId,
    few: &[NodeId],
    earlier: PodId,
    lands_on: NodeId,
) -> bool {
    let mut placement = Placement::clone(draft);
    placement.unbind(earlier);
    placement.bind(earlier, lands_on);
    let home = draft.world.snapshot.pod(pod).node;
    let fits = scheduler::fitting(&placement, pod);
    few.iter().any(|node| fits(*node).is_ok())
        || draft.world.snapshot.node_ids().any(|node| Some(node) != home && fits(node).is_ok())
}

/// Whether a required term of one pod selects the other, so that the node of one may matter for the
/// other on all nodes of a domain.
fn are_related(draft: &Draft<'_>, pod: PodId, other: PodId) -> bool {
    let index = draft.index();
    let selects = |owner: PodId, selected: PodId| {
        let matching = index.terms_matching(selected);
        let is_required = |term: usize| !matches!(index.term(term).kind, TermKind::Preferred(_));
        index.terms_of(owner).iter().any(|term| is_required(*term) && matching.contains(term))
    };
    selects(pod, other) || selects(other, pod)
}
