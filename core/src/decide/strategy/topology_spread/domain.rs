//! Topology domains: nodes with the same value of a constraint's topology key, and the pods there
//! that count.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::facts::Spread;
use crate::model::snapshot::{NodeId, PodId};

use super::constraint::Constraint;

/// One topology domain of a constraint.
#[derive(Clone, Debug, Default)]
pub(in crate::decide::strategy) struct Domain {
    pub(in crate::decide::strategy) name: String,
    /// The nodes that the constraint admits.
    pub(in crate::decide::strategy) nodes: Vec<NodeId>,
    pub(in crate::decide::strategy) pods: Vec<PodId>,
    /// How many pods the domain has after the moves so far.
    pub(in crate::decide::strategy) size: usize,
}

/// The domains of a constraint by name, with the pods that it selects.
///
/// With `only_admitted`, pods on nodes that the constraint does not admit do not count.
pub(in crate::decide::strategy) fn domains(
    draft: &Draft<'_>,
    constraint: &Constraint,
    nodes: &[NodeId],
    only_admitted: bool,
) -> Vec<Domain> {
    let snapshot = draft.world.snapshot;
    let spread = constraint.spread(draft);
    let name_of = |n: &NodeId| snapshot.node(*n).labels.get(&spread.topology_key);
    let mut domains: BTreeMap<&str, Domain> = BTreeMap::new();
    let mut admitted = BTreeSet::new();
    for node in nodes.iter().filter(|n| constraint.admits(draft, **n)) {
        if let Some(name) = name_of(node) {
            admitted.insert(*node);
            domains.entry(name).or_default().nodes.push(*node);
        }
    }
    for &pod in constraint.pods.iter() {
        let labels = &snapshot.pod(pod).labels;
        let selected = spread.pods.as_ref().is_some_and(|s| s.matches(labels));
        let node = node_after(draft, pod).filter(|n| !only_admitted || admitted.contains(n));
        if let (true, Some(name)) = (selected, node.and_then(|n| name_of(&n))) {
            domains.entry(name).or_default().pods.push(pod);
        }
    }
    let named = |(name, domain): (&str, Domain)| Domain {
        name: name.to_owned(),
        size: domain.pods.len(),
        ..domain
    };
    domains.into_iter().map(named).collect()
}

/// The node of a pod, or the node where the replacement is expected if the pod is to be moved.
fn node_after(draft: &Draft<'_>, pod: PodId) -> Option<NodeId> {
    if draft.moves(pod) {
        draft.landing(pod)
    } else {
        draft.world.snapshot.pod(pod).node
    }
}

/// The domains to which a pod of this domain may go, the emptiest first; or why its pods stay.
pub(in crate::decide::strategy) fn destinations(
    domains: &[Domain],
    spread: &Spread,
    from: usize,
) -> Result<Vec<usize>, NotSelected> {
    let mut to: Vec<usize> = (0..domains.len())
        .filter(|to| improves(domains, spread, from, *to))
        .collect();
    if to.is_empty() {
        return Err(NotSelected::WithinSkew {
            key: spread.topology_key.clone(),
            here: domains[from].size,
            least: smallest(domains),
            max_skew: spread.max_skew,
        });
    }
    to.sort_by_key(|to| (domains[*to].size, *to));
    Ok(to)
}

/// Whether a move between two domains reduces the violation, and the scheduler would place the
/// replacement there.
fn improves(domains: &[Domain], spread: &Spread, from: usize, to: usize) -> bool {
    let max_skew = usize::try_from(spread.max_skew).unwrap_or(usize::MAX);
    let (from, to) = (domains[from].size, domains[to].size);
    let min_domains = spread
        .min_domains
        .map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX));
    if domains.len() < min_domains {
        // With fewer domains than `minDomains` the scheduler takes zero as the minimum.
        return from > max_skew && to < max_skew;
    }
    from > to.saturating_add(max_skew) && to < smallest(domains).saturating_add(max_skew)
}

fn smallest(domains: &[Domain]) -> usize {
    domains.iter().map(|d| d.size).min().unwrap_or_default()
}

/// The reason of a move from one domain to another.
pub(in crate::decide::strategy) fn skewed(spread: &Spread, from: &Domain, to: &Domain) -> Reason {
    Reason::Skewed {
        key: spread.topology_key.clone(),
        place: from.name.clone(),
        here: from.size,
        there: to.size,
        other: to.name.clone(),
        max_skew: spread.max_skew,
    }
}
