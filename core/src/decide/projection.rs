//! The cluster as it is after some moves: where its pods are, and the load of each node.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::rc::Rc;

use crate::decide::placement::{Landing, Placement};
use crate::decide::scheduler::{self, WaitingPod};
use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::{ExpectedDay, Measure};
use crate::policy::Basis;
use crate::values::{Amount, PerResource, Ratio, ResourceId};

mod failing;
mod ratios;
mod refused;
mod starting;
mod tables;
mod world;

pub use failing::FailingCreation;
pub use starting::LONG_START;
use tables::Tables;
pub use tables::{TargetByMean, WaitingOrdinal};
pub use world::{HotSince, World};

/// The placement and the loads after some moves. It also gives what the placement gives.
#[derive(Clone, Debug)]
pub struct Projection<'w> {
    /// The input of the decision.
    pub world: World<'w>,
    placement: Placement<'w>,
    /// The usage of each node; `None` if it is unknown.
    actual: Vec<Option<Measure>>,
    /// The part of it that is only assumed of pods that nothing has measured.
    assumed: Vec<Measure>,
    /// The requests of the pods that stay on each node, or are expected there.
    requested: Vec<PerResource<Amount>>,
    /// Moved pods that may land on other nodes than the expected one, with these nodes in order.
    undecided: Vec<(PodId, Rc<[NodeId]>)>,
    /// For each node, the usage of the pods that are expected elsewhere but may land there.
    undecided_usage: Vec<Measure>,
    /// The nodes where moved pods with several possible nodes may land. Every forecast asks for
    /// them, so they are not collected again.
    undecided_nodes: BTreeSet<NodeId>,
    tables: Rc<Tables>,
}

impl<'w> Deref for Projection<'w> {
    type Target = Placement<'w>;
    fn deref(&self) -> &Placement<'w> {
        &self.placement
    }
}

/// The usage that is only assumed of the pods that stay on a node.
fn assumed_on(world: World<'_>, node: NodeId) -> Measure {
    let pods = world.snapshot.node(node).pods.iter();
    let staying = pods.filter(|pod| world.snapshot.pod(**pod).stays());
    staying.map(|pod| world.usage.assumed(*pod)).fold(Measure::default(), Measure::plus)
}

impl<'w> Projection<'w> {
    /// Reserves room for the pods that wait for a node, as the scheduler does before it places
    /// replacements. The second projection does so only for those that wait for nothing else; it is
    /// `None` if that makes no difference.
    pub fn with_waiting(mut self) -> (Self, Option<Self>) {
        let waiting = scheduler::waiting(self.world.snapshot);
        let (pod, most_work) = (|one: &WaitingPod| one.pod, scheduler::MOST_WORK);
        let before = waiting.iter().any(|one| one.doubtful).then(|| self.clone());
        scheduler::expect_waiting(&mut self.placement, waiting.iter().map(pod), most_work);
        let has_room = |one: &WaitingPod| one.doubtful && self.expects(one.pod);
        let mut without = before.filter(|_| waiting.iter().any(has_room));
        if let Some(without) = &mut without {
            let certain = waiting.iter().filter(|one| !one.doubtful).map(pod);
            scheduler::expect_waiting(&mut without.placement, certain, most_work);
        }
        (self, without)
    }

    /// Creates the projection of a world without moves.
    pub fn new(world: World<'w>) -> Self {
        let snapshot = world.snapshot;
        let zero = PerResource::all(snapshot.resources.count(), Amount::ZERO);
        let mut requested = vec![zero; snapshot.nodes.len()];
        for pod in snapshot.pods.iter().filter(|pod| pod.stays()) {
            if let Some(NodeId(node)) = pod.node {
                requested[node].change(&pod.requests, Amount::plus);
            }
        }
        Projection {
            placement: Placement::new(world.policy, snapshot, world.search_start),
            actual: snapshot.node_ids().map(|n| world.usage.node(n)).collect(),
            assumed: snapshot.node_ids().map(|n| assumed_on(world, n)).collect(),
            requested,
            undecided: Vec::new(),
            undecided_usage: vec![Measure::default(); snapshot.nodes.len()],
            undecided_nodes: BTreeSet::new(),
            tables: Rc::default(),
            world,
        }
    }

    /// Books the move of a pod: its load leaves its node, and lands with its replacement.
    pub fn book(&mut self, pod: PodId, landing: &Landing) {
        self.placement.book(pod, landing);
        self.book_undecided(pod, landing);
        let (facts, used) = (self.world.snapshot.pod(pod), self.world.usage.pod_on_node(pod));
        // A finished pod takes no load along: the load of its node does not include it.
        if facts.finished() {
            return;
        }
        let assumed = self.world.usage.assumed(pod);
        if let Some(NodeId(from)) = facts.node {
            self.assumed[from] = self.assumed[from].minus(assumed);
            self.actual[from] = self.actual[from].map(|load| load.minus(used));
            self.requested[from].change(&facts.requests, Amount::minus);
        }
        if let Some(NodeId(to)) = landing.on {
            self.assumed[to] = self.assumed[to].plus(assumed);
            self.actual[to] = self.actual[to].map(|load| load.plus(used));
            self.requested[to].change(&facts.requests, Amount::plus);
        }
    }

    /// Books the nodes where a moved pod may land beside the expected one.
    fn book_undecided(&mut self, pod: PodId, landing: &Landing) {
        if landing.is_undecided() {
            self.undecided_nodes.extend(&landing.possible_nodes);
        }
        let elsewhere = landing.possible_nodes.iter().filter(|node| landing.on != Some(**node));
        let mut elsewhere: Vec<NodeId> = elsewhere.copied().collect();
        if elsewhere.is_empty() {
            return;
        }
        let used = self.world.usage.pod_on_node(pod);
        for NodeId(node) in &elsewhere {
            self.undecided_usage[*node] = self.undecided_usage[*node].plus(used);
        }
        elsewhere.sort_unstable();
        self.undecided.push((pod, elsewhere.into()));
    }

    /// Returns the moved pods that are expected elsewhere but may land on a node.
    pub fn undecided_pods(&self, node: NodeId) -> impl Iterator<Item = PodId> {
        let here =
            self.undecided.iter().filter(move |(_, nodes)| nodes.binary_search(&node).is_ok());
        here.map(|(pod, _)| *pod)
    }

    /// Returns the usage of the moved pods that are expected elsewhere but may land on a node.
    ///
    /// Every forecast asks for it on each possible node, so the pods are not summed again.
    pub fn undecided_usage(&self, node: NodeId) -> Measure {
        self.undecided_usage[node.0]
    }

    /// Returns the nodes that may take the replacement of a move with several possible nodes.
    pub const fn undecided_nodes(&self) -> &BTreeSet<NodeId> {
        &self.undecided_nodes
    }

    /// Returns a copy in which every pod that leaves soon has ended for the scheduler, as in a
    /// later cycle. Replacements are where they are expected.
    #[must_use]
    pub fn later(&self) -> Self {
        let mut later = self.clone();
        later.placement.end_leaving(self.world.now);
        later
    }

    /// Returns a copy of a later projection in which one more pod has moved, and has ended if it
    /// does so soon.
    #[must_use]
    pub fn later_after(&self, pod: PodId, landing: &Landing) -> Self {
        let mut later = self.clone();
        later.book(pod, landing);
        later.placement.end_moved(self.world.now);
        later
    }

    /// Returns how far the load of a node usually is from its average or its trend.
    /// Without a trend, pods are taken as independent of each other: two that vary by 30m and by
    /// 40m make 50m. Requests do not vary.
    pub fn deviation(&self, node: NodeId, resource: ResourceId, basis: Basis) -> Amount {
        let usage = self.world.usage;
        let part = |of: Measure| match (basis, resource) {
            (Basis::Actual, ResourceId::CPU) => of.cpu,
            (Basis::Actual, ResourceId::MEMORY) => of.memory,
            _ => Amount::ZERO,
        };
        if let Some(error) = usage.error(node) {
            return part(error);
        }
        let of_pod = |pod: PodId| part(usage.deviation(pod)).as_f64();
        let variance: f64 = self.pods_on(node).map(|pod| of_pod(pod).powi(2)).sum();
        Amount::from_f64(variance.sqrt())
    }

    /// Returns the cpu ratio of a node in each hour of the next day, after the moves so far, with
    /// some pods more or less. An hour about which nothing is known has `None`.
    pub fn day_ahead(
        &self,
        node: NodeId,
        more: &[PodId],
        less: &[PodId],
    ) -> ExpectedDay<Option<Ratio>> {
        let Some(outlook) = self.world.usage.outlook() else {
            return ExpectedDay::default();
        };
        let mut day = outlook.node(node);
        for pod in self.landed(node).iter().chain(more) {
            let hours = day.iter_mut().zip(outlook.pod(*pod));
            hours.for_each(|(load, cpu)| *load = load.map(|load| load.plus(cpu)));
        }
        for pod in self.going(node).chain(less.iter().copied()) {
            let hours = day.iter_mut().zip(outlook.pod(pod));
            hours.for_each(|(load, cpu)| *load = load.map(|load| load.minus(cpu)));
        }
        day.map(|load| self.share(node, ResourceId::CPU, load?))
    }
}
