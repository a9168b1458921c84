//! The sizes of topology domains without their names, nodes and pods. Most constraints are kept,
//! which the sizes alone show.

use std::rc::Rc;

use crate::decide::draft::Draft;
use crate::decide::placement::index::Topology;
use crate::model::snapshot::NodeId;

use super::constraint::Constraint;
use super::domain::node_after;

/// The most answers about admitted nodes that are kept. In a cluster of 5,000 nodes each takes up
/// to 10 kB, and pods hardly ever tolerate or select nodes in more ways.
const MOST_KNOWN: usize = 64;

/// Which nodes constraints admit. Nearly all constraints of a cluster admit the same ones.
#[derive(Debug, Default)]
pub(in crate::decide::strategy) struct Admissions(Vec<Rc<Admission>>);

/// The nodes that some constraints admit.
#[derive(Debug)]
struct Admission {
    /// One of these constraints.
    constraint: Constraint,
    topology: Rc<Topology>,
    /// Whether each node of the snapshot is admitted and has a domain.
    nodes: Vec<bool>,
    /// Whether each domain has such a node.
    places: Vec<bool>,
}

impl Admissions {
    /// The size of each domain that [`domains`](super::domain::domains) gives, in another order.
    pub(in crate::decide::strategy) fn sizes(
        &mut self,
        draft: &Draft<'_>,
        constraint: &Constraint,
        nodes: &[NodeId],
        only_admitted: bool,
    ) -> Vec<usize> {
        let admission = self.of(draft, constraint, nodes, only_admitted);
        let mut sizes = vec![0; admission.topology.count];
        for pod in constraint.selected(draft) {
            let node = node_after(draft, pod);
            let node = node.filter(|n| !only_admitted || admission.nodes[n.0]);
            if let Some(place) = node.and_then(|n| admission.topology.place(n)) {
                sizes[place] += 1;
            }
        }
        let sizes = sizes.into_iter().zip(&admission.places);
        let domains = sizes.filter(|(size, admitted)| **admitted || *size > 0);
        domains.map(|(size, _)| size).collect()
    }

    fn of(
        &mut self,
        draft: &Draft<'_>,
        constraint: &Constraint,
        nodes: &[NodeId],
        only_admitted: bool,
    ) -> Rc<Admission> {
        let key = |c: &Constraint| &c.spread(draft).topology_key;
        let is_same = |known: &&Rc<Admission>| {
            key(&known.constraint) == key(constraint)
                && known.constraint.admits_as(constraint, draft)
        };
        if let Some(known) = self.0.iter().find(is_same) {
            return Rc::clone(known);
        }
        if self.0.len() >= MOST_KNOWN {
            self.0.clear();
        }
        let found = Rc::new(Admission::new(draft, constraint, nodes, only_admitted));
        self.0.push(Rc::clone(&found));
        found
    }
}

impl Admission {
    fn new(
        draft: &Draft<'_>,
        constraint: &Constraint,
        nodes: &[NodeId],
        only_admitted: bool,
    ) -> Self {
        let topology = draft.index().topology(&constraint.spread(draft).topology_key);
        let mut admitted = vec![false; draft.world.snapshot.nodes.len()];
        let mut places = vec![false; topology.count];
        for node in nodes.iter().filter(|n| constraint.admits(draft, **n, only_admitted)) {
            if let Some(place) = topology.place(*node) {
                admitted[node.0] = true;
                places[place] = true;
            }
        }
        Admission { constraint: constraint.clone(), topology, nodes: admitted, places }
    }
}
