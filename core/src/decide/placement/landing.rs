//! Where a replacement is expected.

use crate::model::snapshot::NodeId;

use super::Starts;

/// The nodes where the forecast expects a replacement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Landing {
    /// The node that takes the load; `None` without a forecast, and if no node can run it.
    pub on: Option<NodeId>,
    /// Every node that may win, the most likely first.
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
    pub fn likeliest(&self) -> Option<NodeId> {
        self.on.or_else(|| self.possible_nodes.first().copied())
    }

    /// Without a node that takes the load, takes the likeliest one other than the pod's own.
    #[must_use]
    pub fn on_another(self, home: Option<NodeId>) -> Self {
        let mut others = self.possible_nodes.iter().copied();
        let likeliest = others.find(|node| Some(*node) != home);
        Landing { on: self.on.or(likeliest), ..self }
    }
}
