//! A plan as text for the terminal.

use std::fmt;

use crate::model::plan::{Plan, Steer};
use crate::policy::{LowNodeUtilization, Policy, Pool};
use crate::view::screen::{Ink, Screen, shown};
use crate::view::table::Table;

mod nodes;
mod pods;
mod rightsizing;
mod summary;

/// The most stops of guards that are listed without `--all`.
const MOST_STOPS: usize = 5;
/// The most taints that are listed without `--all`.
const MOST_TAINTS: usize = 20;

/// A plan, and how to show it.
#[derive(Clone, Copy)]
pub(crate) struct PlanText<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) policy: &'p Policy,
    /// The first lines: the source of the cluster, the time and the policy.
    pub(crate) head: &'p [String],
    /// List everything.
    pub(crate) all: bool,
    pub(crate) screen: Screen,
}

impl fmt::Display for PlanText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.head {
            self.screen.line(f, line, None)?;
        }
        for unknown in &self.plan.unknown {
            self.screen.line(f, &unknown.to_string(), Some(Ink::Warning))?;
        }
        for paused in &self.plan.paused {
            let line = paused.to_string();
            self.screen.line(f, &line, Some(Ink::Warning))?;
        }
        self.guards(f)?;
        if let Some(none) = self.plan.no_trend {
            self.screen.line(f, &none.to_string(), None)?;
        }
        self.nodes(f)?;
        self.excluded(f)?;
        self.steering(f)?;
        self.moves(f)?;
        self.kept(f)?;
        self.balance(f)?;
        self.rightsizing(f)?;
        self.skipped(f)?;
        writeln!(f)?;
        self.screen.line(f, &self.summary(), Some(Ink::Bold))?;
        for line in self.trials() {
            self.screen.line(f, &line, None)?;
        }
        Ok(())
    }
}

impl<'p> PlanText<'p> {
    /// The strategy whose basis and bounds are shown: the first that balances.
    fn balancing(&self) -> Option<&'p LowNodeUtilization> {
        self.policy.low_node_utilization().next()
    }

    /// The thresholds and targets, if all nodes have the same.
    fn bounds(&self) -> Option<&'p Pool> {
        let rule = self.balancing()?;
        (rule.pools.len() == 1 && !rule.deviation).then(|| &rule.pools[0])
    }

    fn guards(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stops = &self.plan.guards;
        let (most, left_out) = shown(self.all, stops.len(), MOST_STOPS);
        for stop in &stops[..most] {
            let line = stop.to_string();
            self.screen.line(f, &line, Some(Ink::Warning))?;
        }
        if left_out == 0 {
            return Ok(());
        }
        let line = format!("guards stop {left_out} more; --all lists them");
        self.screen.line(f, &line, Some(Ink::Warning))
    }

    fn steering(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.steering.is_empty() {
            return Ok(());
        }
        let note = "PreferNoSchedule taints, so that the scheduler chooses these nodes last";
        self.screen.title(f, "Steering", note)?;
        let (most, left_out) = shown(self.all, self.plan.steering.len(), MOST_TAINTS);
        let rows = self.plan.steering[..most].iter().map(taint_row);
        self.screen.table(f, &Table::new(rows))?;
        self.screen.left_out(f, left_out, "")
    }
}

fn taint_row(steer: &Steer) -> Vec<String> {
    vec![steer.node.clone(), steer.action.to_string(), steer.why.to_string()]
}

#[cfg(test)]
mod tests;
