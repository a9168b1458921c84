//! RemovePodsViolatingTopologySpreadConstraint: pods whose topology spread constraint has come to be violated.
//!
//! One pod at a time goes from the fullest place to the emptiest that can take it, the least important first, until no
//! place has more than `maxSkew` above the least. Counted is what the scheduler counts, `minDomains` included. In the
//! exact mode descheduler's own sums decide, see `exact_spread`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft};
use crate::decide::gate;
use crate::decide::scheduler;
use crate::model::plan::{Reach, Reason, Refusal};
use crate::model::snapshot::facts::Spread;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{Basis, TopologySpread};

use super::exact_spread;
use super::low_node_utilization::unfit;

mod word;

/// The strategy at work.
#[derive(Debug)]
pub struct Running {
    position: usize,
    nodes: Vec<NodeId>,
    scope: TopologySpread,
    constraints: VecDeque<Constraint>,
    places: Vec<Place>,
    chosen: VecDeque<(PodId, Reason)>,
    closed: BTreeSet<NodeId>,
    asked: Option<Asked>,
}

/// A constraint, by the first pod that carries it and its position there, and the pods of its namespace.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pod: PodId,
    position: usize,
    /// The pods of the namespace that count, if the constraint selects them.
    pub(super) pods: Rc<[PodId]>,
}

/// Nodes with the same value of the topology key, and the pods there that count.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) name: String,
    /// Nodes that the constraint admits.
    pub(super) nodes: Vec<NodeId>,
    pub(super) pods: Vec<PodId>,
    /// How many pods count as there, given what has been decided.
    pub(super) size: usize,
}

/// A pod that was asked for, and the places that it would leave and go to.
#[derive(Debug)]
struct Asked {
    pod: PodId,
    from: usize,
    to: usize,
}

impl Running {
    pub(super) fn start(draft: &mut Draft<'_>, position: usize, rule: &TopologySpread) -> Self {
        let nodes = nodes(draft);
        let mut running = Running {
            position,
            scope: rule.clone(),
            constraints: constraints(draft, position, rule, &nodes),
            nodes,
            places: Vec::new(),
            chosen: VecDeque::new(),
            closed: BTreeSet::new(),
            asked: None,
        };
        if draft.world.policy.exact {
            let constraints = std::mem::take(&mut running.constraints);
            running.chosen = exact_spread::choose(draft, rule, constraints, &running.nodes);
        }
        running
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        if draft.world.policy.exact {
            self.next_chosen(draft)
        } else {
            self.next_balanced(draft)
        }
    }

    fn next_chosen(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        if let Some(last) = self.asked.take() {
            self.close(draft, last.pod);
        }
        let home = |pod: PodId| draft.world.snapshot.pod(pod).node;
        let closed = &self.closed;
        let (pod, reason) = std::iter::from_fn(|| self.chosen.pop_front())
            .find(|(p, _)| home(*p).is_none_or(|n| !closed.contains(&n)))?;
        self.asked = Some(Asked {
            pod,
            from: 0,
            to: 0,
        });
        Some(Candidate {
            pod,
            strategy: self.position,
            reason,
            room: None,
        })
    }

    fn next_balanced(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        if let Some(last) = self.asked.take() {
            self.settle(draft, &last);
        }
        loop {
            let constraint = self.constraints.front()?.clone();
            let spread = constraint.spread(draft);
            if self.places.is_empty() {
                self.places = places(draft, &constraint, &self.nodes, true);
                for place in &mut self.places {
                    order(draft, self.position, &self.scope, &mut place.pods);
                }
            }
            if let Some((asked, room)) = self.step(draft, spread) {
                let (from, to) = (&self.places[asked.from], &self.places[asked.to]);
                let reason = skewed(spread, from, to);
                let candidate = Candidate {
                    pod: asked.pod,
                    strategy: self.position,
                    reason,
                    room: Some(room),
                };
                self.asked = Some(asked);
                return Some(candidate);
            }
            self.places.clear();
            self.constraints.pop_front();
        }
    }

    /// The next pod of the fullest place that has one to give, and where it should go.
    fn step(&mut self, draft: &Draft<'_>, spread: &Spread) -> Option<(Asked, DestinationLimits)> {
        let mut fullest: Vec<usize> = (0..self.places.len()).collect();
        fullest.sort_by_key(|i| (Reverse(self.places[*i].size), *i));
        for &from in &fullest {
            let mut goals: Vec<usize> = (0..self.places.len())
                .filter(|to| self.helps(spread, from, *to))
                .collect();
            goals.sort_by_key(|to| (self.places[*to].size, *to));
            let gone = |p: PodId| {
                draft.moves(p)
                    || draft
                        .world
                        .snapshot
                        .pod(p)
                        .node
                        .is_none_or(|n| self.closed.contains(&n))
            };
            let Some(at) = self.places[from]
                .pods
                .iter()
                .rposition(|p| !gone(*p))
                .filter(|_| !goals.is_empty())
            else {
                continue;
            };
            let pod = self.places[from].pods.remove(at);
            let into = |goals: &[usize]| {
                room(
                    goals
                        .iter()
                        .flat_map(|g| self.places[*g].nodes.iter().copied())
                        .collect(),
                )
            };
            let lands = |goal: &&usize| {
                let reason = skewed(spread, &self.places[from], &self.places[**goal]);
                let candidate = Candidate {
                    pod,
                    strategy: self.position,
                    reason,
                    room: Some(into(std::slice::from_ref(*goal))),
                };
                gate::landing(&candidate, draft).is_ok()
            };
            return Some(match goals.iter().find(lands) {
                Some(&to) => (Asked { pod, from, to }, into(&[to])),
                // None can take it, as the gate will say.
                None => (
                    Asked {
                        pod,
                        from,
                        to: goals[0],
                    },
                    into(&goals),
                ),
            });
        }
        None
    }

    /// Whether a move between two places brings the pods closer to the constraint, and the scheduler would make it.
    fn helps(&self, spread: &Spread, from: usize, to: usize) -> bool {
        helps(&self.places, spread, from, to)
    }

    /// Takes in what came of the pod that was asked for last. What only has to wait counts as gone, so that no other pod
    /// goes in its stead.
    fn settle(&mut self, draft: &Draft<'_>, last: &Asked) {
        let waits = draft
            .refusal(self.position, last.pod)
            .is_some_and(Refusal::is_temporary);
        if draft.moves(last.pod) || waits {
            self.places[last.from].size -= 1;
            self.places[last.to].size += 1;
        }
        self.close(draft, last.pod);
    }

    fn close(&mut self, draft: &Draft<'_>, pod: PodId) {
        if draft
            .refusal(self.position, pod)
            .is_some_and(|why| why.reach() != Reach::Pod)
        {
            self.closed.extend(draft.world.snapshot.pod(pod).node);
        }
    }
}

fn nodes(draft: &Draft<'_>) -> Vec<NodeId> {
    draft
        .world
        .snapshot
        .node_ids()
        .filter(|n| unfit(draft, Basis::Requests, *n).is_none())
        .collect()
}

fn helps(places: &[Place], spread: &Spread, from: usize, to: usize) -> bool {
    let most = usize::try_from(spread.max_skew).unwrap_or(usize::MAX);
    let (from, to) = (places[from].size, places[to].size);
    let wanted = spread
        .min_domains
        .map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX));
    if places.len() < wanted {
        // With too few places the scheduler takes the least for nothing.
        return from > most && to < most;
    }
    let least = places.iter().map(|p| p.size).min().unwrap_or_default();
    from > to.saturating_add(most) && to < least.saturating_add(most)
}

impl Constraint {
    pub(super) fn spread<'w>(&self, draft: &Draft<'w>) -> &'w Spread {
        &draft.world.snapshot.pod(self.pod).spread[self.position]
    }

    /// Whether places on this node count at all.
    fn admits(&self, draft: &Draft<'_>, node: NodeId) -> bool {
        let (spread, of, node) = (
            self.spread(draft),
            draft.world.snapshot.pod(self.pod),
            draft.world.snapshot.node(node),
        );
        (!spread.honours_affinity || scheduler::admits(of, node))
            && (!spread.honours_taints || scheduler::tolerates_all(of, node))
    }

    /// Whether two constraints of one namespace come to the same.
    fn same(&self, other: &Self, draft: &Draft<'_>) -> bool {
        let (a, b) = (self.spread(draft), other.spread(draft));
        let (of_a, of_b) = (
            draft.world.snapshot.pod(self.pod),
            draft.world.snapshot.pod(other.pod),
        );
        let rule = |s: &Spread| {
            (
                s.max_skew,
                s.min_domains,
                s.honours_affinity,
                s.honours_taints,
            )
        };
        let affinity = || {
            of_a.node_selector == of_b.node_selector && of_a.required_nodes == of_b.required_nodes
        };
        rule(a) == rule(b)
            && a.topology_key == b.topology_key
            && a.pods == b.pods
            && (!a.honours_affinity || affinity())
            && (!a.honours_taints || of_a.tolerations == of_b.tolerations)
    }
}

/// The constraints to keep, each once in its namespace.
fn constraints(
    draft: &Draft<'_>,
    position: usize,
    rule: &TopologySpread,
    nodes: &[NodeId],
) -> VecDeque<Constraint> {
    let snapshot = draft.world.snapshot;
    let mut by_namespace: BTreeMap<&str, Vec<PodId>> = BTreeMap::new();
    for &node in nodes {
        for pod in draft
            .pods_on(node)
            .filter(|p| counts(draft, position, rule, *p))
        {
            by_namespace
                .entry(&snapshot.pod(pod).namespace)
                .or_default()
                .push(pod);
        }
    }
    let mut found = VecDeque::new();
    for mut pods in by_namespace.into_values() {
        pods.sort_unstable();
        let pods: Rc<[PodId]> = pods.into();
        let mut here: Vec<Constraint> = Vec::new();
        for &pod in pods.iter().filter(|p| in_scope(rule, snapshot.pod(**p))) {
            for (position, spread) in snapshot.pod(pod).spread.iter().enumerate() {
                let constraint = Constraint {
                    pod,
                    position,
                    pods: Rc::clone(&pods),
                };
                let wanted = if spread.hard { rule.hard } else { rule.soft };
                if wanted && !here.iter().any(|other| other.same(&constraint, draft)) {
                    here.push(constraint);
                }
            }
        }
        found.extend(here);
    }
    found
}

/// Whether a pod is one of those that places are compared by.
fn counts(draft: &Draft<'_>, position: usize, rule: &TopologySpread, pod: PodId) -> bool {
    let it = draft.world.snapshot.pod(pod);
    if !draft.world.policy.exact {
        return it.stays() && rule.scope.namespaces.admit(&it.namespace);
    }
    in_scope(rule, it) && !draft.moves(pod) && gate::evictable(pod, position, draft).is_ok()
}

fn in_scope(rule: &TopologySpread, pod: &Pod) -> bool {
    rule.scope.admits(pod)
}

/// The places, by name, and which of the pods that the constraint selects are where.
pub(super) fn places(
    draft: &Draft<'_>,
    constraint: &Constraint,
    nodes: &[NodeId],
    strictly: bool,
) -> Vec<Place> {
    let snapshot = draft.world.snapshot;
    let spread = constraint.spread(draft);
    let name = |n: &NodeId| snapshot.node(*n).labels.get(&spread.topology_key);
    let mut places: BTreeMap<&str, Place> = BTreeMap::new();
    let mut admitted = BTreeSet::new();
    for node in nodes.iter().filter(|n| constraint.admits(draft, **n)) {
        let Some(name) = name(node) else { continue };
        admitted.insert(*node);
        places.entry(name).or_default().nodes.push(*node);
    }
    for &pod in constraint.pods.iter() {
        let it = snapshot.pod(pod);
        let node = if draft.moves(pod) {
            draft.landing(pod)
        } else {
            it.node
        };
        let counted = node.filter(|n| !strictly || admitted.contains(n));
        let selected = spread.pods.as_ref().is_some_and(|s| s.matches(&it.labels));
        if let (true, Some(name)) = (selected, counted.and_then(|n| name(&n))) {
            places.entry(name).or_default().pods.push(pod);
        }
    }
    let named = |(name, place): (&str, Place)| Place {
        name: name.to_owned(),
        size: place.pods.len(),
        ..place
    };
    places.into_iter().map(named).collect()
}

/// Leaves those that may go, the least important last.
fn order(draft: &Draft<'_>, position: usize, rule: &TopologySpread, pods: &mut Vec<PodId>) {
    let snapshot = draft.world.snapshot;
    pods.retain(|p| in_scope(rule, snapshot.pod(*p)) && !draft.moves(*p));
    // What the gate will not let go is asked for last of all, so that the plan can say why it stays.
    pods.sort_by_cached_key(|p| {
        (
            gate::evictable(*p, position, draft).is_ok(),
            importance(snapshot.pod(*p)),
            *p,
        )
    });
}

/// The greater, the sooner a pod goes: pods that ask for certain nodes last, then the more important ones.
fn importance(pod: &Pod) -> impl Ord + use<> {
    let rank = (
        Reverse(pod.priority),
        Reverse(pod.qos),
        !pod.annotations.prefer_no_eviction,
    );
    (
        !bound(pod),
        rank,
        pod.created,
        Reverse(pod.annotations.deletion_cost),
    )
}

/// Whether a pod asks for certain nodes, so that it has fewer to go to than others.
pub(super) fn bound(pod: &Pod) -> bool {
    !pod.node_selector.is_empty() || pod.required_nodes.is_some() || !pod.preferred_nodes.is_empty()
}

pub(super) fn skewed(spread: &Spread, from: &Place, to: &Place) -> Reason {
    Reason::Skewed {
        key: spread.topology_key.clone(),
        place: from.name.clone(),
        here: from.size,
        there: to.size,
        other: to.name.clone(),
        max_skew: spread.max_skew,
    }
}

fn room(nodes: Vec<NodeId>) -> DestinationLimits {
    DestinationLimits {
        nodes: nodes.into(),
        ceiling: Rc::new([]),
        basis: Basis::Requests,
        cool: Rc::default(),
    }
}
