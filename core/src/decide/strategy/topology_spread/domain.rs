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
/// With `only_admitted`, as in the scheduler, pods on nodes that the constraint does not admit do
/// not count, and it admits only nodes with the keys of all constraints.
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
    for node in nodes.iter().filter(|n| constraint.admits(draft, **n, only_admitted)) {
        if let Some(name) = name_of(node) {
            admitted.insert(*node);
            domains.entry(name).or_default().nodes.push(*node);
        }
    }
    for pod in constraint.selected(draft) {
        let node = node_after(draft, pod).filter(|n| !only_admitted || admitted.contains(n));
        if let Some(name) = node.and_then(|n| name_of(&n)) {
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
pub(super) fn node_after(draft: &Draft<'_>, pod: PodId) -> Option<NodeId> {
    if draft.moves(pod) { draft.landing(pod) } else { draft.world.snapshot.pod(pod).node }
}

/// The domains to which a pod of this domain may go, the emptiest first; or why its pods stay.
pub(in crate::decide::strategy) fn destinations(
    domains: &[Domain],
    spread: &Spread,
    from: usize,
) -> Result<Vec<usize>, NotSelected> {
    let skew = Skew::of(spread, domains.iter().map(|d| d.size));
    let here = domains[from].size;
    let mut to: Vec<usize> =
        (0..domains.len()).filter(|to| skew.improves(here, domains[*to].size)).collect();
    if to.is_empty() {
        return Err(NotSelected::WithinSkew {
            key: spread.topology_key.clone(),
            here,
            least: skew.smallest,
            max_skew: spread.max_skew,
        });
    }
    to.sort_by_key(|to| (domains[*to].size, *to));
    Ok(to)
}

/// The sizes of domains beside a constraint.
pub(super) struct Skew {
    most: usize,
    smallest: usize,
    /// Whether there are fewer domains than `minDomains`.
    is_short: bool,
}

impl Skew {
    pub(super) fn of(spread: &Spread, sizes: impl Iterator<Item = usize>) -> Self {
        let (mut count, mut smallest) = (0, None);
        for size in sizes {
            count += 1;
            smallest = Some(smallest.map_or(size, |least: usize| least.min(size)));
        }
        let whole = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        Skew {
            most: whole(spread.max_skew),
            smallest: smallest.unwrap_or_default(),
            is_short: count < spread.min_domains.map_or(0, whole),
        }
    }

    /// Whether a move between domains of these sizes reduces the violation, and the scheduler would
    /// place the replacement there: `filtering.go` of its plugin admits a domain if it has, with
    /// the pod, at most `maxSkew` pods more than the smallest one.
    ///
    /// Every such move is from a domain that has at least two pods more, so the moves end. With
    /// 4, 2 and 1 pods and a `maxSkew` of 2, a pod may go to the second domain, too: 3, 3 and 1.
    const fn improves(&self, from: usize, to: usize) -> bool {
        if self.is_short {
            // With fewer domains than `minDomains` the scheduler takes zero as the minimum.
            return from > self.most && to < self.most;
        }
        let limit = self.smallest.saturating_add(self.most);
        from > limit && to < limit
    }

    /// Whether a domain of this size has a pod to give. The smallest domain takes it if any does.
    pub(super) const fn gives(&self, size: usize) -> bool {
        self.improves(size, self.smallest)
    }
}

/// The reason of a move from one domain, compared to another.
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
