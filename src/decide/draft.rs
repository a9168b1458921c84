//! The world as the input of a decision, and the draft of a plan: the world plus the decisions so
//! far.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::model::plan::{Note, Refusal, Verdict};
use crate::model::snapshot::facts::NonZeroRequests;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::model::usage::Measure;
use crate::policy::{Evictable, Strategy};
use crate::values::{Amount, PerResource, Ratio, ResourceId};

use self::forecasts::RememberedForecast;
use self::node_sums::NodeSums;

mod binding;
mod deviation;
mod finish;
mod forecasts;
pub mod index;
mod lingering;
mod next_hour;
mod node_sums;
mod outlook;
mod ratios;
mod starts;
mod tables;
mod world;

pub use starts::Starts;
use tables::Tables;
pub use world::{Candidate, DestinationLimits, HotSince, Landing, Prospect, World};

/// The world plus the decisions so far. Loads are those after the moves.
#[derive(Debug)]
pub struct Draft<'w> {
    /// The input of the decision.
    pub world: World<'w>,
    actual: Vec<Option<Measure>>,
    requested: Vec<PerResource<Amount>>,
    reserved: Vec<PerResource<Amount>>,
    occupied: Vec<PerResource<Amount>>,
    non_zero_requests: Vec<NonZeroRequests>,
    places: Vec<Option<NodeId>>,
    tables: Rc<Tables<'w>>,
    landed: BTreeMap<NodeId, Vec<PodId>>,
    /// Moved pods on the nodes that they leave, where they hold their requests until they end.
    lingering: Vec<Vec<PodId>>,
    moves: BTreeMap<PodId, usize>,
    accepted: Vec<(Candidate, Landing)>,
    /// The same draft, except that replacements with several possible nodes have not landed
    /// anywhere.
    open: Option<Box<Draft<'w>>>,
    /// Where the scheduler may start its search after the moves so far.
    starts: OnceCell<Option<Starts>>,
    kept: BTreeMap<(usize, PodId), Refusal>,
    verdicts: Vec<Verdict>,
    notes: Vec<Note>,
    /// The last forecast for each candidate, with the number of moves before it.
    remembered: RefCell<BTreeMap<(usize, PodId), RememberedForecast>>,
}

impl<'w> Draft<'w> {
    /// Creates a draft without decisions.
    pub fn new(world: World<'w>) -> Self {
        let snapshot = world.snapshot;
        let sums = NodeSums::of(snapshot);
        Draft {
            actual: snapshot.node_ids().map(|n| world.usage.node(n)).collect(),
            requested: sums.requested,
            occupied: sums.reserved.clone(),
            reserved: sums.reserved,
            non_zero_requests: sums.non_zero_requests,
            places: sums.places,
            tables: Rc::default(),
            landed: BTreeMap::new(),
            lingering: vec![Vec::new(); snapshot.nodes.len()],
            moves: BTreeMap::new(),
            accepted: Vec::new(),
            open: None,
            starts: OnceCell::new(),
            kept: BTreeMap::new(),
            verdicts: Vec::new(),
            notes: Vec::new(),
            remembered: RefCell::default(),
            world,
        }
    }

    /// Returns a copy without refusals and verdicts, to try the effect of a few more moves.
    #[must_use]
    pub fn trial(&self) -> Self {
        Draft {
            world: self.world,
            actual: self.actual.clone(),
            requested: self.requested.clone(),
            reserved: self.reserved.clone(),
            occupied: self.occupied.clone(),
            non_zero_requests: self.non_zero_requests.clone(),
            places: self.places.clone(),
            tables: Rc::clone(&self.tables),
            landed: self.landed.clone(),
            lingering: self.lingering.clone(),
            moves: self.moves.clone(),
            accepted: self.accepted.clone(),
            open: self.open.as_ref().map(|open| Box::new(open.trial())),
            starts: self.starts.clone(),
            kept: BTreeMap::new(),
            verdicts: Vec::new(),
            notes: Vec::new(),
            remembered: RefCell::default(),
        }
    }

    /// Returns the free amount as kube-scheduler counts it: terminating pods still occupy their
    /// requests.
    pub fn free(&self, node: NodeId, resource: ResourceId) -> Amount {
        self.world.snapshot.node(node).allocatable[resource].minus(self.reserved[node.0][resource])
    }

    /// Returns the share of allocatable that kube-scheduler counts as requested: terminating pods
    /// still hold their part. `None` if the node does not have the resource.
    pub fn taken(&self, node: NodeId, resource: ResourceId) -> Option<Ratio> {
        let taken = self.reserved[node.0][resource];
        if taken == Amount::ZERO {
            return (!self.lacks(node, resource)).then_some(Ratio::ZERO);
        }
        taken.share_of(self.world.snapshot.node(node).allocatable[resource])
    }

    /// Returns the requests of all pods of a node, including terminating ones.
    pub fn reserved(&self, node: NodeId) -> &PerResource<Amount> {
        &self.reserved[node.0]
    }

    /// Returns the requests of all pods of a node, including terminating ones, as kube-scheduler
    /// counts them for scores: with a default for containers without requests.
    pub fn non_zero_requests(&self, node: NodeId) -> NonZeroRequests {
        self.non_zero_requests[node.0]
    }

    /// Returns the node of a pod, or the expected node of its replacement if it moves.
    pub fn place(&self, pod: PodId) -> Option<NodeId> {
        self.places[pod.0]
    }

    /// Returns the free amount of a node now, ignoring planned moves.
    pub fn free_today(&self, node: NodeId, resource: ResourceId) -> Amount {
        self.world.snapshot.node(node).allocatable[resource].minus(self.occupied[node.0][resource])
    }

    /// Returns the pods that stay on a node and those expected to land there.
    pub fn pods_on(&self, node: NodeId) -> impl Iterator<Item = PodId> + use<'_, 'w> {
        let staying = self
            .world
            .snapshot
            .node(node)
            .pods
            .iter()
            .filter(|p| !self.moves.contains_key(p));
        staying
            .chain(self.landed.get(&node).into_iter().flatten())
            .copied()
    }

    /// Returns the strategy at a position of the policy.
    pub fn strategy(&self, position: usize) -> &'w Strategy {
        &self.world.policy.strategies[position]
    }

    /// Returns the rules of the candidate's profile about which pods may be evicted.
    pub fn rules(&self, candidate: &Candidate) -> &'w Evictable {
        &self.world.policy.profiles[self.strategy(candidate.strategy).profile].evictable
    }

    /// Returns true if the draft moves the pod.
    pub fn moves(&self, pod: PodId) -> bool {
        self.moves.contains_key(&pod)
    }

    /// Returns the expected node of a moved pod's replacement.
    pub fn landing(&self, pod: PodId) -> Option<NodeId> {
        self.moves
            .get(&pod)
            .and_then(|position| self.accepted[*position].1.on)
    }

    /// Returns the moves so far, in order.
    pub fn accepted(&self) -> impl Iterator<Item = &Candidate> {
        self.accepted.iter().map(|(candidate, _)| candidate)
    }

    /// Counts the moves so far that match a condition.
    pub fn count(&self, counts: impl Fn(&Candidate, &Pod) -> bool) -> u32 {
        let counted = self
            .accepted()
            .filter(|c| counts(c, self.world.snapshot.pod(c.pod)))
            .count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    }

    /// Returns the refusal of a pod for a strategy.
    pub fn refusal(&self, strategy: usize, pod: PodId) -> Option<&Refusal> {
        self.kept.get(&(strategy, pod))
    }

    /// Returns all refusals for a strategy, by pod.
    pub fn refusals(&self, strategy: usize) -> impl Iterator<Item = (PodId, &Refusal)> {
        let first = (strategy, PodId(0));
        self.kept
            .range(first..)
            .take_while(move |((s, _), _)| *s == strategy)
            .map(|((_, pod), why)| (*pod, why))
    }

    /// Returns the move of a pod and its expected landing, if the draft moves it.
    pub fn move_of(&self, pod: PodId) -> Option<(&Candidate, &Landing)> {
        self.moves
            .get(&pod)
            .map(|position| &self.accepted[*position])
            .map(|(candidate, landing)| (candidate, landing))
    }

    /// Returns the draft in which moves with several possible nodes have not landed anywhere;
    /// `None` without such moves.
    ///
    /// The scheduler will find each node as in this draft, as in that one, or in between.
    pub fn open(&self) -> Option<&Draft<'w>> {
        self.open.as_deref()
    }

    /// Returns the nodes that may take the replacement of a move with several possible nodes.
    pub fn undecided_nodes(&self) -> Vec<NodeId> {
        let undecided = self
            .accepted
            .iter()
            .filter(|(_, landing)| landing.possible_nodes.len() > 1);
        undecided
            .flat_map(|(_, landing)| landing.possible_nodes.iter().copied())
            .collect()
    }

    /// Returns the moved pods that are expected elsewhere but may land on a node.
    pub fn undecided_pods(&self, node: NodeId) -> impl Iterator<Item = PodId> {
        let may = self.accepted.iter().filter(move |(_, landing)| {
            landing.on != Some(node) && landing.possible_nodes.contains(&node)
        });
        may.map(|(candidate, _)| candidate.pod)
    }

    /// Returns the nodes where the moves so far may land.
    pub fn possible_nodes(&self) -> BTreeSet<NodeId> {
        self.accepted
            .iter()
            .flat_map(|(_, landing)| landing.possible_nodes.iter().copied().chain(landing.on))
            .collect()
    }

    /// Records a move and shifts the load of the pod.
    pub fn accept(&mut self, candidate: Candidate, landing: Landing) {
        if landing.possible_nodes.len() > 1 && self.open.is_none() {
            self.open = Some(Box::new(self.trial()));
        }
        if let Some(open) = &mut self.open {
            let nowhere = Landing {
                starts: landing.starts.clone(),
                ..Landing::default()
            };
            open.accept(
                candidate.clone(),
                if landing.possible_nodes.len() > 1 {
                    nowhere
                } else {
                    landing.clone()
                },
            );
        }
        self.book(candidate, landing);
    }

    /// Records a move in this draft only, and not in the open one.
    fn book(&mut self, candidate: Candidate, landing: Landing) {
        let pod = candidate.pod;
        let snapshot = self.world.snapshot;
        let used = self.world.usage.pod(pod).unwrap_or_default();
        // A finished pod takes no load along: the load of its node does not include it.
        let counted = !snapshot.pod(pod).finished();
        if counted {
            self.starts = OnceCell::from(landing.starts.clone());
        }
        if let Some(from) = snapshot.pod(pod).node.filter(|_| counted) {
            self.shift(from, pod, |m| m.minus(used), Amount::minus);
            self.linger(from, pod);
            self.places[pod.0] = None;
        }
        if let Some(to) = landing.on.filter(|_| counted) {
            self.shift(to, pod, |m| m.plus(used), Amount::plus);
            self.places[pod.0] = Some(to);
            self.landed.entry(to).or_default().push(pod);
        }
        self.moves.insert(pod, self.accepted.len());
        self.accepted.push((candidate, landing));
    }

    fn shift(
        &mut self,
        node: NodeId,
        pod: PodId,
        used: impl Fn(Measure) -> Measure,
        by: fn(Amount, Amount) -> Amount,
    ) {
        self.actual[node.0] = self.actual[node.0].map(used);
        let pod = self.world.snapshot.pod(pod);
        for (resource, request) in pod.requests.iter() {
            let requested = &mut self.requested[node.0][resource];
            *requested = by(*requested, *request);
        }
        self.reserve(node, &pod.requests, pod.non_zero_requests, by);
    }

    /// Records the refusal of a candidate.
    pub fn refuse(&mut self, candidate: &Candidate, why: Refusal) {
        self.kept.insert((candidate.strategy, candidate.pod), why);
    }

    /// Records the verdict of a strategy on a node.
    pub fn judge(&mut self, verdict: Verdict) {
        self.verdicts.push(verdict);
    }

    /// Returns the verdicts so far.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// Returns the notes so far.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Records the reason why a strategy does nothing.
    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
    }
}
