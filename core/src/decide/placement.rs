//! The cluster as kube-scheduler sees it: the requests on each node, the place of each pod, and
//! where the next search may start, after some moves.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::model::search_start::SearchStart;
use crate::model::snapshot::facts::NonZeroRequests;
use crate::model::snapshot::{Departure, NodeId, Pod, PodId, Snapshot};
use crate::policy::Policy;
use crate::values::{Amount, PerResource, ResourceId};

use self::index::Index;

pub mod index;
mod leaving;
mod starts;

pub use starts::Starts;

/// The requests and the places of pods after some moves. The forecast of kube-scheduler needs
/// nothing else.
#[derive(Clone, Debug)]
pub struct Placement<'w> {
    /// The policy, which has the configuration of the scheduler.
    pub policy: &'w Policy,
    /// The nodes and pods before the moves.
    pub snapshot: &'w Snapshot,
    /// Where the scheduler may start its next search, before the moves.
    pub search_start: &'w SearchStart,
    /// The requests of the pods of each node that have not finished.
    reserved: Vec<PerResource<Amount>>,
    non_zero_requests: Vec<NonZeroRequests>,
    /// The node of each pod that has not finished.
    places: Vec<Option<NodeId>>,
    moved: BTreeSet<PodId>,
    landed: BTreeMap<NodeId, Vec<PodId>>,
    /// Moved pods on the nodes that they leave, where they hold their requests until they end.
    lingering: Vec<Vec<PodId>>,
    /// Pods that wait for a node, on the nodes where they are expected.
    waiting: BTreeMap<NodeId, Vec<PodId>>,
    /// Those of them that may get another node, with all nodes that they may get.
    undecided_waiting: Vec<(PodId, Rc<[NodeId]>)>,
    /// Nodes whose pods are not those of the snapshot.
    changed: BTreeSet<NodeId>,
    /// Where the scheduler may start its search after the moves.
    starts: OnceCell<Option<Starts>>,
    /// The requests before the moves.
    reserved_before: Rc<[PerResource<Amount>]>,
    index: Rc<Index<'w>>,
}

impl<'w> Placement<'w> {
    /// Creates the placement of a snapshot, without moves.
    pub fn new(policy: &'w Policy, snapshot: &'w Snapshot, search_start: &'w SearchStart) -> Self {
        let nodes = snapshot.nodes.len();
        let zero = PerResource::all(snapshot.resources.count(), Amount::ZERO);
        let mut placement = Placement {
            policy,
            snapshot,
            search_start,
            reserved: vec![zero; nodes],
            non_zero_requests: vec![NonZeroRequests::default(); nodes],
            places: Vec::with_capacity(snapshot.pods.len()),
            moved: BTreeSet::new(),
            landed: BTreeMap::new(),
            lingering: vec![Vec::new(); nodes],
            waiting: BTreeMap::new(),
            undecided_waiting: Vec::new(),
            changed: BTreeSet::new(),
            starts: OnceCell::new(),
            reserved_before: Rc::default(),
            index: Rc::new(Index::new(snapshot)),
        };
        for pod in &snapshot.pods {
            let place = pod.node.filter(|_| !pod.finished());
            placement.places.push(place);
            if let Some(node) = place {
                placement.count(node, pod, Amount::plus);
            }
        }
        placement.reserved_before = placement.reserved.as_slice().into();
        placement
    }

    /// Returns the lookup tables of the snapshot.
    pub fn index(&self) -> &Index<'w> {
        &self.index
    }

    /// Returns the requests of all pods of a node, including terminating ones and those that wait
    /// and are expected there.
    pub fn reserved(&self, node: NodeId) -> &PerResource<Amount> {
        &self.reserved[node.0]
    }

    /// Returns the same requests as kube-scheduler counts them for scores: with a default for
    /// containers without requests.
    pub fn non_zero_requests(&self, node: NodeId) -> NonZeroRequests {
        self.non_zero_requests[node.0]
    }

    /// Returns the free amount of a node before the moves.
    pub fn free_before(&self, node: NodeId, resource: ResourceId) -> Amount {
        let whole = self.snapshot.node(node).allocatable[resource];
        whole.minus(self.reserved_before[node.0][resource])
    }

    /// Returns the node of a pod, or the expected node of its replacement if it moves, or its own
    /// expected node if it waits for one.
    pub fn place(&self, pod: PodId) -> Option<NodeId> {
        self.places[pod.0]
    }

    /// Returns true if the pod moves.
    pub fn moves(&self, pod: PodId) -> bool {
        self.moved.contains(&pod)
    }

    /// Returns the pods that leave a node.
    pub fn going(&self, node: NodeId) -> impl Iterator<Item = PodId> + use<'_, 'w> {
        let pods = self.snapshot.node(node).pods.iter().copied();
        pods.filter(|pod| self.moves(*pod))
    }

    /// Returns the pods that are expected to land on a node.
    pub fn landed(&self, node: NodeId) -> &[PodId] {
        self.landed.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns true if the pods of a node are those of the snapshot.
    pub fn is_unchanged(&self, node: NodeId) -> bool {
        !self.changed.contains(&node)
    }

    /// Returns the pods that are expected on a node and are not there: those that land, and those
    /// that wait.
    pub fn arrivals(&self, node: NodeId) -> impl Iterator<Item = PodId> + use<'_, 'w> {
        let waiting = self.waiting.get(&node).into_iter().flatten();
        self.landed(node).iter().chain(waiting).copied()
    }

    /// Returns the pods that stay on a node and those expected to land there.
    pub fn pods_on(&self, node: NodeId) -> impl Iterator<Item = PodId> + use<'_, 'w> {
        let pods = self.snapshot.node(node).pods.iter();
        let staying = pods.filter(|pod| !self.moves(**pod));
        staying.chain(self.landed(node)).copied()
    }

    /// Books the move of a pod: it leaves its node, and its replacement lands.
    pub fn book(&mut self, pod: PodId, landing: &Landing) {
        self.moved.insert(pod);
        let facts = self.snapshot.pod(pod);
        // A finished pod holds no requests.
        if facts.finished() {
            return;
        }
        self.starts = OnceCell::from(landing.starts.clone());
        if let Some(from) = facts.node {
            self.count(from, facts, Amount::minus);
            self.lingering[from.0].push(pod);
            self.places[pod.0] = None;
            self.changed.insert(from);
        }
        if let Some(to) = landing.on {
            self.bind(pod, to);
        }
    }

    /// Changes the requests on a node by those of a pod.
    fn count(&mut self, node: NodeId, pod: &Pod, by: fn(Amount, Amount) -> Amount) {
        self.reserve(node, &pod.requests, pod.non_zero_requests, by);
    }

    /// Changes the requests on a node.
    fn reserve(
        &mut self,
        node: NodeId,
        requests: &PerResource<Amount>,
        non_zero_requests: NonZeroRequests,
        by: fn(Amount, Amount) -> Amount,
    ) {
        self.reserved[node.0].change(requests, by);
        let sum = &mut self.non_zero_requests[node.0];
        sum.cpu = by(sum.cpu, non_zero_requests.cpu);
        sum.memory = by(sum.memory, non_zero_requests.memory);
    }

    /// Reserves room for a pod that waits, on the node where the scheduler is expected to put it.
    pub fn expect(&mut self, pod: PodId, landing: Landing) {
        let Some(node) = landing.on else { return };
        self.count(node, self.snapshot.pod(pod), Amount::plus);
        self.places[pod.0] = Some(node);
        self.waiting.entry(node).or_default().push(pod);
        self.changed.insert(node);
        if landing.is_undecided() {
            self.undecided_waiting.push((pod, landing.possible_nodes.into()));
        }
        self.starts = landing.starts.into();
    }

    /// Returns the pods that wait and may get another node than the expected one, with all nodes
    /// that they may get.
    pub fn undecided_waiting(&self) -> &[(PodId, Rc<[NodeId]>)] {
        &self.undecided_waiting
    }

    /// Returns true if a pod is on no node yet, and the placement expects it on one.
    pub fn expects(&self, pod: PodId) -> bool {
        self.snapshot.pod(pod).node.is_none() && self.place(pod).is_some()
    }

    /// Returns the part of the requests on a node that is reserved for pods that wait.
    pub fn promised(&self, node: NodeId, resource: ResourceId) -> Amount {
        let here = self.waiting.get(&node).into_iter().flatten();
        here.map(|pod| self.snapshot.pod(*pod).requests[resource]).sum()
    }

    /// Puts a pod without a node on a node.
    pub fn bind(&mut self, pod: PodId, node: NodeId) {
        let facts = self.snapshot.pod(pod);
        self.count(node, facts, Amount::plus);
        self.places[pod.0] = Some(node);
        self.landed.entry(node).or_default().push(pod);
        self.changed.insert(node);
    }

    /// Takes a pod off its node, as it was before the scheduler bound it or after it has ended.
    pub fn unbind(&mut self, pod: PodId) {
        let facts = self.snapshot.pod(pod);
        if let Some(node) = self.places[pod.0].take() {
            self.changed.insert(node);
            self.count(node, facts, Amount::minus);
        }
    }

    /// Adds the requests of a pod that has ended, as they were before.
    pub fn hold(&mut self, ended: &Departure) {
        let (node, non_zero_requests) = (ended.node, ended.non_zero_requests);
        self.reserve(node, &ended.requests, non_zero_requests, Amount::plus);
    }

    /// Removes the requests of a pod that has ended.
    pub fn release(&mut self, ended: &Departure) {
        let (node, non_zero_requests) = (ended.node, ended.non_zero_requests);
        self.reserve(node, &ended.requests, non_zero_requests, Amount::minus);
    }
}

/// The nodes where the forecast expects a replacement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Landing {
    /// The node that takes the load; `None` without a forecast, and if no node can run it.
    pub on: Option<NodeId>,
    /// Every node that may win, the most likely first. Nodes that only a second forecast names come
    /// last.
    pub possible_nodes: Vec<NodeId>,
    /// Where the scheduler may start its next search; `None` if that is not known.
    pub starts: Option<Starts>,
}

impl Landing {
    /// Returns true if several nodes may win.
    pub const fn is_undecided(&self) -> bool {
        self.possible_nodes.len() > 1
    }

    /// Returns the node that takes the load, or else the likeliest one.
    pub fn expected(&self) -> Option<NodeId> {
        self.on.or_else(|| self.possible_nodes.first().copied())
    }

    /// Without a node that takes the load, takes the likeliest one, the pod's own only if there is
    /// no other.
    #[must_use]
    pub fn on_another(self, home: Option<NodeId>) -> Self {
        let mut others = self.possible_nodes.iter().copied();
        let other = others.find(|node| Some(*node) != home);
        Landing { on: self.on.or(other).or_else(|| self.expected()), ..self }
    }
}
