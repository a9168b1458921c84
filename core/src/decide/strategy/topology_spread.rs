//! RemovePodsViolatingTopologySpreadConstraint: evicts pods whose topology spread constraint is
//! violated.
//!
//! One pod at a time goes from the fullest topology domain to the emptiest one that can take it,
//! the least important first, until no domain has more than `maxSkew` pods above the minimum. With
//! a `maxSkew` above 1, domains other than the smallest may take it as well. Pods and domains are
//! counted as kube-scheduler's PodTopologySpread plugin counts them: on all nodes, `minDomains`
//! included. A pod that counts for the constraint of others and has none itself stays. Nodes that
//! the policy does not select, or that are not Ready, neither lose nor take pods.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::decide::gate;
use crate::decide::targets::fit;
use crate::model::plan::{NoGain, NotSelected, Refusal};
use crate::model::snapshot::facts::Spread;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{Basis, TopologySpread};

use super::importance::eviction_order;
use super::listing::{only_on, stays_on};
use super::{SelectPods, StrategyRun};

use constraint::{Constraint, counts, is_kept, prefers_nodes};
use domain::{Domain, Skew, destinations, domains, skewed};
use sizes::Admissions;

pub(super) mod constraint;
pub(super) mod domain;
pub(super) mod sizes;

/// For each constraint, its domains when the strategy began. Only explanations ask for them, and
/// only for the constraints of a pod.
pub(super) type InitialDomains = Vec<OnceCell<Vec<Domain>>>;

/// More than sums of probabilities differ by rounding.
const ROUNDING: f64 = 1e-9;

/// One cycle of the strategy.
#[derive(Debug)]
pub(super) struct TopologySpreadRun<'w> {
    position: usize,
    rule: &'w TopologySpread,
    /// The nodes that pods may leave and go to, in order.
    nodes: Vec<NodeId>,
    /// All nodes, whose pods the scheduler counts.
    counted: Vec<NodeId>,
    constraints: Vec<Constraint>,
    admissions: Admissions,
    /// The position of the constraint that is being balanced.
    current: usize,
    /// The domains of that constraint; empty until it is begun.
    domains: Vec<Domain>,
    last: Option<Leaving>,
    initial: InitialDomains,
}

/// The positions of the domains that the last candidate would leave and go to.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    from: usize,
    to: usize,
}

impl<'w> TopologySpreadRun<'w> {
    pub(super) fn start(draft: &Draft<'_>, position: usize, rule: &'w TopologySpread) -> Self {
        let nodes = fit(draft, Basis::Requests);
        let counted: Vec<NodeId> = draft.world.snapshot.node_ids().collect();
        let kept = |pod: &Pod, spread: &Spread| {
            let is_here = pod.node.is_some_and(|node| nodes.binary_search(&node).is_ok());
            // The scheduler counts no pods for an empty selector: `countPodsMatchSelector` in the
            // plugin's `common.go`.
            let counts_pods = spread.pods.as_ref().is_some_and(|selector| !selector.is_empty());
            is_here && counts_pods && is_kept(rule, pod, spread)
        };
        let counts = |pod| counts(draft, rule, pod);
        let constraints = constraint::collect(draft, &counted, counts, kept);
        TopologySpreadRun {
            position,
            rule,
            nodes,
            counted,
            initial: vec![OnceCell::new(); constraints.len()],
            constraints,
            admissions: Admissions::default(),
            current: 0,
            domains: Vec::new(),
            last: None,
        }
    }

    /// Decides about a pod, given the draft in which the strategy began.
    fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<(), NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        stays_on(draft, pod)?;
        if let Some(why) = self.rule.scope.leaves_out(facts) {
            return Err(why);
        }
        counts(draft, self.rule, pod)?;
        let domains = |c: &Constraint| domains(draft, c, &self.counted, true);
        let own = |c: &Constraint| c.is_of(draft, pod);
        judge_by(draft, &self.constraints, &self.initial, domains, own, pod)
    }

    /// The next pod that balances a constraint; one constraint after the other.
    fn next_balanced(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        loop {
            let constraint = self.constraints.get(self.current)?;
            let spread = constraint.spread(draft);
            if self.domains.is_empty() {
                let nodes = &self.counted;
                let sizes = self.admissions.sizes(draft, constraint, nodes, true);
                let skew = Skew::of(spread, sizes.iter().copied());
                if !sizes.iter().any(|size| skew.gives(*size)) {
                    self.current += 1;
                    continue;
                }
                let mut domains = domains(draft, constraint, nodes, true);
                for domain in &mut domains {
                    self.prepare(draft, constraint, domain);
                }
                self.domains = domains;
            }
            if let Some(candidate) = self.step(draft, spread) {
                return Some(candidate);
            }
            self.domains.clear();
            self.current += 1;
        }
    }

    /// Keeps the nodes of a domain that may take pods, and the pods with the constraint that the
    /// strategy may move, the first to go last.
    fn prepare(&self, draft: &Draft<'_>, constraint: &Constraint, domain: &mut Domain) {
        let (snapshot, scope) = (draft.world.snapshot, &self.rule.scope);
        let is_fit = |node: &NodeId| self.nodes.binary_search(node).is_ok();
        domain.nodes.retain(is_fit);
        domain.pods.retain(|p| {
            let pod = snapshot.pod(*p);
            let may_go = pod.node.as_ref().is_some_and(is_fit) && scope.admits(pod);
            may_go && constraint.is_of(draft, *p) && !draft.moves(*p)
        });
        domain.pods.sort_by_cached_key(|p| {
            let pod = snapshot.pod(*p);
            // Pods that the gate refuses come last of all, but they do come, so that the plan can
            // say why they stay. Pods that ask for certain nodes have fewer destinations, so they
            // go after the others.
            (
                gate::is_evictable(*p, self.position, draft),
                !prefers_nodes(pod),
                Reverse(eviction_order(pod)),
                *p,
            )
        });
    }

    /// A pod of the fullest domain that has one to give.
    fn step(&mut self, draft: &Draft<'_>, spread: &Spread) -> Option<Candidate> {
        let skew = Skew::of(spread, self.domains.iter().map(|d| d.size));
        let all = 0..self.domains.len();
        let mut fullest: Vec<usize> = all.filter(|i| skew.gives(self.domains[*i].size)).collect();
        fullest.sort_by_key(|i| (Reverse(self.domains[*i].size), *i));
        for from in fullest {
            if let Some(pod) = self.take_pod(draft, from) {
                let to = destinations(&self.domains, spread, from).ok()?;
                return Some(self.candidate(draft, spread, pod, from, &to));
            }
        }
        None
    }

    /// Takes the least important pod of a domain that may still leave.
    fn take_pod(&mut self, draft: &Draft<'_>, from: usize) -> Option<PodId> {
        let last_open = self.domains[from]
            .pods
            .iter()
            .rposition(|p| !draft.moves(*p) && !draft.closes_node_of(self.position, *p))?;
        Some(self.domains[from].pods.remove(last_open))
    }

    /// The pod as a candidate for the emptiest domain that can take it.
    fn candidate(
        &mut self,
        draft: &Draft<'_>,
        spread: &Spread,
        pod: PodId,
        from: usize,
        destinations: &[usize],
    ) -> Candidate {
        let candidate = |to: &usize| {
            let reason = skewed(spread, &self.domains[from], self.smallest(*to, destinations));
            let destinations = self.within(&[*to], spread);
            Candidate::new(pod, self.position, reason).within(destinations)
        };
        let forecast = if draft.has_turn() { draft.forecast(pod) } else { Rc::default() };
        let possible = forecast.possible_nodes.iter();
        let chances: BTreeMap<NodeId, f64> = possible.map(|p| (p.node, p.chance.get())).collect();
        let least = least_chance(draft, chances.values().sum());
        let lands = |to: &&usize| {
            let nodes = self.domains[**to].nodes.iter();
            let chance: f64 = nodes.filter_map(|node| chances.get(node)).sum();
            // The gate takes far longer, and there may be thousands of domains.
            chance >= least && gate::prospect_by(&candidate(to), draft, &forecast).is_ok()
        };
        // Without a node that can take the pod, or without a forecast, there are no chances.
        let nowhere = forecast.possible_nodes.is_empty();
        let landing = if nowhere { None } else { destinations.iter().find(lands) };
        let to = *landing.unwrap_or(&destinations[0]);
        let mut candidate = candidate(&to);
        if landing.is_none() {
            // No domain can take it. The gate refuses this candidate and says why.
            candidate.destinations = Some(self.within(destinations, spread));
        }
        self.last = Some(Leaving { from, to });
        candidate
    }

    /// The smallest domain, which decides how many pods the others may have: the destination
    /// itself, or else the first destination.
    fn smallest(&self, to: usize, destinations: &[usize]) -> &Domain {
        let (to, first) = (&self.domains[to], &self.domains[destinations[0]]);
        if to.size > first.size { first } else { to }
    }

    /// Limits a replacement to the nodes of these domains.
    fn within(&self, domains: &[usize], spread: &Spread) -> DestinationLimits {
        let nodes = domains.iter().flat_map(|d| self.domains[*d].nodes.iter());
        let mut nodes: Vec<NodeId> = nodes.copied().collect();
        nodes.sort_unstable();
        let others = NoGain::Spread(spread.topology_key.clone());
        only_on(nodes.into(), others)
    }
}

impl SelectPods for TopologySpreadRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.next_balanced(draft)
    }

    /// A pod that only has to wait counts as gone, so that no other pod goes instead of it.
    fn answered(&mut self, draft: &Draft<'_>, pod: PodId, refusal: Option<&Refusal>) {
        if let Some(Leaving { from, to }) = self.last
            && refusal.is_none_or(Refusal::is_temporary)
        {
            // If several domains together can take the pod, the forecast says which one it is.
            let landing = draft.landing(pod);
            let is_there = |d: &Domain| landing.is_some_and(|node| d.nodes.contains(&node));
            let to = self.domains.iter().position(is_there).unwrap_or(to);
            self.domains[from].size -= 1;
            self.domains[to].size += 1;
        }
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        run.or_late(pod, self.judge(run.before, pod))
    }
}

/// Decides about a pod by those of these constraints that `apply` and the domains of each, which
/// `domains` gives if they are not known yet.
pub(super) fn judge_by(
    draft: &Draft<'_>,
    constraints: &[Constraint],
    initial: &InitialDomains,
    domains: impl Fn(&Constraint) -> Vec<Domain>,
    apply: impl Fn(&Constraint) -> bool,
    pod: PodId,
) -> Result<(), NotSelected> {
    let verdicts = constraints.iter().zip(initial).filter_map(|(c, d)| {
        let selected = c.selects(draft, pod) && apply(c);
        selected.then(|| judge_in(d.get_or_init(|| domains(c)), c.spread(draft), pod))
    });
    // Of several constraints, the one by which the pod came nearest to being selected decides.
    let nearest = verdicts.max_by_key(nearness);
    nearest.unwrap_or(Err(NotSelected::NoSpread))
}

/// Decides about a pod by one constraint.
fn judge_in(domains: &[Domain], spread: &Spread, pod: PodId) -> Result<(), NotSelected> {
    let domain = domains.iter().position(|d| d.pods.contains(&pod));
    let from = domain.ok_or_else(|| NotSelected::NoPlace(spread.topology_key.clone()))?;
    destinations(domains, spread, from)?;
    Ok(())
}

/// How near a pod came to being selected; larger is nearer.
fn nearness(verdict: &Result<(), NotSelected>) -> u8 {
    match verdict {
        Ok(()) => 2,
        Err(NotSelected::WithinSkew { .. }) => 1,
        Err(_) => 0,
    }
}

/// The least probability of a domain that the landing gate may admit, given that of all nodes.
fn least_chance(draft: &Draft<'_>, of_all: f64) -> f64 {
    let accepted = draft.world.policy.forecast.accepted(false).get();
    // With two forecasts, the first one decides about half of the probability.
    of_all - (accepted + ROUNDING) / draft.forecast_weight()
}
