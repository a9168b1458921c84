//! The strategies: each names one candidate at a time, given the draft, until it has no more to ask.

use crate::draft::{Candidate, Draft};
use crate::policy::{Names, Rule};

pub mod low_node_utilization;

/// A strategy at work.
#[derive(Debug)]
pub enum Running {
    /// Evens out.
    LowNodeUtilization(low_node_utilization::Running),
}

impl Running {
    /// Looks at the nodes, and writes down in the draft what it makes of each.
    pub fn start(draft: &mut Draft<'_>, position: usize) -> Self {
        match &draft.strategy(position).rule {
            Rule::LowNodeUtilization(rule) => {
                Running::LowNodeUtilization(low_node_utilization::Running::start(draft, position, rule))
            }
        }
    }

    /// The next pod that it would move; `None` when it is done. Each pod is asked for once.
    pub fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        match self {
            Running::LowNodeUtilization(running) => running.next(draft),
        }
    }
}

impl Rule {
    /// The namespaces whose pods the strategy may move.
    pub const fn evictable_namespaces(&self) -> &Names {
        match self {
            Rule::LowNodeUtilization(rule) => &rule.evictable_namespaces,
        }
    }

    /// The strategy's own limit of evictions from one node in one cycle.
    pub const fn per_node(&self) -> Option<u32> {
        match self {
            Rule::LowNodeUtilization(rule) => rule.per_node,
        }
    }
}
