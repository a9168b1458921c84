//! The forecast for the replacement of a pod. Usually the replaced pod still terminates when the
//! scheduler places its replacement, and it may also have ended by then.
//!
//! Both cases agree on most nodes, so the second one is derived from the first where possible.
//!
//! An example: while the pod terminates, its replacement goes to n2. After that its own node n1 has
//! the most room. Then n2 wins with 75 % and n1 with 25 %.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::decide::placement::Placement;
use crate::model::plan::Misfit;
use crate::model::snapshot::{NodeId, PodId};

use super::choice::{self, join};
use super::filters::Filters;
use super::question::Question;
use super::{Forecast, Scored, scores};

/// The probability that the replaced pod still terminates when the scheduler places its
/// replacement. A controller creates the replacement at once, and a container takes a moment to
/// end. Only a fast one may have ended before.
///
/// Of 104 recorded replacements whose place tells, 74 were placed before the end of the pod
/// (`tests/data/placements`), although pods end there at once.
const DURING: f64 = 0.75;

/// Combines the forecasts for the two cases that the replaced pod still terminates, and that it has
/// ended.
pub(super) fn forecast(placement: &Placement<'_>, pod: PodId) -> Forecast {
    let (during, after) = (Question::during(placement, pod), Question::after(placement, pod));
    let (scored, misfits) = choice::scored(&after);
    let early = earlier(&during, &scored, &misfits);
    let late = choice::decide(&after, scored);
    match early {
        Some(early) => {
            let mut forecast = choice::decide(&during, early);
            forecast.misfits = misfits;
            if forecast.possible_nodes != late.possible_nodes {
                forecast.possible_nodes =
                    join(&forecast.possible_nodes, &late.possible_nodes, DURING);
            }
            forecast
        }
        None => either(choice::forecast(&during), Forecast { misfits, ..late }),
    }
}

/// The nodes with their scores while the replaced pod terminates, the best first, from those after
/// it has ended. `None` if the cases have different feasible nodes, or may differ in more than the
/// requests on the nodes that pods leave.
fn earlier(
    during: &Question<'_, '_>,
    late: &[Scored],
    misfits: &[(NodeId, Misfit)],
) -> Option<Vec<Scored>> {
    let leaving = during.leaving()?;
    let filters = Filters::new(during);
    let is_leaving = |node: &NodeId| leaving.binary_search(node).is_ok();
    let mut unfit = misfits.iter().filter(|(node, _)| is_leaving(node));
    if unfit.any(|(node, why)| filters.admit(*node).as_ref() != Err(why)) {
        return None;
    }
    let (mut changed, mut scored) = (Vec::new(), Vec::with_capacity(late.len()));
    for one in late {
        if !is_leaving(&one.node) {
            scored.push(one.clone());
        } else if filters.admit(one.node).is_ok() {
            changed.push(one.clone());
        } else {
            return None;
        }
    }
    scores::update(during, &mut changed);
    scored.extend(changed);
    scored.sort_by_key(|s| (Reverse(s.total), s.node));
    Some(scored)
}

/// Combines two independent forecasts for these cases.
fn either(first: Forecast, second: Forecast) -> Forecast {
    if first.possible_nodes.is_empty()
        || second.possible_nodes.is_empty()
        || first.possible_nodes == second.possible_nodes
    {
        return if first.possible_nodes.is_empty() { second } else { first };
    }
    let possible_nodes = join(&first.possible_nodes, &second.possible_nodes, DURING);
    // A node that fits only in the second case counts as fitting, with its score in that case.
    let Forecast { mut scored, mut misfits, starts, .. } = first;
    let known: BTreeSet<NodeId> = scored.iter().map(|s| s.node).collect();
    let late: Vec<Scored> =
        second.scored.into_iter().filter(|s| !known.contains(&s.node)).collect();
    if !late.is_empty() {
        misfits.retain(|(node, _)| !late.iter().any(|s| s.node == *node));
        scored.extend(late);
        scored.sort_by_key(|s| (Reverse(s.total), s.node));
    }
    Forecast { possible_nodes, scored, misfits, starts }
}

#[cfg(test)]
mod tests;
