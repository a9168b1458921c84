//! The world as it is, and the draft of a plan: the world plus what is decided so far.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use jiff::Timestamp;

use crate::model::ledger::Ledger;
use crate::model::plan::{Note, Reason, Refusal, Verdict};
use crate::model::snapshot::facts::Presumed;
use crate::model::snapshot::{NodeId, Pod, PodId, Snapshot};
use crate::model::usage::{Measure, Usage};
use crate::policy::{Basis, Policy, Strategy};
use crate::values::{Amount, PerResource, Ratio, ResourceId};

use self::index::Index;

mod finish;
pub mod index;

/// Since when a node has been above a target of the strategy at this position, by node name.
pub type HotSince = BTreeMap<(usize, String), Timestamp>;

/// All that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct World<'w> {
    /// What the operator asks for.
    pub policy: &'w Policy,
    /// The cluster.
    pub snapshot: &'w Snapshot,
    /// What it uses.
    pub usage: &'w Usage,
    /// What was evicted before.
    pub ledger: &'w Ledger,
    /// For how long nodes have been hot.
    pub hot_since: &'w HotSince,
    /// The time.
    pub now: Timestamp,
}

/// A pod that a strategy would move, and why.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The pod.
    pub pod: PodId,
    /// Position of the strategy in the policy.
    pub strategy: usize,
    /// Why.
    pub reason: Reason,
    /// Where its replacement would have to fit for the move to help; `None` where any node will do.
    pub room: Option<DestinationLimits>,
}

impl Candidate {
    /// A pod that nobody would move, to ask what the gates would say of it.
    pub const fn counted(pod: PodId, strategy: usize) -> Self {
        Candidate {
            pod,
            strategy,
            reason: Reason::Counted,
            room: None,
        }
    }
}

/// Nodes that may take a replacement, and how full it may make them.
#[derive(Clone, Debug)]
pub struct DestinationLimits {
    /// The nodes.
    pub nodes: Rc<[NodeId]>,
    /// No node may be above this afterwards.
    pub ceiling: Rc<[(ResourceId, Ratio)]>,
    /// What the ceiling weighs.
    pub basis: Basis,
    /// No node may be above this by what it uses, where that is known.
    pub cool: Rc<[(ResourceId, Ratio)]>,
}

/// Where a replacement is foreseen to land.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Landing {
    /// The node that its load is booked on from now on; `None` where nobody asked.
    pub on: Option<NodeId>,
    /// Every node that may win it, the likeliest first.
    pub among: Vec<NodeId>,
}

/// The world plus what is decided so far: loads are as they will be once the moves are made.
#[derive(Debug)]
pub struct Draft<'w> {
    /// What it is drafted from.
    pub world: World<'w>,
    actual: Vec<Option<Measure>>,
    requested: Vec<PerResource<Amount>>,
    reserved: Vec<PerResource<Amount>>,
    occupied: Vec<PerResource<Amount>>,
    presumed: Vec<Presumed>,
    places: Vec<Option<NodeId>>,
    index: Rc<OnceCell<Index<'w>>>,
    landed: BTreeMap<NodeId, Vec<PodId>>,
    moves: BTreeMap<PodId, usize>,
    accepted: Vec<(Candidate, Landing)>,
    /// The same, but that replacements for which the scheduler draws lots have not landed anywhere.
    open: Option<Box<Draft<'w>>>,
    kept: BTreeMap<(usize, PodId), Refusal>,
    verdicts: Vec<Verdict>,
    notes: Vec<Note>,
}

impl<'w> Draft<'w> {
    /// Nothing decided.
    pub fn new(world: World<'w>) -> Self {
        let snapshot = world.snapshot;
        let sum = |id: NodeId, counts: fn(&Pod) -> bool| {
            let mut sum = PerResource::all(snapshot.resources.count(), Amount::ZERO);
            for pod in snapshot
                .node(id)
                .pods
                .iter()
                .map(|p| snapshot.pod(*p))
                .filter(|p| counts(p))
            {
                for (r, request) in pod.requests.iter() {
                    sum[r] = sum[r].plus(*request);
                }
            }
            sum
        };
        let reserved: Vec<_> = snapshot.node_ids().map(|n| sum(n, |_| true)).collect();
        Draft {
            actual: snapshot.node_ids().map(|n| world.usage.node(n)).collect(),
            requested: snapshot.node_ids().map(|n| sum(n, Pod::stays)).collect(),
            occupied: reserved.clone(),
            reserved,
            presumed: snapshot.node_ids().map(|n| presumed(snapshot, n)).collect(),
            places: snapshot
                .pods
                .iter()
                .map(|pod| pod.node.filter(|_| !pod.finished()))
                .collect(),
            index: Rc::default(),
            landed: BTreeMap::new(),
            moves: BTreeMap::new(),
            accepted: Vec::new(),
            open: None,
            kept: BTreeMap::new(),
            verdicts: Vec::new(),
            notes: Vec::new(),
            world,
        }
    }

    /// The same draft without the answers so far, to try on it what a few more moves would lead to.
    #[must_use]
    pub fn trial(&self) -> Self {
        Draft {
            world: self.world,
            actual: self.actual.clone(),
            requested: self.requested.clone(),
            reserved: self.reserved.clone(),
            occupied: self.occupied.clone(),
            presumed: self.presumed.clone(),
            places: self.places.clone(),
            index: Rc::clone(&self.index),
            landed: self.landed.clone(),
            moves: self.moves.clone(),
            accepted: self.accepted.clone(),
            open: self.open.as_ref().map(|open| Box::new(open.trial())),
            kept: BTreeMap::new(),
            verdicts: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// What a node carries of a resource: used, or requested, by the pods that stay and those that are to land.
    /// Resources other than cpu and memory are always weighed by requests. `None` where usage is unknown.
    pub fn load(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Option<Amount> {
        match (basis, resource) {
            (Basis::Actual, ResourceId::CPU) => self.actual[node.0].map(|m| m.cpu),
            (Basis::Actual, ResourceId::MEMORY) => self.actual[node.0].map(|m| m.memory),
            _ => Some(self.requested[node.0][resource]),
        }
    }

    /// What a pod would take along. `None` where its usage is unknown.
    pub fn weight(&self, pod: PodId, resource: ResourceId, basis: Basis) -> Option<Amount> {
        match (basis, resource) {
            (Basis::Actual, ResourceId::CPU) => self.world.usage.pod(pod).map(|m| m.cpu),
            (Basis::Actual, ResourceId::MEMORY) => self.world.usage.pod(pod).map(|m| m.memory),
            _ => Some(self.world.snapshot.pod(pod).requests[resource]),
        }
    }

    /// The load as a share of allocatable. Nothing of a resource that the node does not have is a share of zero.
    pub fn ratio(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Option<Ratio> {
        self.ratio_with(node, resource, basis, Amount::ZERO)
    }

    /// The share that the load would be with so much more.
    pub fn ratio_with(
        &self,
        node: NodeId,
        resource: ResourceId,
        basis: Basis,
        more: Amount,
    ) -> Option<Ratio> {
        let load = self.load(node, resource, basis)?.plus(more);
        let whole = self.world.snapshot.node(node).allocatable[resource];
        if load == Amount::ZERO {
            Some(Ratio::ZERO)
        } else {
            load.share_of(whole)
        }
    }

    /// What kube-scheduler holds to be free on a node: pods on their way out still count.
    pub fn free(&self, node: NodeId, resource: ResourceId) -> Amount {
        self.world.snapshot.node(node).allocatable[resource].minus(self.reserved[node.0][resource])
    }

    /// What all pods of a node request, those on their way out included.
    pub fn reserved(&self, node: NodeId) -> &PerResource<Amount> {
        &self.reserved[node.0]
    }

    /// What kube-scheduler takes the pods of a node to use where it scores nodes, those on their way out included.
    pub fn presumed(&self, node: NodeId) -> Presumed {
        self.presumed[node.0]
    }

    /// Where a pod is, or where its replacement is foreseen to land once it is to be moved.
    pub fn place(&self, pod: PodId) -> Option<NodeId> {
        self.places[pod.0]
    }

    /// What of the snapshot is looked up again and again.
    pub fn index(&self) -> &Index<'w> {
        self.index.get_or_init(|| Index::new(self.world.snapshot))
    }

    /// What is free on a node now, whatever is decided.
    pub fn free_today(&self, node: NodeId, resource: ResourceId) -> Amount {
        self.world.snapshot.node(node).allocatable[resource].minus(self.occupied[node.0][resource])
    }

    /// The pods that are on a node and stay, and those that are to land there.
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

    /// The strategy at a position of the policy.
    pub fn strategy(&self, position: usize) -> &'w Strategy {
        &self.world.policy.strategies[position]
    }

    /// Whether a pod is already to be moved.
    pub fn moves(&self, pod: PodId) -> bool {
        self.moves.contains_key(&pod)
    }

    /// Where a pod that is to be moved is foreseen to land.
    pub fn landing(&self, pod: PodId) -> Option<NodeId> {
        self.moves
            .get(&pod)
            .and_then(|position| self.accepted[*position].1.on)
    }

    /// The moves so far, in order.
    pub fn accepted(&self) -> impl Iterator<Item = &Candidate> {
        self.accepted.iter().map(|(candidate, _)| candidate)
    }

    /// How many moves so far are of such pods.
    pub fn count(&self, counts: impl Fn(&Candidate, &Pod) -> bool) -> u32 {
        let counted = self
            .accepted()
            .filter(|c| counts(c, self.world.snapshot.pod(c.pod)))
            .count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    }

    /// What the gates answered to a strategy about a pod.
    pub fn refusal(&self, strategy: usize, pod: PodId) -> Option<&Refusal> {
        self.kept.get(&(strategy, pod))
    }

    /// All that the gates answered to a strategy, by pod.
    pub fn refusals(&self, strategy: usize) -> impl Iterator<Item = (PodId, &Refusal)> {
        let first = (strategy, PodId(0));
        self.kept
            .range(first..)
            .take_while(move |((s, _), _)| *s == strategy)
            .map(|((_, pod), why)| (*pod, why))
    }

    /// The move of a pod, if it is to be moved: who asked and why, and where it is foreseen to land.
    pub fn move_of(&self, pod: PodId) -> Option<(&Candidate, &Landing)> {
        self.moves
            .get(&pod)
            .map(|position| &self.accepted[*position])
            .map(|(candidate, landing)| (candidate, landing))
    }

    /// Where lots were drawn for earlier moves, the draft in which those have not landed anywhere: whatever the lots,
    /// the scheduler will find each node as it is in this one, as it is there, or in between.
    pub fn open(&self) -> Option<&Draft<'w>> {
        self.open.as_deref()
    }

    /// The nodes for which the scheduler draws lots among earlier moves.
    pub fn lots(&self) -> Vec<NodeId> {
        let drawn = self
            .accepted
            .iter()
            .filter(|(_, landing)| landing.among.len() > 1);
        drawn
            .flat_map(|(_, landing)| landing.among.iter().copied())
            .collect()
    }

    /// The nodes that moves so far may land on.
    pub fn goals(&self) -> BTreeSet<NodeId> {
        self.accepted
            .iter()
            .flat_map(|(_, landing)| landing.among.iter().copied().chain(landing.on))
            .collect()
    }

    /// Writes down a move, and shifts the pod's load.
    pub fn accept(&mut self, candidate: Candidate, landing: Landing) {
        if landing.among.len() > 1 && self.open.is_none() {
            self.open = Some(Box::new(self.trial()));
        }
        if let Some(open) = &mut self.open {
            let lot = Landing {
                on: None,
                among: Vec::new(),
            };
            open.accept(
                candidate.clone(),
                if landing.among.len() > 1 {
                    lot
                } else {
                    landing.clone()
                },
            );
        }
        let pod = candidate.pod;
        let snapshot = self.world.snapshot;
        let used = self.world.usage.pod(pod).unwrap_or_default();
        // What has finished takes nothing along: it was not counted where it is.
        let counted = !snapshot.pod(pod).finished();
        if let Some(from) = snapshot.pod(pod).node.filter(|_| counted) {
            self.shift(from, pod, |m| m.minus(used), Amount::minus);
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

    /// Writes down that the scheduler has put a waiting pod on a node.
    pub fn bind(&mut self, pod: PodId, node: NodeId) {
        let used = self
            .world
            .usage
            .pods
            .get(pod.0)
            .and_then(|_| self.world.usage.pod(pod))
            .unwrap_or_default();
        self.shift(node, pod, |m| m.plus(used), Amount::plus);
        self.places[pod.0] = Some(node);
        self.landed.entry(node).or_default().push(pod);
    }

    fn shift(
        &mut self,
        node: NodeId,
        pod: PodId,
        used: impl Fn(Measure) -> Measure,
        by: fn(Amount, Amount) -> Amount,
    ) {
        self.actual[node.0] = self.actual[node.0].map(used);
        let (sum, one) = (self.presumed[node.0], self.world.snapshot.pod(pod).presumed);
        self.presumed[node.0] = Presumed {
            cpu: by(sum.cpu, one.cpu),
            memory: by(sum.memory, one.memory),
        };
        for r in self.world.snapshot.resources.ids() {
            let request = self.world.snapshot.pod(pod).requests[r];
            for table in [&mut self.requested, &mut self.reserved] {
                table[node.0][r] = by(table[node.0][r], request);
            }
        }
    }

    /// Writes down why a pod stays.
    pub fn refuse(&mut self, candidate: &Candidate, why: Refusal) {
        self.kept.insert((candidate.strategy, candidate.pod), why);
    }

    /// Writes down what a strategy takes a node for.
    pub fn judge(&mut self, verdict: Verdict) {
        self.verdicts.push(verdict);
    }

    /// What strategies have taken nodes for so far.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// Why strategies do nothing, so far.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Writes down why a strategy does nothing.
    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
    }
}

fn presumed(snapshot: &Snapshot, node: NodeId) -> Presumed {
    let pods = snapshot
        .node(node)
        .pods
        .iter()
        .map(|p| snapshot.pod(*p).presumed);
    pods.fold(Presumed::default(), |sum, one| Presumed {
        cpu: sum.cpu.plus(one.cpu),
        memory: sum.memory.plus(one.memory),
    })
}
