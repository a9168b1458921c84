//! The topology domains of one key.

use std::collections::BTreeMap;

use crate::model::snapshot::{NodeId, Snapshot};

/// The topology domains of one key: nodes with the same label value.
#[derive(Debug, Default)]
pub struct Topology {
    place: Vec<Option<usize>>,
    /// The number of domains.
    pub count: usize,
    /// The number of nodes with the label.
    labelled: usize,
}

impl Topology {
    pub(super) fn new(snapshot: &Snapshot, key: &str) -> Self {
        let mut values: BTreeMap<&str, usize> = BTreeMap::new();
        let labels = snapshot.nodes.iter().map(|node| node.labels.get(key));
        let place = labels.map(|value| {
            let next = values.len();
            value.map(|value| *values.entry(value).or_insert(next))
        });
        let place: Vec<Option<usize>> = place.collect();
        Topology { labelled: place.iter().flatten().count(), count: values.len(), place }
    }

    /// Returns true if no domain has more than one node.
    pub fn is_of_single_nodes(&self) -> bool {
        self.labelled == self.count
    }

    /// Returns the domain of a node; `None` if it lacks the label.
    pub fn place(&self, node: NodeId) -> Option<usize> {
        self.place[node.0]
    }
}
