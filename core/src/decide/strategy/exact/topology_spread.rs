//! Topology spread as descheduler calculates it, for policies in the exact mode.
//!
//! All moves are chosen before the first pod is evicted. One detail is deliberately not copied: of
//! several pods that may go, descheduler takes those of the highest priority first, against its own
//! documentation. Here the lowest goes first.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::scheduler;
use crate::decide::strategy::listing::stays_on;
use crate::decide::strategy::topology_spread::constraint::{
    Constraint, collect, is_kept, prefers_nodes,
};
use crate::decide::strategy::topology_spread::domain::{Domain, domains, skewed};
use crate::decide::strategy::topology_spread::sizes::Admissions;
use crate::decide::strategy::topology_spread::{InitialDomains, judge_by};
use crate::decide::strategy::{SelectPods, StrategyRun};
use crate::decide::targets::fit;
use crate::model::plan::{NotSelected, Reason};
use crate::model::snapshot::facts::Spread;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{Basis, TopologySpread};

use super::may_go;

/// One cycle of the strategy.
#[derive(Debug)]
pub(super) struct ExactTopologySpreadRun<'w> {
    position: usize,
    rule: &'w TopologySpread,
    nodes: Vec<NodeId>,
    constraints: Vec<Constraint>,
    chosen: BTreeSet<PodId>,
    waiting: VecDeque<(PodId, Reason)>,
    initial: InitialDomains,
}

impl<'w> ExactTopologySpreadRun<'w> {
    pub(super) fn start(draft: &Draft<'_>, position: usize, rule: &'w TopologySpread) -> Self {
        let nodes = fit(draft, Basis::Requests);
        let counts = |pod| counts(draft, position, rule, pod);
        let kept = |pod: &Pod, spread: &Spread| is_kept(rule, pod, spread);
        let constraints = collect(draft, &nodes, counts, kept);
        let waiting = choose(draft, rule, &constraints, &nodes);
        ExactTopologySpreadRun {
            position,
            rule,
            nodes,
            initial: vec![OnceCell::new(); constraints.len()],
            constraints,
            chosen: waiting.iter().map(|(pod, _)| *pod).collect(),
            waiting,
        }
    }

    /// Decides about a pod, given the draft in which the strategy began.
    fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<(), NotSelected> {
        stays_on(draft, pod)?;
        counts(draft, self.position, self.rule, pod)?;
        if self.chosen.contains(&pod) {
            return Ok(());
        }
        let domains = |c: &Constraint| domains(draft, c, &self.nodes, false);
        judge_by(draft, &self.constraints, &self.initial, domains, |_| true, pod)?;
        Err(NotSelected::OthersFirst)
    }
}

impl SelectPods for ExactTopologySpreadRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        let mut waiting = std::iter::from_fn(|| self.waiting.pop_front());
        let (pod, reason) = waiting.find(|(pod, _)| !draft.closes_node_of(self.position, *pod))?;
        Some(Candidate::new(pod, self.position, reason))
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        run.or_late(pod, self.judge(run.before, pod))
    }
}

/// Whether a pod counts when domains are compared: only pods that may be evicted do.
fn counts(
    draft: &Draft<'_>,
    position: usize,
    rule: &TopologySpread,
    pod: PodId,
) -> Result<(), NotSelected> {
    match rule.scope.leaves_out(draft.world.snapshot.pod(pod)) {
        Some(why) => Err(why),
        None => may_go(draft, position, pod),
    }
}

/// The pods to move, each once, with the first reason found.
fn choose(
    draft: &Draft<'_>,
    rule: &TopologySpread,
    constraints: &[Constraint],
    nodes: &[NodeId],
) -> VecDeque<(PodId, Reason)> {
    let (mut chosen, mut seen) = (VecDeque::new(), BTreeSet::new());
    let mut admissions = Admissions::default();
    for constraint in constraints {
        let sizes = admissions.sizes(draft, constraint, nodes, false);
        let (least, most) = (sizes.iter().min(), sizes.iter().max());
        let difference = most.zip(least).map_or(0, |(most, least)| most - least);
        let max_skew = constraint.spread(draft).max_skew;
        if u32::try_from(difference).is_ok_and(|difference| difference <= max_skew) {
            continue;
        }
        let mut domains = domains(draft, constraint, nodes, false);
        for domain in &mut domains {
            domain.pods.sort_by_key(|p| order(draft, *p));
        }
        domains.sort_by_key(|d| d.pods.len());
        let moves = balance(draft, rule, constraint, domains);
        chosen.extend(moves.into_iter().filter(|(pod, _)| seen.insert(*pod)));
    }
    chosen
}

/// Moves pods from the fullest domains to the emptiest, never past the average and never closer
/// than `maxSkew`.
fn balance(
    draft: &Draft<'_>,
    rule: &TopologySpread,
    constraint: &Constraint,
    mut domains: Vec<Domain>,
) -> Vec<(PodId, Reason)> {
    let spread = constraint.spread(draft);
    let average = Average::of(&domains);
    let destinations: Vec<NodeId> = domains
        .iter()
        .filter(|d| average.compare(d).is_lt())
        .flat_map(|d| d.nodes.iter().copied())
        .collect();
    let mut moves = Vec::new();
    let (mut low, mut high) = (0, domains.len() - 1);
    while low < high {
        if average.compare(&domains[high]).is_le() {
            high -= 1;
        }
        let given = average.given(&domains[low], &domains[high], i64::from(spread.max_skew));
        if given <= 0 {
            low += 1;
            continue;
        }
        let fits = |pod: PodId| fits_any(draft, pod, &destinations);
        domains[high].pods.sort_by_cached_key(|p| fits(*p));
        let reason = skewed(spread, &domains[high], &domains[low]);
        let rest = count(&domains[high].pods) - given;
        let rest = usize::try_from(rest).unwrap_or_default();
        let leaving = domains[high].pods.split_off(rest);
        // The least important pod is the last.
        let going = leaving.iter().rev().filter(|p| !rule.node_fit || fits(**p));
        moves.extend(going.map(|p| (*p, reason.clone())));
        domains[low].pods.extend(leaving);
        (domains[low].size, domains[high].size) =
            (domains[low].pods.len(), domains[high].pods.len());
    }
    moves
}

/// The average size of a domain, as a fraction.
struct Average {
    pods: i64,
    domains: i64,
}

impl Average {
    fn of(domains: &[Domain]) -> Self {
        Average {
            pods: domains.iter().map(|d| count(&d.pods)).sum(),
            domains: i64::try_from(domains.len()).unwrap_or(i64::MAX),
        }
    }

    fn compare(&self, domain: &Domain) -> std::cmp::Ordering {
        (count(&domain.pods) * self.domains).cmp(&self.pods)
    }

    /// How many pods the large domain gives to the small one; none if the result is not positive.
    fn given(&self, small: &Domain, large: &Domain, max_skew: i64) -> i64 {
        let (small, large) = (count(&small.pods), count(&large.pods));
        if large - small <= max_skew {
            return 0;
        }
        let above = ceil(large * self.domains - self.pods, self.domains);
        let below = ceil(self.pods - small * self.domains, self.domains);
        above.min(below).min(ceil(large - small - max_skew, 2))
    }
}

/// Whether a node other than the pod's own can take the pod today.
fn fits_any(draft: &Draft<'_>, pod: PodId, nodes: &[NodeId]) -> bool {
    let own = draft.world.snapshot.pod(pod).node;
    let mut others = nodes.iter().filter(|n| own != Some(**n));
    others.any(|n| scheduler::fits_today(draft, pod, *n).is_ok())
}

/// Pods that ask for certain nodes go last, then those of higher priority.
///
/// The rest of the order is chance in descheduler, except that the pods of one node stay together.
fn order(draft: &Draft<'_>, pod: PodId) -> impl Ord + use<> {
    let facts = draft.world.snapshot.pod(pod);
    (!prefers_nodes(facts), Reverse(facts.priority), Reverse(facts.node), Reverse(pod))
}

fn count(pods: &[PodId]) -> i64 {
    i64::try_from(pods.len()).unwrap_or(i64::MAX)
}

/// The quotient, rounded up; `by` is positive.
const fn ceil(number: i64, by: i64) -> i64 {
    -(-number).div_euclid(by)
}
